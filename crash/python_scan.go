package crash

import "strings"

// pyScan reads the lines of one exception.
type pyScan struct {
	block   *pyBlock
	boxed   bool // Rich draws a box around the frames
	source  bool // the last frame's source was seen
	strange int  // lines since the last frame that are neither
	blank   bool
}

// pyStep is what a line was.
type pyStep uint8

const (
	pySkips pyStep = iota
	pyTook         // a frame
	pyEnds         // the exception
	pyStops        // something else begins here
)

// line reads the line at *i, and moves *i when it joins it with the next.
func (s *pyScan) line(lines []string, i *int) pyStep {
	l := lines[*i]
	m := pyMargin(l)
	if strings.TrimSpace(m) == "" {
		s.blank = true
		return pySkips
	}
	if n := len(s.block.frames); n > 0 && s.block.frames[n-1].Line == 0 && strings.HasPrefix(m, "--") {
		s.block.frames[n-1].Line, _, _ = leadingNumber(strings.TrimLeft(m, "-> "))
	}
	if p := s.frame(lines, i, m); p.ok {
		if s.foreign(p.File) {
			return pyStops
		}
		s.took(p, pyIndent(l))
		return pyTook
	}
	if strings.HasPrefix(m, "[Previous line repeated") || strings.HasPrefix(m, "[...") {
		return pyTook
	}
	if strings.Contains(l, pyHead) || strings.HasPrefix(m, pyFatal) {
		return pyStops
	}
	if s.boxed {
		return s.inBox(l, m)
	}
	return s.other(l, m)
}

// foreign reports a frame of another language: some error trackers print all
// traces in Python's clothes. It is seen at once, so that no long trace is read
// for each of its lines.
func (s *pyScan) foreign(file string) bool {
	at := strings.LastIndexByte(file, '.')
	return at >= 0 && listed(" .rb .ex .exs .erl .php .js .ts .java .erb .go .rake .haml .heex .eex .phtml ", file[at:])
}

// frame reads a frame, with what a narrow terminal wrapped from its line.
func (s *pyScan) frame(lines []string, i *int, m string) pyPlace {
	if s.boxed {
		return s.boxedFrame(lines, i, m)
	}
	p := pyFrame(m)
	if !p.ok && strings.HasPrefix(m, `File "`) && *i+1 < len(lines) {
		next := strings.TrimSpace(lines[*i+1])
		for _, glue := range []string{"", " "} {
			if p = pyFrame(m + glue + next); p.ok && p.Line > 0 {
				*i++
				return p
			}
		}
		return pyPlace{}
	}
	if p.ok && !p.inside && strings.HasSuffix(m, ",") && *i+1 < len(lines) {
		if fn, in := strings.CutPrefix(strings.TrimSpace(lines[*i+1]), "in "); in {
			p.Function, p.inside = fn, true
			*i++
		}
	}
	return p
}

// boxedFrame reads a frame of Rich, whose path and function may be wrapped
// over up to four lines of the box.
func (s *pyScan) boxedFrame(lines []string, i *int, m string) pyPlace {
	if p := pyBoxed(m); p.ok && (p.Function != "" || *i+1 >= len(lines)) {
		return p
	}
	if !strings.HasPrefix(m, "/") && !(len(m) > 2 && m[1] == ':') && !strings.HasPrefix(m, "in ") {
		return pyPlace{}
	}
	whole := m
	for k := 1; k <= 3 && *i+k < len(lines); k++ {
		next := pyMargin(lines[*i+k])
		if next == "" || strings.HasPrefix(next, "╰") {
			break
		}
		glued := whole + next
		if strings.HasSuffix(whole, " in") || strings.HasPrefix(next, "in ") {
			glued = whole + " " + next
		}
		whole = glued
		if p := pyBoxed(whole); p.ok && p.Function != "" {
			*i += k
			return p
		}
	}
	return pyBoxed(m)
}

// kept remembers the source of a place without a function.
func (s *pyScan) kept(m string) {
	if n := len(s.block.frames); n > 0 && !s.source {
		if f := &s.block.frames[n-1]; f.source == "" && (f.Function == "" || f.Function == "<module>" || f.Function == "?") {
			f.source = strings.TrimSpace(m[:min(len(m), 200)])
		}
	}
}

func (s *pyScan) took(p pyPlace, indent int) {
	s.source, s.strange, s.blank = false, 0, false
	if len(s.block.frames) == 0 {
		s.block.indent = min(s.block.indent, max(0, indent-2))
	}
	s.block.frames = append(s.block.frames, p.Frame)
}

// inBox passes over a box's source; the exception comes behind its end.
func (s *pyScan) inBox(l, m string) pyStep {
	if strings.HasPrefix(m, "╰") {
		s.blank = true
		return pyTook
	}
	if strings.HasPrefix(strings.TrimLeft(l, " "), "│") || !s.blank {
		return pySkips
	}
	if e, strong, ok := pyException(m); ok && (strong || s.strange == 0) {
		s.end(e)
		return pyEnds
	}
	s.strange++
	return pySkips
}

// other tells the exception from the source of the last frame: it is less
// indented, or, where indentation was lost, comes behind the one line of source.
func (s *pyScan) other(l, m string) pyStep {
	indent := pyIndent(l)
	if indent <= s.block.indent || len(s.block.frames) == 0 {
		e, strong, ok := pyException(m)
		if ok && (strong || (indent <= s.block.indent && s.strange == 0 && (s.source || indent < s.block.indent+2))) {
			s.end(e)
			return pyEnds
		}
		if strings.HasPrefix(m, "During handling") || strings.HasPrefix(m, "The above exception") {
			return pyStops
		}
		if s.source || len(s.block.frames) == 0 {
			if s.strange++; s.strange > 3 {
				return pyStops
			}
		}
		s.kept(m)
		s.source = true
		return pySkips
	}
	if e, strong, ok := pyException(m); ok && strong && indent <= s.block.indent+2 && e.message != "" && !strings.HasSuffix(m, ":") {
		s.source = true
		s.end(e)
		return pyEnds
	}
	s.kept(m)
	s.source = true
	return pySkips
}

func (s *pyScan) end(e exception) {
	e.frames = s.block.frames
	s.block.exception, s.block.ended = e, true
}
