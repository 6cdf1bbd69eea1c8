package crash

import (
	"slices"
	"strings"
)

// unfence blanks the fences of markdown and takes bold type from whole lines.
func (t *text) unfence() {
	for i, l := range t.lines {
		if len(l) > 6 && strings.HasPrefix(l, "**") && strings.HasSuffix(l, "**") && l[2] != ' ' && l[2] != '*' {
			t.lines[i] = strings.TrimSpace(l[2 : len(l)-2])
			continue
		}
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
		end, quoted := t.quotation(i, mark)
		if quoted > 0 && (quoted >= 2 || empty(t.lines[end:]) && empty(t.lines[:i])) && (mark == '>' || (i == 0 || t.lines[i-1] == "") && (end == len(t.lines) || t.lines[end] == "")) {
			for k := i; k < end; k++ {
				if l := t.lines[k]; l != "" {
					t.lines[k] = strings.TrimPrefix(l[1:], " ")
				}
			}
			changed = true
		}
		i = max(end, i+1)
	}
	if changed {
		t.note("stripped the margin " + string(mark))
	}
	return changed
}

// quotation returns the end of the run of marked lines that begins at i, and
// how many it has. Blank lines between lines marked with > belong to it.
func (t *text) quotation(i int, mark byte) (end, quoted int) {
	end = i
	for j := i; j < len(t.lines); j++ {
		switch l := t.lines[j]; {
		case l != "" && l[0] == mark:
			quoted++
			end = j + 1
		case l != "" || mark != '>' || quoted == 0 || j > end:
			return end, quoted
		}
	}
	return end, quoted
}

// empty reports that all lines are blank: what is quoted may be all there is.
func empty(lines []string) bool {
	return !slices.ContainsFunc(lines, func(l string) bool { return l != "" })
}

// unbox takes the sides of the windows away that terminal programs draw around
// a log. Python's Rich draws boxes too, with corners, and its reader needs them.
func (t *text) unbox() {
	walls := 0
	for _, l := range t.lines {
		if strings.Contains(l, "╭") || strings.Contains(l, "╰") || strings.Contains(l, "❱") {
			return
		}
		if walled(l) {
			walls++
		}
	}
	if walls < 2 {
		return
	}
	for i, l := range t.lines {
		if walled(l) {
			l = strings.TrimSuffix(strings.TrimRight(l, " "), "│")
			t.lines[i] = strings.TrimPrefix(strings.TrimRight(l[len("│"):], " "), " ")
		}
	}
	t.note("stripped the sides of a window")
}

// walled reports a line between two walls.
func walled(l string) bool {
	return strings.HasPrefix(l, "│") && strings.HasSuffix(strings.TrimRight(l, " "), "│") && len(l) > 2*len("│")
}

// untick takes lines out of inline code.
func (t *text) untick() {
	t.each("marks of code", func(l string) string {
		if strings.IndexByte(l, '`') < 0 || strings.Contains(l, "```") {
			return l
		}
		return unticked(l)
	})
}

// unticked takes a line out of inline code: a mark at its beginning or end
// whose other half is at its other end or in another line. Ruby begins names
// with the same mark and ends them with another.
func unticked(l string) string {
	s := strings.TrimRight(l, " ")
	n := strings.Count(s, "`")
	trimmed := strings.TrimLeft(s, " ")
	first, last := strings.HasPrefix(trimmed, "`"), len(trimmed) > 1 && strings.HasSuffix(s, "`")
	switch {
	case first && last && (n == 2 || n == 3):
		return trimmed[1 : len(trimmed)-1]
	case first && n%2 == 1 && !rubyQuoted(trimmed):
		return trimmed[1:]
	case last && n%2 == 1:
		return s[:len(s)-1]
	}
	return l
}

// rubyQuoted reports `name' at the beginning of s.
func rubyQuoted(s string) bool {
	end := strings.IndexAny(s[1:], " '")
	return end > 0 && s[1+end] == '\''
}
