package crash

import (
	"slices"
	"strings"
)

// How far a reader looks ahead of what it has recognised. Both bound the work
// that one line of a log can cause.
const (
	pyGap     = 40 // between two frames, or a frame and its exception: source, context, locals
	pyMessage = 60 // of an exception's message, until what says that a chain goes on
)

// pyReader reads one traceback with its chain and its groups.
type pyReader struct {
	lines  []string
	i      int // the line to be read
	blocks []pyBlock
	depth  int       // of groups
	told   exception // what the line before the header says
	quiet  bool      // logged, or ignored by the interpreter
}

// pyBlock is one exception with its frames, in the order of the text.
type pyBlock struct {
	exception
	depth  int
	indent int // of its header, else of its frames less two
	ended  bool
}

func (r *pyReader) read() bool {
	r.lookBack()
	for r.i < len(r.lines) {
		if !r.block() {
			break
		}
		if !r.follows() {
			break
		}
	}
	if n := len(r.blocks); n > 0 && r.blocks[n-1].typ == "" && r.told.typ != "" {
		r.blocks[n-1].typ, r.blocks[n-1].message, r.blocks[n-1].ended = r.told.typ, r.told.message, true
		pyFinish(&r.blocks[n-1].exception)
	}
	r.skipChild()
	return len(r.blocks) > 0
}

// skipChild passes over the trace of a child that a message holds.
func (r *pyReader) skipChild() {
	for k := r.i; k < len(r.lines) && k < r.i+3; k++ {
		if strings.HasPrefix(r.lines[k], "stderr: Traceback") || r.lines[k] == "stderr:" && k+1 < len(r.lines) && strings.HasPrefix(r.lines[k+1], pyHead) {
			child := pyReader{lines: r.lines, i: k}
			if r.lines[k] == "stderr:" {
				child.i++
			}
			if child.read() {
				r.i = child.i
			}
			return
		}
	}
}

// lookBack reads what the line before a traceback says of it.
func (r *pyReader) lookBack() {
	if r.i == 0 {
		return
	}
	before := pyMargin(r.lines[r.i-1])
	if !strings.Contains(r.lines[r.i], "Traceback") {
		return
	}
	if e, strong, ok := pyException(before); ok && strong {
		r.told = e
	}
	if startsWith(before, "Exception ignored", "Exception in thread", "--- Logging error", "Task exception was never", "Future exception was never") {
		r.quiet = true
	}
}

// block reads one exception: a header, frames, and the exception's line.
func (r *pyReader) block() bool {
	b := pyBlock{depth: r.depth}
	boxed := false
	start := r.i
	if l := r.lines[r.i]; strings.Contains(l, "Traceback") {
		boxed = strings.Contains(l, "──") || strings.Contains(l, "╭")
		b.indent = pyIndent(strings.TrimLeft(l, "+"))
		r.i++
		if frames, e, ended := pyGlued(l); len(frames) > 0 {
			b.exception, b.ended = e, ended
			if b.frames = frames; ended {
				r.close(b)
				return true
			}
		}
	} else {
		b.indent = max(0, pyIndent(l)-2)
	}
	s := pyScan{block: &b, boxed: boxed}
	last := r.i
	for ; r.i < len(r.lines) && r.i-last <= pyGap; r.i++ {
		switch s.line(r.lines, &r.i) {
		case pyTook:
			last = r.i + 1
		case pyEnds:
			r.i++
			r.below(&b)
			r.close(b)
			return true
		case pyStops:
			r.finish(b, last)
			return b.ended || len(b.frames) > 0
		}
	}
	r.finish(b, last)
	if len(r.blocks) == 0 {
		r.i = start
	}
	return false
}

// below takes the message from the line below a type with nothing behind it.
func (r *pyReader) below(b *pyBlock) {
	if b.message != "" || r.i >= len(r.lines) || !strings.HasSuffix(strings.TrimRight(r.lines[r.i-1], " "), ":") {
		return
	}
	m := strings.TrimSpace(pyMargin(r.lines[r.i]))
	if !strings.Contains(m, pyHead) && !strings.HasPrefix(m, "+-") && m != `"""` {
		b.message = m
	}
}

// finish ends a block whose exception was not found.
func (r *pyReader) finish(b pyBlock, next int) {
	r.i = next
	if len(b.frames) > 0 {
		r.close(b)
	}
}

func (r *pyReader) close(b pyBlock) {
	for i, j := 0, len(b.frames)-1; i < j; i, j = i+1, j-1 {
		b.frames[i], b.frames[j] = b.frames[j], b.frames[i]
	}
	pyFinish(&b.exception)
	r.blocks = append(r.blocks, b)
}

var pyConnectors = []string{
	"During handling of the above exception", "The above exception was the direct cause",
}

// follows looks behind an exception's line for the next of the chain or of the
// group, and moves there.
func (r *pyReader) follows() bool {
	if len(r.blocks) == 0 || !r.blocks[len(r.blocks)-1].ended {
		return false
	}
	group := r.blocks[len(r.blocks)-1].wrapper
	linked, member := false, false
	for k := r.i; k < len(r.lines) && k-r.i <= pyMessage; k++ {
		l := r.lines[k]
		m := pyMargin(l)
		switch {
		case m == "":
		case strings.HasPrefix(m, "+-") || strings.HasPrefix(m, "--") && strings.HasSuffix(m, "--"):
			if member = r.mark(m); member {
				group = true
			}
		case strings.HasPrefix(m, pyConnectors[0]), strings.HasPrefix(m, pyConnectors[1]):
			linked = true
		case strings.Contains(m, "Traceback (") || linked && pyFrame(m).ok:
			if linked || group {
				r.i = k
				return true
			}
			return false
		case member:
			member = false
			e, _, ok := pyException(m)
			if !ok {
				continue
			}
			r.close(pyBlock{exception: e, depth: r.depth, ended: true}) // it was never raised: no frames
			r.i = k + 1
			return r.follows()
		case strings.HasPrefix(m, pyFatal):
			return false
		}
	}
	return false
}

// mark reads the lines that exception groups draw between their members.
func (r *pyReader) mark(m string) bool {
	body := strings.Trim(m, "+-")
	switch {
	case strings.HasPrefix(m, "+-+-"):
		r.depth++
		return true
	case body == "" && len(m) > 20:
		r.depth = max(0, r.depth-1)
	case strings.TrimSpace(body) != "" && len(strings.TrimSpace(body)) < 4:
		return true // the next member
	}
	return false
}

// trace puts the causes before what they caused and members before groups.
func (r *pyReader) trace() trace {
	t := trace{fatal: !r.quiet}
	var open []pyBlock
	for _, b := range r.blocks {
		for len(open) > 0 && open[len(open)-1].depth >= b.depth {
			t.chain = append(t.chain, open[len(open)-1].exception)
			open = open[:len(open)-1]
		}
		if b.wrapper {
			open = append(open, b)
			continue
		}
		if !b.ended && len(r.blocks) > 1 {
			continue // cut off behind its cause
		}
		t.chain = append(t.chain, b.exception)
		t.cut = !b.ended
	}
	for _, o := range slices.Backward(open) {
		t.chain = append(t.chain, o.exception)
	}
	if len(t.chain) == 0 {
		t.chain = append(t.chain, r.blocks[0].exception)
	}
	last := t.chain[len(t.chain)-1]
	switch lastSegment(last.typ, ".") {
	case "KeyboardInterrupt", "SystemExit", "GeneratorExit", "ChildFailedError": // torchrun's tells of another process
		t.fatal = false
	}
	return t
}
