package crash

import (
	"slices"
	"strings"
)

// How far a backtrace's parts may be apart.
const (
	rubyBack    = 12  // from the first frame back to the title
	rubyGap     = 25  // from a title to its first frame: the message's other lines, source
	rubyBugGap  = 400 // from [BUG] to the backtrace
	rubyDeepest = 20000
)

// rubyReader reads one exception with its causes, which come behind it.
type rubyReader struct {
	lines []string
	i     int
	chain []exception // the outermost first
}

func rubyRead(lines []string, i int) (trace, int, bool) {
	r := rubyReader{lines: lines, i: i}
	if strings.Contains(lines[i], "[BUG] ") {
		return r.bug()
	}
	cut := !r.first()
	if len(r.chain) == 0 {
		return trace{}, i, false
	}
	for r.cause() {
	}
	t := trace{fatal: true, cut: cut}
	for _, v := range slices.Backward(r.chain) {
		t.chain = append(t.chain, rubyFinish(v))
	}
	switch r.chain[0].typ {
	case "Interrupt", "SystemExit":
		t.fatal = false
	}
	return t, max(r.i, i+1), true
}

// first reads the exception that lines[i] belongs to. It is false when its
// type was not found.
func (r *rubyReader) first() bool {
	f := rubyFrame(r.lines[r.i])
	if strings.Contains(r.lines[r.i], pyHead) || f.n > 0 {
		return r.reversed()
	}
	if !f.ok {
		return false
	}
	if f.rest != "" && !f.from && r.headed(f) {
		return true
	}
	e, ok := r.title()
	r.frames(&e, 0)
	if !ok && len(e.frames) < 2 {
		return false // a place that something mentions
	}
	r.chain = append(r.chain, e)
	return ok
}

// headed reads x.rb:3:in 'f': message (Type), and the frames below.
func (r *rubyReader) headed(f rubyLine) bool {
	typ, msg, ok := rubyMessage(f.rest)
	next := r.i + 1
	if !ok {
		// the message was wrapped, or has lines before its type
		var joined strings.Builder
		joined.WriteString(f.rest)
		for k := r.i + 1; k < len(r.lines) && k <= r.i+8; k++ {
			if rubyFrame(r.lines[k]).ok {
				break
			}
			joined.WriteString("\n" + strings.TrimSpace(r.lines[k]))
			if typ, msg, ok = rubyMessage(joined.String()); ok {
				next = k + 1
				break
			}
		}
	}
	if !ok && !strings.HasPrefix(f.rest, ": ") {
		return false
	}
	e := exception{typ: typ, message: msg, frames: []Frame{f.Frame}}
	r.i = next
	r.frames(&e, rubyGap)
	r.chain = append(r.chain, e)
	return true
}

// frames reads the frames from r.i on, the innermost first. Up to gap other
// lines may come before the first.
func (r *rubyReader) frames(e *exception, gap int) {
	last, other := r.i, 0
	for k := r.i; k < len(r.lines) && len(e.frames) < rubyDeepest; k++ {
		l := r.lines[k]
		f := rubyFrame(l)
		switch {
		case f.ok && f.n == 0 && (f.rest == "" || f.from || rubyDecor(f.rest)):
			e.frames = append(e.frames, f.Frame)
			last, gap, other = k+1, 3, 0
			continue
		case f.ok:
			r.i = last
			return
		case strings.Contains(l, "levels..."):
			last = k + 1
			continue
		}
		if other++; other > gap || rubyEnds(l) {
			break
		}
	}
	r.i = last
}

// rubyDecor reports what tools write behind a frame.
func rubyDecor(rest string) bool {
	return !strings.HasPrefix(rest, ": ") || rest == ": "
}

// rubyEnds reports lines that no message goes on with.
func rubyEnds(l string) bool {
	return strings.Contains(l[:min(len(l), 20)], "Caused by") || l == "Causes:" || strings.HasPrefix(l, "Tasks: TOP") || strings.Contains(l, pyHead)
}

// title finds what was thrown in the lines above the first frame.
func (r *rubyReader) title() (exception, bool) {
	var said []string
	for k := r.i - 1; k >= 0 && r.i-k <= rubyBack; k-- {
		l := r.lines[k]
		if rubyFrame(l).ok {
			break
		}
		if e, ok := rubyOccurred(l); ok {
			if len(said) > 0 {
				e.message = said[len(said)-1]
			}
			return e, true
		}
		if e, ok := rubyTitle(l); ok {
			if e.message == "" && len(said) > 0 {
				e.message = said[len(said)-1]
			}
			return e, true
		}
		if typ, msg, ok := rubyMessage(l); ok && pyStrong(typ) { // Logger's: msg (Type)
			if _, after, ok := strings.Cut(msg, " -- : "); ok {
				msg = after
			}
			return exception{typ: typ, message: msg}, true
		}
		s := strings.TrimSpace(l)
		if strings.HasSuffix(s, "aborted!") && len(said) > 0 { // Rake hides StandardError's and RuntimeError's names
			e := exception{typ: rubySpoken(said[len(said)-1]), message: said[len(said)-1]}
			if e.typ == "" {
				e.typ = "RuntimeError"
			}
			return e, true
		}
		if s != "" {
			said = append(said, s)
		}
	}
	e := exception{}
	if len(said) > 0 {
		e.message = said[0]
		e.typ = rubySpoken(e.message)
	}
	return e, e.typ != ""
}

