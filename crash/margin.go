package crash

import "strings"

// unfence blanks the fences of markdown.
func (t *text) unfence() {
	for i, l := range t.lines {
		if len(l) >= 3 {
			if s := strings.TrimSpace(l); strings.HasPrefix(s, "```") || strings.HasPrefix(s, "~~~") && strings.Trim(s, "~") == "" {
				t.lines[i] = ""
				if rest := strings.TrimLeft(s, "`"); strings.ContainsAny(rest, " :") {
					t.lines[i] = rest // text glued to the fence
				}
			}
		}
	}
}

// unquote takes away the margins of quoted mail and issues: runs of lines that
// all begin with > or |. Single lines stay: tools point with > at the line
// they mean, and a | may belong to a table. A run of | with a + among its
// lines is an exception group of Python's, which needs its margin.
func (t *text) unquote() {
	for range 2 { // quotes of quotes
		if !t.unquoteOnce('>') && !t.unquoteOnce('|') {
			return
		}
	}
}

func (t *text) unquoteOnce(mark byte) bool {
	changed := false
	for i := 0; i < len(t.lines); {
		j := i
		for j < len(t.lines) && len(t.lines[j]) > 0 && t.lines[j][0] == mark {
			j++
		}
		if j-i >= 2 && (mark == '>' || (i == 0 || t.lines[i-1] == "") && (j == len(t.lines) || t.lines[j] == "")) {
			for k := i; k < j; k++ {
				t.lines[k] = strings.TrimPrefix(t.lines[k][1:], " ")
			}
			changed = true
		}
		i = max(j, i+1)
	}
	if changed {
		t.note("stripped the margin " + string(mark))
	}
	return changed
}
