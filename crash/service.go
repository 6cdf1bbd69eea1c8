package crash

import (
	"slices"
	"strings"
)

// unservice takes the names that docker compose, pm2, foreman and the like put
// before each line. Services write at the same time, so the lines of each are
// brought together; the one that spoke last comes last.
func (t *text) unservice() {
	count, named := map[string]int{}, 0
	for _, l := range t.lines {
		if name, _ := service(l); name != "" && len(count) < maxServices {
			count[name]++
			named++
		}
	}
	if named == 0 || named < 2 && len(t.lines) > 1 || len(count) >= maxServices {
		return
	}
	members := map[string][]int{} // lines by service; those of none under ""
	var order []string
	for i, l := range t.lines {
		name, _ := service(l)
		if count[name] < 2 && named*2 < len(t.lines) { // one bar among many lines is none
			name = ""
		}
		if members[name] == nil || order[len(order)-1] != name {
			order = append(slices.DeleteFunc(order, func(o string) bool { return o == name }), name)
		}
		members[name] = append(members[name], i)
	}
	others := len(members[""])
	services := len(members) - min(1, others)
	if services == 0 || services > 1 && others > len(t.lines)/2 {
		return
	}
	if services == 1 { // the lines between stay where they are
		clear(members)
		order = order[:0]
		for i := range t.lines {
			members[""] = append(members[""], i)
		}
	}
	t.arrange(members, append([]string{""}, order...))
	t.note("stripped service names")
}

// maxServices bounds how many services one output is believed to have.
const maxServices = 64

// arrange puts the lines into the order of the services, without their names.
func (t *text) arrange(members map[string][]int, order []string) {
	lines, levels := make([]string, 0, len(t.lines)), make([]level, 0, len(t.lines))
	for k, name := range order {
		if k > 0 && name == "" {
			continue
		}
		for _, i := range members[name] {
			_, n := service(t.lines[i])
			lines, levels = append(lines, t.lines[i][n:]), append(levels, t.levels[i])
		}
	}
	t.lines, t.levels = lines, levels
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