// reversed reads a trace whose frames come outermost first, with numbers.
func (r *rubyReader) reversed() bool {
	var frames []Frame
	k := r.i
	if strings.Contains(r.lines[k], pyHead) {
		k++
	}
	for ; k < len(r.lines); k++ {
		f := rubyFrame(r.lines[k])
		if f.ok && f.n > 0 {
			frames = append(frames, f.Frame)
			continue
		}
		if strings.Contains(r.lines[k], "levels...") {
			continue
		}
		if len(frames) == 0 || !f.ok {
			break
		}
		r.i = k
		n := len(r.chain)
		if !r.headed(f) {
			break
		}
		e := &r.chain[n]
		for _, frame := range slices.Backward(frames) {
			e.frames = append(e.frames, frame)
		}
		ok := e.typ != ""
		if r.i < len(r.lines) && rubyFrame(r.lines[r.i]).n > 0 { // what it caused comes below
			cause := r.chain
			r.chain = nil
			ok = r.reversed() || ok
			r.chain = append(r.chain, cause...)
		}
		return ok
	}
	if len(frames) > 0 {
		e := exception{}
		for _, frame := range slices.Backward(frames) {
			e.frames = append(e.frames, frame)
		}
		r.chain, r.i = append(r.chain, e), k
	}
	return false
}

// cause reads the next exception of the chain: the interpreter's follows at
// once, those of Rake, Rails and RSpec follow a line that says so.
func (r *rubyReader) cause() bool {
	said := false
	for k := r.i; k < len(r.lines) && k <= r.i+4; k++ {
		l := strings.TrimSpace(strings.TrimLeft(r.lines[k], "# "))
		if l == "" || strings.Trim(l, "-") == "" {
			continue
		}
		if strings.HasPrefix(l, "Caused by") || strings.HasPrefix(l, "--- Caused by") || l == "Causes:" {
			said = true
			continue
		}
		f := rubyFrame(r.lines[k])
		if f.ok && f.rest != "" && !f.from {
			if _, _, ok := rubyMessage(f.rest); ok {
				r.i = k
				return r.headed(f)
			}
			return false
		}
		if !said {
			return false
		}
		e, ok := rubyTitle(l)
		if !ok {
			return false
		}
		r.i = k + 1
		r.frames(&e, rubyGap)
		r.chain = append(r.chain, e)
		return true
	}
	return false
}

// bug reads the interpreter's own crash. Its backtrace has the outermost first.
func (r *rubyReader) bug() (trace, int, bool) {
	head := rubyFrame(r.lines[r.i])
	_, msg, _ := strings.Cut(r.lines[r.i], "[BUG] ")
	typ, _, _ := strings.Cut(msg, " at 0x")
	e := exception{typ: typ, message: msg}
	inside := false
	next := r.i + 1
	for k := r.i + 1; k < len(r.lines) && k-r.i < rubyBugGap; k++ {
		l := r.lines[k]
		switch {
		case strings.HasPrefix(l, "-- Ruby level backtrace"):
			inside = true
		case strings.HasPrefix(l, "-- ") && inside:
			k = len(r.lines)
		case inside:
			if f := rubyFrame(l); f.ok {
				e.frames = append([]Frame{f.Frame}, e.frames...)
				next = k + 1
			}
		}
	}
	if len(e.frames) == 0 && head.ok {
		e.frames = []Frame{head.Frame}
	}
	return trace{chain: []exception{rubyFinish(e)}, fatal: true, rank: 1, class: "crash"}, next, true
}

// rubyFinish completes an exception. A frame at its caller's very line is a
// method written in C, which some versions print and some don't.
func rubyFinish(e exception) exception {
	out := e.frames[:0:0]
	for i, f := range e.frames {
		if i+1 < len(e.frames) && e.frames[i+1].File == f.File && e.frames[i+1].Line == f.Line && f.Line > 0 && e.frames[i+1].Function != f.Function {
			continue
		}
		out = append(out, f)
	}
	e.frames = out
	e.code = rubyCode(e.typ, e.message)
	e.wrapper = e.typ == "ActionView::Template::Error" || e.typ == "ActionView::TemplateError"
	if e.typ == "SystemStackError" {
		e.frames = mostFrequent(e.frames, rubyLibrary)
	}
	e.frames = withoutInner(e.frames, rubyLibrary, rubyInner)
	return e
}

// rubyInner reports frames of Ruby itself.
func rubyInner(f Frame) bool {
	p := slashed(f.File)
	return rubyIgnore(f) || !strings.Contains(p, "/gems/") && strings.Contains(p, "/lib/ruby/")
}
