package redos

import "slices"

// tally counts the steps of a backtracking matcher without executing each of them. The
// outcome of a branch depends only on the place in the text and the rounds of the loops
// around it. So tally computes it once and caches it, and 2ⁿ steps of a matcher take n.
// Programs with backreferences depend on more state; the machine runs them.
type tally struct {
	prog   *program
	alpha  *alphabet
	rounds rounds
	cache  cellCache
	waits  []wait
	near   bool // the program looks at most one rune to the left

	attack attack // the attack of the cache
	fresh  bool   // the cache is empty
	text   []int
	pumps  int
	inner  int // minimum number of runes between a pump and the end of the text
	work   int // number of executed instructions
	limit  int
	old    int // number of earlier cache entries
	lead   lead
}

// lead is the path to the first choice, inside the prefix that all texts of an attack
// share.
type lead struct {
	known bool
	start int32
	head  head
	taken int
	ends  ending
}

// head is a place in a program, in a text and in its loops.
type head struct{ pc, pos, rounds int32 }

// wait is a branch or lookaround whose outcome depends on that of another.
type wait struct {
	head          // of the untried path, or of the lookaround
	cell   int32  // of the branch; -1: a lookaround
	second bool   // the second path is being tried
	steps  number // steps since the previous wait
}

// number is a count of steps, which may be as large as 2¹⁰⁰⁰.
type number = float64

// outcome is the result of a branch: the steps until a match or the last failure.
type outcome struct {
	steps number
	left  int32 // runes after the match
}

// Special values instead of the runes after a match.
const (
	failed int32 = -1
	open   int32 = -2 // not yet known
)

// newTally returns nil for programs that depend on more than place and rounds.
func newTally(p *program, a *alphabet) *tally {
	t := &tally{prog: p, alpha: a, fresh: true, near: true}
	for i, in := range p.code {
		switch {
		case in.op == inBackref || in.op == inIf:
			return nil
		case in.back && (in.op != inClass || p.code[i-1].op != inLook || p.code[i+1].op != inMatch):
			t.near = false
		}
	}
	t.rounds.reset()
	return t
}

// load creates the text of an attack, and clears the cache of another attack.
func (t *tally) load(w attack, n, limit int) {
	if t.fresh || !slices.Equal(w.prefix, t.attack.prefix) || !slices.Equal(w.pump, t.attack.pump) ||
		!slices.Equal(w.suffix, t.attack.suffix) || n+1 >= epochTags {
		t.fresh, t.attack = false, w
		t.cache.clear()
		t.lead = lead{}
	}
	t.text = w.appendTo(t.text[:0], n)
	t.pumps, t.inner = n, 0
	if t.near {
		t.inner = n*len(w.pump) + len(w.suffix)
	}
	t.work, t.limit = 0, limit
	t.old = len(t.cache.cells) + perRound*len(t.rounds.all)
}

// perRound is the cost of a new state of loops, in cache cells. A cell costs one more
// instruction.
const perRound = 8

// attempt counts the steps of one attempt at the start of the match. limit bounds the work
// of counting; the number of steps may be larger.
func (t *tally) attempt(w attack, n, limit int) effort {
	t.load(w, n, limit)
	o, ok := t.run(int32(w.start))
	return t.effort(o.steps, ok && o.left >= 0, !ok)
}

// search counts the steps of a search from every position, or from the first only.
func (t *tally) search(w attack, n int, anchored bool, limit int) effort {
	t.load(w, n, limit)
	last := len(t.text)
	if anchored {
		last = 0
	}
	total := number(0)
	for start := 0; start <= last; start++ {
		o, ok := t.run(int32(start))
		if total += o.steps; !ok || o.left >= 0 {
			return t.effort(total, ok && o.left >= 0, !ok)
		}
	}
	return t.effort(total, false, false)
}

func (t *tally) effort(steps number, matched, over bool) effort {
	made := len(t.cache.cells) + perRound*len(t.rounds.all) - t.old
	return effort{total: steps, work: t.work + made, matched: matched, over: over}
}

// run computes the outcome at the start of the program. It returns false above the limit.
func (t *tally) run(start int32) (outcome, bool) {
	t.waits = t.waits[:0]
	h, sum := head{pos: start}, number(0)
	taken, ends := t.begin(&h)
	for ; ; taken, ends = t.follow(&h) {
		if t.work >= t.limit {
			return outcome{sum, failed}, false
		}
		sum += number(taken)
		r := outcome{sum, failed}
		switch ends {
		case atMatch:
			r.left = t.after(h.pos)
		case atNested:
			t.waits = append(t.waits, wait{head: h, cell: -1, steps: sum})
			h, sum = head{pc: h.pc + 1, pos: h.pos}, 0
			continue
		case atBranch:
			cell, known := t.cell(h)
			if !known {
				first, second := t.ways(h)
				t.waits = append(t.waits, wait{head: second, cell: cell, steps: sum})
				h, sum = first, 1
				continue
			}
			c := t.cache.cells[cell]
			if c.left == open { // a round without a rune, which compiled programs cannot contain
				return r, false
			}
			r = outcome{sum + c.steps, c.left}
		default:
		}
		var done bool
		if h, sum, done = t.resume(&r); done {
			return r, true
		}
	}
}

