package crash

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxLine is how much of one line is looked at: minified bundles and dumps of
// binary data have lines of megabytes.
const maxLine = 8 << 10

// text is an input made ready for the language table.
type text struct {
	lines  []string
	levels []level  // what the log said of each line; parallel to lines
	notes  []string // what was stripped, for Why
	headed bool     // a header may be somewhere
}

func (t *text) note(s string) { t.notes = append(t.notes, s) }

// clean makes lines of b: decoded, without colours, carriage returns, log
// prefixes, margins and fences; JSON log lines unfolded.
func clean(b []byte) *text {
	t := &text{}
	s := strings.ReplaceAll(decode(b), "\u00a0", " ") // CloudWatch keeps indentation with these
	t.lines = splitLines(s)
	if t.headed = strings.Contains(s, "Error") || strings.Contains(s, "Exception"); !t.headed && len(s) < gateFrom {
		t.headed = headWord(s) >= 0
	} else if !t.headed {
		t.headed = newMarks().find(b) >= 0
	}
	if strings.Contains(s, "\x1b") || strings.Contains(s, "[0m") || strings.Contains(s, "\u241b") {
		t.each("colours", uncolour)
	}
	if hasTags(s) {
		t.each("HTML tags", untag)
	}
	t.unfence()
	t.pretty()
	t.levels = make([]level, len(t.lines))
	t.undress()
	for range maxFolds {
		if !t.unfold() {
			break
		}
		t.undress() // what was folded has clothes of its own
	}
	return t
}

// maxDress is how many layers of clothes are taken off: a log of a container,
// quoted in an issue, of a service that writes logs.
const maxDress = 4

// maxFolds is how many JSON logs within JSON logs are unfolded.
const maxFolds = 3

// undress takes indentation, margins and log columns away until there are no
// more.
func (t *text) undress() {
	for range maxDress {
		notes := len(t.notes)
		t.dedent()
		t.unbox()
		t.unquote()
		t.unshare()
		t.unservice()
		t.unprefix()
		t.untick()
		if len(t.notes) == notes {
			return
		}
	}
}

// each changes every line by f and notes what for when any line changed.
func (t *text) each(what string, f func(string) string) {
	changed := false
	for i, l := range t.lines {
		if c := f(l); len(c) != len(l) {
			t.lines[i], changed = c, true
		}
	}
	if changed {
		t.note("stripped " + what)
	}
}

// decode returns b as UTF-8: UTF-16 is found by its byte order mark or by the
// zeros that it leaves in ASCII.
func decode(b []byte) string {
	switch {
	case len(b) >= 3 && b[0] == 0xEF && b[1] == 0xBB && b[2] == 0xBF:
		b = b[3:]
	case len(b) >= 2 && b[0] == 0xFF && b[1] == 0xFE:
		return decode16(b[2:], 0)
	case len(b) >= 2 && b[0] == 0xFE && b[1] == 0xFF:
		return decode16(b[2:], 1)
	case len(b) >= 8 && b[1] == 0 && b[3] == 0 && b[5] == 0 && b[7] == 0 && b[0] != 0:
		return decode16(b, 0)
	case len(b) >= 8 && b[0] == 0 && b[2] == 0 && b[4] == 0 && b[6] == 0 && b[1] != 0:
		return decode16(b, 1)
	}
	return string(b)
}

// decode16 decodes UTF-16; low is where in each pair the low byte is.
func decode16(b []byte, low int) string {
	u := make([]uint16, 0, len(b)/2)
	for i := 0; i+1 < len(b); i += 2 {
		u = append(u, uint16(b[i+low])|uint16(b[i+1-low])<<8)
	}
	out := make([]byte, 0, len(u)*2)
	for _, r := range utf16.Decode(u) {
		out = utf8.AppendRune(out, r)
	}
	return string(out)
}

// splitLines splits at \n, \r\n and lone \r (progress bars draw over
// themselves, and what follows is a line of its own), and drops what is
// behind maxLine of a line.
func splitLines(s string) []string {
	lines := make([]string, 0, strings.Count(s, "\n")+1)
	returns := strings.Contains(s, "\r")
	for len(s) > 0 {
		l := s
		if i := strings.IndexByte(s, '\n'); i >= 0 {
			l, s = s[:i], s[i+1:]
		} else {
			s = ""
		}
		if !returns {
			lines = append(lines, short(l))
			continue
		}
		for l = strings.TrimRight(l, "\r"); ; {
			i := strings.IndexByte(l, '\r')
			if i < 0 {
				lines = append(lines, short(l))
				break
			}
			if i > 0 {
				lines = append(lines, short(l[:i]))
			}
			l = l[i+1:]
		}
	}
	return lines
}

// short bounds a line; lines of JSON may be longer because they hold many.
func short(l string) string {
	if len(l) <= maxLine || l[0] == '{' && len(l) <= tailBytes {
		return l
	}
	return l[:maxLine]
}

// dedent takes away the white space that all lines begin with.
func (t *text) dedent() {
	common, seen := "", false
	for _, l := range t.lines {
		if strings.TrimSpace(l) == "" {
			continue
		}
		margin := indentOf(l)
		if !seen {
			common, seen = margin, true
		}
		for !strings.HasPrefix(margin, common) {
			common = common[:len(common)-1]
		}
		if common == "" {
			return
		}
	}
	if common != "" {
		for i, l := range t.lines {
			t.lines[i] = strings.TrimPrefix(l, common)
		}
		t.note("stripped indentation")
	}
}

// indentOf returns the white space at the beginning of l.
func indentOf(l string) string {
	return l[:len(l)-len(strings.TrimLeft(l, " \t"))]
}
