package crash

import "strings"

// unservice takes the names that docker compose, pm2, foreman and the like put
// before each line. Services write at the same time, so the lines of each are
// brought together; the one that spoke last comes last.
func (t *text) unservice() {
	count, bars := map[string]int{}, 0
	for _, l := range t.lines {
		if name, _ := service(l); name != "" && len(count) < 64 {
			count[name]++
			bars++
		}
	}
	if bars < 2 || len(count) >= 64 {
		return
	}
	byName := map[string][]string{}
	var order []string
	var others []string
	for _, l := range t.lines {
		name, n := service(l)
		if name == "" || count[name] < 2 && bars*2 < len(t.lines) {
			others = append(others, l)
			continue
		}
		byName[name] = append(byName[name], l[n:])
		for i, o := range order {
			if o == name {
				order = append(order[:i], order[i+1:]...)
				break
			}
		}
		order = append(order, name)
	}
	if len(order) == 0 || len(others) > len(t.lines)/2 && len(order) > 1 {
		return
	}
	if len(others) > 0 && len(order) == 1 { // keep the places of lines between
		for i, l := range t.lines {
			if name, n := service(l); name == order[0] {
				t.lines[i] = l[n:]
			}
		}
	} else {
		t.lines = append(t.lines[:0], others...)
		for _, name := range order {
			t.lines = append(t.lines, byName[name]...)
		}
	}
	t.note("stripped service names")
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

// unnumber takes the "100: " that test runners put before what a test prints,
// from lines that follow one another with the same number.
func (t *text) unnumber() {
	for i := 0; i < len(t.lines); {
		n := numbered(t.lines[i])
		j := i + 1
		for n > 0 && j < len(t.lines) && strings.HasPrefix(t.lines[j], t.lines[i][:n]) {
			j++
		}
		if n > 0 && j-i >= 2 {
			p := t.lines[i][:n]
			for k := i; k < j; k++ {
				t.lines[k] = strings.TrimPrefix(t.lines[k], p)
			}
		}
		i = j
	}
}

func numbered(l string) int {
	n := countDigits(l)
	if n == 0 || n > 6 || !strings.HasPrefix(l[n:], ": ") {
		return 0
	}
	return n + 2
}