// begin executes the program from its first instruction.
func (t *tally) begin(h *head) (taken int, ends ending) {
	if l := &t.lead; l.known && l.start == h.pos {
		*h = l.head
		return l.taken, l.ends
	}
	start := h.pos
	taken, ends = t.follow(h)
	if taken > longLead && int(h.pos) < len(t.attack.prefix) {
		t.lead = lead{known: true, start: start, head: *h, taken: taken, ends: ends}
	}
	return taken, ends
}

// longLead is the minimum length of a lead that is cached.
const longLead = 6

// resume passes an outcome to what waits for it, until a path can continue.
func (t *tally) resume(r *outcome) (h head, sum number, done bool) {
	for len(t.waits) > 0 {
		w := &t.waits[len(t.waits)-1]
		switch {
		case w.cell < 0:
			h, sum = w.head, w.steps+r.steps
			t.waits = t.waits[:len(t.waits)-1]
			if t.past(&h, r.left) {
				return h, sum, false
			}
			*r = outcome{sum, failed}
		case r.left == failed && !w.second:
			w.second = true
			return w.head, r.steps, false
		default:
			t.cache.cells[w.cell] = *r
			r.steps += w.steps
			t.waits = t.waits[:len(t.waits)-1]
		}
	}
	return head{}, 0, true
}

// past continues after a lookaround or atomic group, if its outcome allows.
func (t *tally) past(h *head, left int32) bool {
	i := &t.prog.code[h.pc]
	h.pc = i.a
	if i.op == inLook {
		return (left >= 0) != i.neg
	}
	if left < 0 {
		return false
	}
	if end := int32(len(t.text)) - left; end != h.pos {
		h.pos, h.rounds = end, t.rounds.read(h.rounds)
	}
	return true
}

func (t *tally) after(pos int32) int32 { return int32(len(t.text)) - pos }

// cell returns what is known about a branch. If the same number of runes is left of two
// texts of one attack, and at least one pump came before, the same follows.
func (t *tally) cell(h head) (cell int32, known bool) {
	left := t.after(h.pos)
	n := 0
	if int(left) >= t.inner {
		n = min(t.pumps+1, epochTags-1)
	}
	return t.cache.cell(uint64(h.rounds)<<42|uint64(h.pc)<<22|uint64(left), n)
}

// ways returns the two paths of a branch, the first one to try first.
func (t *tally) ways(h head) (first, second head) {
	i := &t.prog.code[h.pc]
	if i.op == inSplit {
		return head{i.a, h.pos, h.rounds}, head{i.b, h.pos, h.rounds}
	}
	first, second = head{h.pc + 1, h.pos, h.rounds}, head{i.b, h.pos, t.rounds.all[h.rounds].outer}
	if i.neg {
		first, second = second, first
	}
	return first, second
}

// ending is the reason why a path without a choice ends.
type ending uint8

const (
	atFailure ending = iota
	atMatch
	atBranch
	atNested // a lookaround or atomic group
)

// follow executes up to a choice, the end, or an unknown outcome.
func (t *tally) follow(h *head) (taken int, e ending) {
	pc, pos, in := h.pc, h.pos, h.rounds
	defer func() {
		*h = head{pc, pos, in}
		t.work += taken + 1
	}()
	for {
		i := &t.prog.code[pc]
		ok := true
		switch i.op {
		case inMatch:
			return taken + 1, atMatch
		case inSplit:
			return taken, atBranch
		case inLook, inAtomic:
			return taken + 1, atNested
		case inClass:
			if i.back {
				pos--
				ok = pos >= 0 && t.alpha.in(int(i.a), t.text[pos])
			} else {
				ok = int(pos) < len(t.text) && t.alpha.in(int(i.a), t.text[pos])
				pos++
			}
			if in != 0 {
				in = t.rounds.read(in)
			}
			pc++
		case inJump:
			pc = i.a
		case inAssert:
			ok = t.alpha.holds(i.kind, t.text, int(pos))
			pc++
		case inCount:
			r := &t.rounds.all[in]
			switch {
			case r.done < i.n:
				pc++
			case r.done >= i.m:
				pc, in = i.b, r.outer
			default:
				return taken, atBranch
			}
		default:
			pc, in, ok = t.turn(i, pc, in)
		}
		if taken++; !ok {
			return taken, atFailure
		}
	}
}

// turn starts and ends rounds.
func (t *tally) turn(i *inst, pc, in int32) (int32, int32, bool) {
	switch r := t.rounds.all[in]; i.op {
	case inZero:
		return pc + 1, t.rounds.enter(in, i.a), true
	case inHere:
		if !i.neg { // otherwise the inRound or the inZero before did it
			in = t.rounds.enter(in, i.a)
		}
		return pc + 1, in, true
	case inMoved:
		if !r.moved {
			return i.b, r.outer, !t.prog.strict
		}
		return pc + 1, r.outer, true
	case inRound:
		loop := &t.prog.code[i.b]
		if i.n >= 0 && !r.moved && r.done >= loop.n {
			return loop.b, r.outer, !t.prog.strict
		}
		most := loop.m
		if most >= unbounded { // more rounds than the minimum make no difference
			most = loop.n
		}
		return i.b, t.rounds.again(in, most), true
	case inSave:
		return pc + 1, in, true
	default:
		return pc, in, false
	}
}
