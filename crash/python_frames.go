package crash

import "strings"

// pyMargin strips what stands before a line's text: indentation, the bars of
// exception groups and boxes, loguru's and IPython's marks.
func pyMargin(l string) string {
	for l != "" {
		switch {
		case l[0] == ' ' || l[0] == '\t' || l[0] == '|':
			l = l[1:]
		case strings.HasPrefix(l, "│"):
			l = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(l[len("│"):], " "), "│"), " ")
		case strings.HasPrefix(l, "> File "), strings.HasPrefix(l, "+ Exc"), strings.HasPrefix(l, "+ Tra"):
			l = l[2:]
		case strings.HasPrefix(l, "❱ "):
			l = l[len("❱ "):]
		default:
			return l
		}
	}
	return l
}

// pyIndent counts a line's indentation behind its margin.
func pyIndent(l string) int {
	if at := pyBars(l); at > 0 {
		l = strings.TrimPrefix(l[at:], " ")
	}
	return countOf(l, " \t")
}

// pyBars returns the index behind the last bar of a group's margin.
func pyBars(l string) int {
	at := 0
	for i := 0; i < len(l) && (l[i] == ' ' || l[i] == '|'); i++ {
		if l[i] == '|' {
			at = i + 1
		}
	}
	return at
}

// pyPlace is what one line says of a frame.
type pyPlace struct {
	Frame
	ok     bool
	inside bool // it names a function: no SyntaxError's own place
}

// pyFrame reads a frame's line without its margin.
func pyFrame(m string) pyPlace {
	switch {
	case strings.HasPrefix(m, `File "`):
		return pyQuoted(m[len(`File "`):])
	case strings.HasPrefix(m, "File "):
		return pyColon(m[len("File "):])
	case pyBeheaded(m):
		return pyQuoted(m)
	case strings.Contains(m, ".py in ") || strings.HasPrefix(m, "<ipython-input"): // IPython 7's, an arrow below shows the line
		file, fn, ok := strings.Cut(m, " in ")
		return pyPlace{Frame: Frame{File: file, Function: fn}, ok: ok && !strings.Contains(file, " ") && (strings.HasSuffix(fn, ")") || strings.HasPrefix(fn, "<")), inside: true}
	}
	return pyPlace{}
}

// pyBeheaded reports a frame whose beginning was not copied: x/y.py", line 3.
func pyBeheaded(m string) bool {
	at := strings.Index(m, `.py", line `)
	return at > 0 && !strings.ContainsAny(m[:at], "\"'([{,")
}

// pyBroken reports a line that is a frame without its beginning, or frames and
// what ended them all in one.
func pyBroken(l string) bool {
	at := strings.Index(l, `.py", line `)
	if at < 0 {
		return false
	}
	return pyBeheaded(pyMargin(l)) || strings.Contains(l[:at], `File "`) && strings.Contains(l[at:], "Error: ")
}

// pyQuoted reads /x.py", line 3, in f – what follows File and a quote.
func pyQuoted(s string) pyPlace {
	file, rest, ok := strings.Cut(s, `", line `)
	if !ok {
		if file, rest, ok = strings.Cut(s, ", line "); ok && pySource(file) { // a quote was lost
			s = file + `", line ` + rest
			return pyQuoted(s)
		}
		return pyPlace{}
	}
	n, rest, ok := leadingNumber(rest)
	p := pyPlace{Frame: Frame{File: file, Line: n}, ok: ok}
	rest = strings.TrimPrefix(rest, ",")
	if fn, in := strings.CutPrefix(rest, " in "); in {
		p.Function, p.inside = strings.TrimSpace(fn), true
		if name, _, glued := strings.Cut(p.Function, " "); glued && pySource(file) && !strings.HasPrefix(name, "<cell") {
			p.Function = name // the source was glued to it
		}
	}
	return p
}

// pyGlued reads frames that stand in one line, as in titles and in what was
// copied from narrow screens, and the exception that may end it.
func pyGlued(s string) (frames []Frame, e exception, ended bool) {
	for {
		at := strings.Index(s, `File "`)
		if at < 0 {
			break
		}
		s = s[at:]
		piece := s
		if next := strings.Index(s[1:], `File "`); next >= 0 {
			piece = s[:next+1]
		}
		if p := pyFrame(strings.TrimRight(piece, " ")); p.ok {
			if !p.inside {
				p.source = pyGluedSource(piece)
			}
			frames = append(frames, p.Frame)
		}
		s = s[len(piece):]
		if s != "" {
			continue
		}
		words := strings.Fields(piece)
		for k := 4; k < len(words); k++ {
			if at := strings.LastIndexByte(words[k], '^'); at >= 0 {
				words[k] = words[k][at+1:]
			}
			if e, strong, ok := pyException(words[k]); ok && strong && e.message == "" && (strings.HasSuffix(words[k], ":") || k == len(words)-1) {
				e.message = strings.Join(words[k+1:], " ")
				return frames, e, true
			}
		}
	}
	return frames, e, false
}

// pyGluedSource returns what stands between a place without a function and the
// caret below it, which are all in one line.
func pyGluedSource(piece string) string {
	_, rest, _ := strings.Cut(piece, `", line `)
	_, rest, _ = leadingNumber(rest)
	source, _, ok := strings.Cut(rest, "^")
	if !ok {
		return ""
	}
	return strings.TrimSpace(source)
}

// pyColon reads IPython 8's ~/x.py:3, in f(a).
func pyColon(s string) pyPlace {
	place, fn, in := strings.Cut(s, ", in ")
	at := strings.LastIndexByte(place, ':')
	if at < 1 {
		return pyPlace{}
	}
	n, rest, ok := leadingNumber(place[at+1:])
	if !ok || strings.TrimSpace(rest) != "" {
		return pyPlace{}
	}
	return pyPlace{Frame: Frame{File: place[:at], Line: n, Function: fn}, ok: true, inside: in}
}

// pyBoxed reads Rich's /x.py:3 in f, and its newer "in f:3" without a file.
func pyBoxed(m string) pyPlace {
	if fn, ok := strings.CutPrefix(m, "in "); ok {
		if at := strings.LastIndexByte(fn, ':'); at > 0 {
			n, rest, digits := leadingNumber(fn[at+1:])
			return pyPlace{Frame: Frame{Line: n, Function: fn[:at]}, ok: digits && rest == "", inside: true}
		}
	}
	place, fn, _ := strings.Cut(m, " in ")
	at := strings.LastIndexByte(place, ':')
	if at < 1 || !pySource(place[:at]) {
		return pyPlace{}
	}
	n, rest, ok := leadingNumber(place[at+1:])
	return pyPlace{Frame: Frame{File: place[:at], Line: n, Function: strings.TrimSpace(fn)}, ok: ok && strings.TrimSpace(rest) == "", inside: true}
}

func pySource(file string) bool {
	return strings.HasSuffix(file, ".py") || strings.HasSuffix(file, ".pyx") || strings.HasSuffix(file, ".pyc") ||
		strings.HasSuffix(file, ".pxi")
}
