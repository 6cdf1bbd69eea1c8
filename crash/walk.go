package crash

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// found is a trace and who read it where.
type found struct {
	trace
	lang *language
	line int // from 1, in the cleaned text
}

// walk is one pass of the language table over cleaned lines. It keeps only the
// trace that counts.
type walk struct {
	table []language
	gate  *gate // nil: every language is asked about every line
	best  *found
	seen  int // traces read
	fatal int // of them fatal
	asked int // calls of begins and read, for the test of linearity
	why   []string
}

// maxWhy bounds how many traces are named one by one in Why.
const maxWhy = 16

// over walks the lines of one piece.
func (w *walk) over(lines []string) {
	v := views{lines: lines}
	for i := 0; i < len(lines); {
		l := lines[i]
		if l == "" {
			i++
			continue
		}
		next := w.at(lines, i, i)
		if next == i && (l[0] == ' ' || l[0] == '\t') {
			if view, j := v.at(i); view != nil {
				next = i + w.at(view, j, i) - j
			}
		}
		i = max(next, i+1)
	}
}

// at asks the table for a trace at lines[i], and returns the index behind it;
// i when there is none. line is where that is in the text.
func (w *walk) at(lines []string, i, line int) int {
	mask := ^uint32(0)
	if w.gate != nil && lines[i] != "" {
		mask = w.gate.asks(lines[i])
	}
	for k := range w.table {
		if mask&(1<<k) == 0 {
			continue
		}
		lang := &w.table[k]
		w.asked++
		if !lang.begins(lines[i]) {
			continue
		}
		w.asked++
		t, next, ok := w.read(lang, lines, i)
		if !ok || next <= i || len(t.chain) == 0 {
			continue
		}
		w.take(found{trace: t, lang: lang, line: line + 1})
		return next
	}
	return i
}

// brokenReader begins the step of Why that tells of a reader's own panic.
const brokenReader = "the reader of "

// read lets lang read. Outputs are written by whatever failed, perhaps on
// purpose: a mistake in one reader must not take the process along that wants
// to know what failed.
func (w *walk) read(lang *language, lines []string, i int) (t trace, next int, ok bool) {
	defer func() {
		if v := recover(); v != nil {
			t, next, ok = trace{}, i, false
			if len(w.why) < maxWhy {
				w.why = append(w.why, fmt.Sprintf("%s%s panicked: %v", brokenReader, lang.name, v))
			}
		}
	}()
	t, next, ok = lang.read(lines, i)
	for k := 0; lang.class != nil && t.class == "" && k < len(t.chain); k++ {
		t.class = lang.class(t.chain[k])
	}
	return t, next, ok
}

// take notes f and keeps it if it counts more than what was kept: fatal before
// logged, then by rank, then the later.
func (w *walk) take(f found) {
	w.seen++
	if f.fatal {
		w.fatal++
	}
	if len(w.why) < maxWhy {
		last := f.chain[len(f.chain)-1]
		kind := "fatal"
		if !f.fatal {
			kind = "not fatal"
		}
		w.why = append(w.why, fmt.Sprintf("line %d: %s trace of %s, %s", f.line, f.lang.name, unnamed(last.typ), kind))
	}
	switch b := w.best; {
	case b != nil && b.holds(&f):
		b.fatal = b.fatal || f.fatal // logged, then printed again as it ended, or the other way round
	case b == nil || !b.above(&f):
		w.best = &f
	}
}

// holds reports whether a later g is what f is, with fewer frames: programs
// print a failure twice, and what is pasted often ends within the second.
func (f *found) holds(g *found) bool {
	if f.lang != g.lang || len(g.chain) > len(f.chain) {
		return false
	}
	a, b := f.chain[len(f.chain)-1], g.chain[len(g.chain)-1]
	if a.typ != b.typ || a.message != b.message || len(b.frames) >= len(a.frames) || len(b.frames) == 0 && len(g.chain) < len(f.chain) {
		return false
	}
	for i := range b.frames[:max(0, len(b.frames)-1)] { // the last may be cut itself
		if a.frames[i] != b.frames[i] {
			return g.foreign()
		}
	}
	return true
}

// foreign reports that nothing in f is the user's own.
func (f *found) foreign() bool {
	for _, e := range f.chain {
		for _, fr := range e.frames {
			if !f.lang.library(fr) {
				return false
			}
		}
	}
	return true
}

// above reports whether f counts more than a later g.
func (f *found) above(g *found) bool {
	if f.fatal != g.fatal {
		return f.fatal
	}
	if f.rank != g.rank {
		return f.rank > g.rank
	}
	return f.placed() && (!g.placed() || f.typed() && !g.typed())
}

// typed reports whether f says what it was: a trace that the end of the output
// cut off says less than the one before it.
func (f *found) typed() bool {
	return !f.cut || f.chain[len(f.chain)-1].typ != ""
}

// placed reports whether f names any place: "Aborted (core dumped)" behind a
// trace says less than the trace.
func (f *found) placed() bool {
	return slices.ContainsFunc(f.chain, func(e exception) bool { return len(e.frames) > 0 })
}

func unnamed(typ string) string { return cmp.Or(typ, "an unnamed failure") }

// views are copies of indented blocks without their indentation, so that a
// trace that somebody pasted indented looks as it was printed. One block is
// kept for each depth: all copies of one depth together are never longer than
// the text.
type views struct {
	lines  []string
	blocks [maxDepth]struct {
		at  int
		out []string
	}
}

const maxDepth = 24

// at returns the block that holds lines[i], and where in it that line is.
func (v *views) at(i int) ([]string, int) {
	margin := indentOf(v.lines[i])
	d := len(margin)
	if d >= maxDepth || d == len(v.lines[i]) {
		return nil, 0
	}
	b := &v.blocks[d]
	if b.out != nil && i >= b.at && i < b.at+len(b.out) {
		return b.out, i - b.at
	}
	b.at, b.out = i, b.out[:0:0]
	for _, l := range v.lines[i:] {
		rest, ok := strings.CutPrefix(l, margin)
		if !ok && strings.TrimSpace(l) != "" {
			break
		}
		b.out = append(b.out, rest)
	}
	return b.out, 0
}
