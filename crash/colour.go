package crash

import "strings"

// uncolour takes away terminal sequences: colours and cursor movements as
// they are sent, and colours as editors and issue forms show them when the
// escape character was lost or replaced.
func uncolour(l string) string {
	if !strings.ContainsAny(l, "\x1b\u241b\b") && !strings.Contains(l, "m") {
		return l
	}
	var b strings.Builder
	for i := 0; i < len(l); {
		n := sequence(l[i:])
		if n == 0 {
			b.WriteByte(l[i])
			n = 1
		}
		i += n
	}
	return b.String()
}

// sequence returns the length of the terminal sequence that s begins with.
func sequence(s string) int {
	esc := 0
	switch {
	case s[0] == 0x1b:
		esc = 1
	case s[0] == '\b':
		return 1
	case strings.HasPrefix(s, "\u241b"): // ␛
		esc = len("\u241b")
	case strings.HasPrefix(s, "^["):
		esc = 2
	case strings.HasPrefix(s, "#033"):
		esc = 4
	case strings.HasPrefix(s, "\\x1b"), strings.HasPrefix(s, "\\033"):
		esc = 4
	case strings.HasPrefix(s, "\\u001b"):
		esc = 6
	case s[0] == '[': // the escape was lost: only what is surely a colour
		return colour(s)
	default:
		return 0
	}
	if n := control(s[esc:]); n > 0 {
		return esc + n
	}
	if s[0] == 0x1b {
		return 1
	}
	return 0
}

// control returns the length of a CSI, OSC or two-byte sequence behind its
// escape character.
func control(s string) int {
	if s == "" {
		return 0
	}
	switch s[0] {
	case '[':
		for i := 1; i < len(s) && i < 32; i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
		}
	case ']': // operating system command: up to BEL or ST
		for i := 1; i < len(s) && i < 512; i++ {
			if s[i] == 7 {
				return i + 1
			}
			if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
		}
	case '(', ')':
		return min(2, len(s))
	case '=', '>', '7', '8', 'M', 'c':
		return 1
	}
	return 0
}

// colour matches [0m, [31m, [1;31m, [38;5;9m without an escape before it.
func colour(s string) int {
	digits := 0
	for i := 1; i < len(s) && i < 20; i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c == ';':
		case c == 'm' && digits > 0:
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

// tags are what issue forms and CI pages colour text with.
func tags() []string {
	return []string{"font", "span", "pre", "code", "b", "i", "br", "details", "summary", "p", "div"}
}

// hasTags reports whether s was copied as HTML: a frame may hold <T> or
// <module>, but closing tags of these names come from pages only.
func hasTags(s string) bool {
	if strings.Contains(s, "&lt;") || strings.Contains(s, "&quot;") || strings.Contains(s, "&#39;") {
		return true
	}
	if !strings.Contains(s, "</") {
		return false
	}
	for _, t := range tags() {
		if strings.Contains(s, "</"+t+">") {
			return true
		}
	}
	return false
}

// untag takes away such tags and resolves entities.
func untag(l string) string {
	if !strings.ContainsAny(l, "<&") {
		return l
	}
	var b strings.Builder
	for i := 0; i < len(l); {
		if l[i] == '<' {
			if n := tag(l[i:]); n > 0 {
				i += n
				continue
			}
		}
		if l[i] == '&' {
			if r, n := entity(l[i:]); n > 0 {
				b.WriteString(r)
				i += n
				continue
			}
		}
		b.WriteByte(l[i])
		i++
	}
	return b.String()
}

// tag returns the length of an opening or closing tag with a known name.
func tag(s string) int {
	name := strings.TrimPrefix(s[1:], "/")
	for _, t := range tags() {
		rest, ok := strings.CutPrefix(name, t)
		if !ok || rest == "" || rest[0] != '>' && rest[0] != ' ' && rest[0] != '/' {
			continue
		}
		if end := strings.IndexByte(s, '>'); end > 0 && end < 256 {
			return end + 1
		}
	}
	return 0
}

func entity(s string) (string, int) {
	for _, e := range [...][2]string{
		{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}, {"&quot;", `"`}, {"&#39;", "'"}, {"&apos;", "'"}, {"&nbsp;", " "},
	} {
		if strings.HasPrefix(s, e[0]) {
			return e[1], len(e[0])
		}
	}
	return "", 0
}
