package crash

import "strings"

// unservice takes the names that docker compose, pm2, foreman and the like put
// before each line from outputs that are too short to show what lines share.
func (t *text) unservice() {
	for _, l := range t.lines {
		if _, n := service(l); n == 0 && strings.TrimSpace(l) != "" {
			return
		}
	}
	t.each("service names", func(l string) string {
		_, n := service(l)
		return l[n:]
	})
}

// service matches "web_1  | " and "0|app  | ".
func service(l string) (name string, n int) {
	i := 0
	for i < len(l) && i < 48 && (isWord(l[i]) || l[i] == '-' || l[i] == '.' || l[i] == '/') {
		i++
	}
	if i == 0 || i == len(l) {
		return "", 0
	}
	if l[i] == '|' && countDigits(l) == i { // pm2: 0|app  | text
		k := i + 1
		for k < len(l) && k < 48 && (isWord(l[k]) || l[k] == '-' || l[k] == '.') {
			k++
		}
		if k == i+1 || k == len(l) {
			return "", 0
		}
		i = k
	}
	j := i
	for j < len(l) && j < 64 && l[j] == ' ' {
		j++
	}
	if j == len(l) || l[j] != '|' || j == i && j+1 < len(l) && l[j+1] != ' ' || countDigits(l[:i]) == i {
		return "", 0
	}
	if j+1 < len(l) && l[j+1] == ' ' {
		return l[:i], j + 2
	}
	if j+1 == len(l) {
		return l[:i], j + 1
	}
	return "", 0
}
