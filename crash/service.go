package crash

import "strings"

// unservice takes the names that docker compose, pm2, foreman and the like put
// before each line from outputs that are too short to show what lines share.
func (t *text) unservice() {
	if !t.servedSoon() {
		return
	}
	named, others := 0, 0
	for _, l := range t.lines {
		switch name, n := service(l); {
		case n > 0 && numberedService(name):
			named++
		case n == 0 && strings.TrimSpace(l) != "":
			others++
		}
	}
	if others > 0 && others > 2+named/4 || others >= named && others > 0 && named < 2 { // compose's own lines have none
		return
	}
	t.each("service names", func(l string) string {
		_, n := service(l)
		return l[n:]
	})
}

// servedSoon reports that one of the first lines has the name of a service.
func (t *text) servedSoon() bool {
	seen := 0
	for _, l := range t.lines {
		if l == "" {
			continue
		}
		if _, n := service(l); n > 0 {
			return true
		}
		if seen++; seen == 4 {
			break
		}
	}
	return false
}

// numberedService reports web-1, web_1 and web.1: what nothing but a service is
// called.
func numberedService(name string) bool {
	n := len(name) - len(strings.TrimRight(name, "0123456789"))
	return n > 0 && n+1 < len(name) && strings.IndexByte("-_.", name[len(name)-n-1]) >= 0
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
