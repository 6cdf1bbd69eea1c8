package crash

import (
	"fmt"
	"slices"
	"strings"
)

// choice is what a trace comes down to.
type choice struct {
	lang    *language // nil without a trace
	typ     string
	kind    string // the type as it enters the hash
	code    string
	message string
	frame   Frame
	class   string
	quality Quality
	rests   Quality // what it rests on, however much of the trace was cut off
	cause   string  // how the process ended, when that is all or overrides
	telling bool    // words only, and they tell of a failure
	told    bool    // by the program itself: nothing was read
}

// choose picks the exception and the frame of f: the innermost exception that
// owns a frame of the user's, else the root cause with its first frame that
// says something.
func (p *Parser) choose(f *found, why *[]string) choice {
	c := choice{lang: f.lang, class: f.class, quality: Own}
	n, frame, ok := p.own(f)
	if !ok {
		c.quality = Library
		n, frame, ok = f.firstFrame()
	}
	if !ok {
		c.quality = Message
		n = f.innermost(0)
	}
	e := &f.chain[n]
	if e.wrapper {
		// The place is the wrapper's, but it happened for its cause.
		if root := f.innermost(0); root < n {
			e = &f.chain[root]
			*why = append(*why, fmt.Sprintf("%s only carries its cause %s", unnamed(f.chain[n].typ), unnamed(e.typ)))
		}
	}
	c.typ, c.kind, c.code, c.message, c.frame = e.typ, e.typ, e.code, e.message, frame
	if f.lang.kind != nil {
		c.kind = f.lang.kind(*e)
	}
	if frame.File == "" && frame.Function == "" && frame.Module == "" {
		c.quality = Message // a line of nobody knows what
	}
	c.rests = c.quality
	if f.cut {
		c.quality = worse(c.quality)
		*why = append(*why, "the trace was cut off: quality lowered")
	}
	*why = append(*why, describe(f, n, c))
	return c
}

// own returns the innermost exception with an own frame, and that frame.
func (p *Parser) own(f *found) (n int, frame Frame, ok bool) {
	var roots []string // namespaces and crates of own frames with a file; beside them, frames without one are libraries'
	for pass := range 2 {
		for i := range f.chain {
			for _, fr := range f.chain[i].frames {
				if f.lang.ignore != nil && f.lang.ignore(fr) || p.library(f.lang, fr) {
					continue
				}
				if !ok && fr.File != "" || pass == 1 && (fr.File != "" || len(roots) == 0 || slices.Contains(roots, root(fr))) {
					return i, fr, true
				}
				if ok = true; pass == 0 && fr.File != "" {
					roots = append(roots, root(fr))
				}
			}
		}
		if !ok {
			break
		}
	}
	return 0, Frame{}, false
}

// root is the first name of a frame's function.
func root(f Frame) string {
	if end := strings.IndexAny(f.Function, ".:"); end > 0 {
		return f.Function[:end]
	}
	return f.Function
}

// firstFrame returns the innermost exception with any frame that is not to be
// ignored.
func (f *found) firstFrame() (n int, frame Frame, ok bool) {
	for i := range f.chain {
		for _, fr := range f.chain[i].frames {
			if f.lang.ignore == nil || !f.lang.ignore(fr) {
				return i, fr, true
			}
		}
	}
	return 0, Frame{}, false
}

// innermost returns the first exception from i on that is no wrapper.
func (f *found) innermost(i int) int {
	for j := i; j < len(f.chain); j++ {
		if !f.chain[j].wrapper {
			return j
		}
	}
	return i
}

func worse(q Quality) Quality {
	switch q {
	case Own:
		return Library
	case Library:
		return Message
	}
	return q
}

func describe(f *found, n int, c choice) string {
	s := fmt.Sprintf("exception %d of %d, the innermost", n+1, len(f.chain))
	switch c.rests {
	case Message:
		return s + ", has no frame: its words must do"
	case Own:
		return s + " that owns a frame of the user's code: " + c.frame.String()
	}
	return s + "; no frame is the user's own, so the first that says something: " + c.frame.String()
}

// String returns the frame as people write it: function (file:line).
func (f Frame) String() string {
	place := f.File
	if f.Line > 0 {
		place = fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	name := f.Function
	if f.Module != "" && name != "" {
		name = f.Module + " " + name
	}
	switch {
	case name == "":
		return place
	case place == "":
		return name
	}
	return name + " (" + place + ")"
}
