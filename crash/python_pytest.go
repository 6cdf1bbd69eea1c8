package crash

import (
	"slices"
	"strings"
)

// pytestPlace reads pytest's "tests/test_x.py:5: in test_x" and
// "tests/test_x.py:5: KeyError", which end an entry of a traceback. For the
// latter, and for a bare "tests/test_x.py:5:", inside is false.
func pytestPlace(l string) pyPlace {
	if l == "" || l[0] == ' ' || l[0] == '\t' || l[0] == '>' {
		return pyPlace{}
	}
	at := strings.Index(l, ".py:")
	if at <= 0 || at > 300 {
		return pyPlace{}
	}
	n, rest, ok := leadingNumber(l[at+len(".py:"):])
	if !ok || !strings.HasPrefix(rest, ":") || strings.ContainsAny(l[:at], "\"'(") {
		return pyPlace{}
	}
	p := pyPlace{Frame: Frame{File: l[:at+len(".py")], Line: n}}
	rest = strings.TrimSpace(rest[1:])
	if fn, in := strings.CutPrefix(rest, "in "); in {
		p.Function, p.inside, p.ok = fn, true, !strings.Contains(strings.TrimSpace(fn), " ")
		return p
	}
	e, strong, is := pyException(rest)
	p.ok = rest == "" || is && strong && e.message == "" && !strings.HasSuffix(e.typ, "Warning")
	p.Function = e.typ // for the reader to take it as the type
	return p
}

// pytestFrames bounds how many places, and how many lines of a message, are
// read for one exception.
const pytestFrames = 100

// pytest reads one failure of pytest's report, long or short.
type pytest struct {
	lines  []string
	frames []Frame // the outermost first
	e      exception
	def    string // the function whose source is being printed
	marked int    // lines marked with E since the last place
	places bool
}

func pyReadTest(lines []string, i int) (trace, int, bool) {
	r := pytest{lines: lines}
	r.lookBack(i)
	next, gap := i, 0
	var chain []exception
	for ; i < len(lines) && gap <= pyGap && len(r.frames) < pytestFrames && r.marked < pytestFrames; i++ {
		gap++
		took, ends := r.line(lines[i])
		if took {
			next, gap = i+1, 0
		}
		if !ends && r.e.typ != "" && r.places && r.over(i) {
			ends = true
		}
		if ends {
			next = i + 1
			chain = append(chain, r.close())
			if i = r.linked(i + 1); i < 0 {
				break
			}
		}
	}
	if r.e.typ != "" && len(r.frames) > 0 {
		chain = append(chain, r.close())
	}
	if len(chain) == 0 {
		return trace{}, next, false
	}
	t := trace{chain: chain, fatal: true}
	t.class = pyClass(chain[0])
	return t, next, true
}

// lookBack finds the function that the first place belongs to.
func (r *pytest) lookBack(i int) {
	for k := i - 1; k >= 0 && i-k <= pyGap; k-- {
		if strings.HasPrefix(r.lines[k], "____") || pytestPlace(r.lines[k]).ok {
			return
		}
		if fn, ok := pyDef(r.lines[k]); ok {
			r.def = fn
			return
		}
	}
}

func pyDef(l string) (string, bool) {
	m := strings.TrimLeft(strings.TrimPrefix(l, ">"), " ")
	m = strings.TrimPrefix(m, "async ")
	m, ok := strings.CutPrefix(m, "def ")
	if !ok {
		return "", false
	}
	fn, _, ok := strings.Cut(m, "(")
	return fn, ok
}

// line reads one line; ends reports the end of the exception.
func (r *pytest) line(l string) (took, ends bool) {
	if p := pytestPlace(l); p.ok {
		r.places = true
		f := p.Frame
		if p.inside {
			r.frames = append(r.frames, f)
			return true, false
		}
		typ := f.Function
		f.Function, r.def = r.def, ""
		r.frames = append(r.frames, f)
		if typ != "" && (r.e.typ == "" || lastSegment(r.e.typ, ".") != typ) {
			r.e.typ = typ
		}
		return true, typ != ""
	}
	if fn, ok := pyDef(l); ok {
		r.def = fn
		return false, false
	}
	if len(l) > 4 && l[0] == 'E' && l[1] == ' ' {
		r.marked++
		r.said(strings.TrimSpace(l[1:]))
		return true, false
	}
	return false, false
}

// said takes a line that pytest marks with E.
func (r *pytest) said(m string) {
	if p := pyFrame(m); p.ok {
		p.Function = ""
		r.frames = append(r.frames, p.Frame)
		return
	}
	if e, strong, ok := pyException(m); ok && strong && (r.e.typ == "" || pyIsSyntax(e.typ)) {
		r.e.typ, r.e.message = e.typ, e.message
		return
	}
	if r.e.typ == "" && r.e.message == "" {
		r.e.typ, r.e.message = "AssertionError", m
	}
}

// over reports that a short report's failure ends before line i+1: what pytest
// says comes after all frames there.
func (r *pytest) over(i int) bool {
	if len(r.lines[i]) > 1 && r.lines[i][0] == 'E' {
		if i+1 >= len(r.lines) {
			return true
		}
		next := r.lines[i+1]
		if strings.HasPrefix(next, "E ") {
			return false
		}
		// the long report goes on with the place, behind one empty line
		for k := i + 1; k < len(r.lines) && k <= i+3; k++ {
			if p := pytestPlace(r.lines[k]); p.ok && !p.inside {
				return false
			}
		}
		return true
	}
	return false
}

func (r *pytest) close() exception {
	e := r.e
	for _, v := range slices.Backward(r.frames) {
		e.frames = append(e.frames, v)
	}
	pyFinish(&e)
	r.e, r.frames, r.def, r.places, r.marked = exception{}, nil, "", false, 0
	return e
}

// linked returns the index of the connector that leads to the next exception
// of a chain, or -1.
func (r *pytest) linked(i int) int {
	for k := i; k < len(r.lines) && k <= i+4; k++ {
		if startsWith(r.lines[k], pyConnectors...) {
			return k
		}
	}
	return -1
}
