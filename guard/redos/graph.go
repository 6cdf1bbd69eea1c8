package redos

import "slices"

// eps is a node of the graph of empty steps: Thompson's construction, which keeps different
// paths to the same place apart.
type eps struct {
	kind   epsKind
	out    [2]int32
	mask   mask  // epsAssert
	pos    int32 // epsRune
	region int32 // epsEnd
	exit   int32 // epsFirst
}

type epsKind uint8

const (
	epsSplit  epsKind = iota // continues at both outs
	epsRune                  // reads position pos
	epsAssert                // continues at out[0] if mask allows
	epsRound                 // end of a round of the loop at out[0]; out[1] leaves the loop
	epsFirst                 // end of a mandatory round
	epsEnd                   // end of the pattern or of a lookaround
)

// position is one place of the pattern that reads a rune.
type position struct {
	class  int
	off    int
	next   int32 // index of the next eps
	region int32 // 0: the pattern; otherwise the lookaround that contains it
	loop   int32 // innermost loop around it; 0: none
}

// Limits of the automaton. Above them, counted repeats become loops, which adds paths and
// loses none.
const (
	maxPositions = 10_000
	maxSmall     = 100   // positions of a pattern whose repeats are all written out
	maxWays      = 5_000 // paths through such a pattern: more are worth an attack
	maxWritten   = 24    // positions of a repeat that is always written out
	maxCopies    = 320   // positions of the written-out rounds of one repeat
	maxOptional  = 2     // optional rounds that are written out
	maxFew       = 3     // rounds that are written out even in a loose graph
	manyRounds   = 16    // rounds that may be empty: too many choices
)

type graph struct {
	eps       []eps
	positions []position
	flavors   *flavors
	groups    []*node
	region    int32
	regions   int32
	loop      int32
	outer     []int32 // by loop: the enclosing loop
	repeats   []*node // by loop: its repeat
	inside    int     // number of open copies of groups for backreferences
	counted   int     // the largest count that became a loop
	choice    bool    // one of these loops has many rounds that may be empty
	counts    counts
	small     bool
	many      bool // there are many paths through it, although it is small
	full      bool
}

// counts says how counted repeats are handled.
type counts uint8

const (
	some  counts = iota // written out if short, otherwise loops
	all                 // written out
	loose               // loops if there are more than a few rounds
)

func newGraph(t *tree, f *flavors, c counts) (g *graph, entry int32) {
	g = &graph{flavors: f, groups: t.groups, outer: []int32{0}, repeats: []*node{nil}, counts: c, small: t.root.size() <= maxSmall}
	if g.small && t.root.ways() > maxWays {
		g.small, g.many = false, true
	}
	end := g.add(eps{kind: epsEnd})
	return g, g.build(t.root, end)
}

func (g *graph) add(e eps) int32 {
	g.eps = append(g.eps, e)
	if len(g.eps) > 8*maxPositions {
		g.full = true
	}
	return int32(len(g.eps) - 1)
}

// build creates the graph of n, which continues at next, and returns its entry.
func (g *graph) build(n *node, next int32) int32 {
	if g.full {
		return next
	}
	switch n.op {
	case opClass:
		return g.rune(n, next)
	case opConcat:
		for _, v := range slices.Backward(n.subs) {
			next = g.build(v, next)
		}
		return next
	case opAlt, opIf:
		return g.alt(n.subs, next)
	case opRepeat:
		return g.repeat(n, next)
	case opCapture, opAtomic:
		return g.build(n.subs[0], next)
	case opLook:
		return g.look(n, next)
	case opBackref:
		if n.n <= 0 || n.n >= len(g.groups) || g.inside > 2 || g.groups[n.n].contains(n) {
			return next
		}
		g.inside++
		defer func() { g.inside-- }()
		return g.build(g.groups[n.n].subs[0], next)
	case opAssert:
		return g.add(eps{kind: epsAssert, mask: g.flavors.assertion(n.assert), out: [2]int32{next, -1}})
	default:
		return next
	}
}

func (n *node) contains(m *node) bool {
	return n.any(func(s *node) bool { return s == m })
}

func (g *graph) rune(n *node, next int32) int32 {
	if len(g.positions) >= maxPositions {
		g.full = true
		return next
	}
	g.positions = append(g.positions, position{class: n.class, off: n.off, next: next, region: g.region, loop: g.loop})
	return g.add(eps{kind: epsRune, pos: int32(len(g.positions) - 1)})
}

func (g *graph) alt(subs []*node, next int32) int32 {
	entry := g.build(subs[len(subs)-1], next)
	for i := len(subs) - 2; i >= 0; i-- {
		first := g.build(subs[i], next)
		entry = g.add(eps{kind: epsSplit, out: [2]int32{first, entry}})
	}
	return entry
}

// look creates a side branch for a lookaround. It has its own end, because a match inside
// ends there.
func (g *graph) look(n *node, next int32) int32 {
	if m, ok := g.flavors.look(n); ok {
		return g.add(eps{kind: epsAssert, mask: m, out: [2]int32{next, -1}})
	}
	if n.behind || n.simple() {
		return next
	}
	was := g.region
	g.regions++
	g.region = g.regions
	end := g.add(eps{kind: epsEnd, region: g.region})
	body := g.build(n.subs[0], end)
	g.region = was
	return g.add(eps{kind: epsSplit, out: [2]int32{body, next}})
}

// repeat writes out a few rounds, and creates a loop for the rest.
func (g *graph) repeat(n *node, next int32) int32 {
	body := n.subs[0]
	low, high := n.min, n.max
	choice := false // rounds may be empty, with a choice which ones
	if high == 0 {
		return next
	}
	switch {
	case g.counts == all && n.size() > maxPositions:
		g.full = true
		return next
	case g.counts == all:
	case g.counts == some && (g.small || n.size() <= maxWritten && !g.many):
	case low > 1 && low > maxCopies/max(body.size(), 1), low > maxFew && g.counts == loose:
		g.counted = max(g.counted, min(max(low, high%unbounded), maxPositions))
		low, high = 1, unbounded
		choice = body.nullable()
		g.choice = g.choice || choice && n.min >= manyRounds
	case high < unbounded && (high-low > maxOptional || high > maxFew && g.counts == loose):
		g.counted = max(g.counted, high)
		high = unbounded
	}
	switch {
	case high >= unbounded:
		was := g.loop
		g.outer, g.repeats = append(g.outer, was), append(g.repeats, n)
		g.loop = int32(len(g.outer) - 1)
		if low == 0 {
			next = g.star(body, next)
		} else {
			next = g.plus(body, next, choice)
			low--
		}
		g.loop = was
	default:
		exit := next
		for range high - low { // leaving out a round ends the loop
			next = g.optional(body, next, exit)
		}
	}
	for range low {
		next = g.build(body, next)
	}
	return next
}

// ways returns the number of paths through n from one place, under the limits of counts.
// Above maxWays the result is inexact.
func (n *node) ways() int {
	ways := 1
	for _, s := range n.subs {
		if n.op == opAlt {
			ways = min(ways+s.ways(), maxWays+1)
		} else {
			ways = min(ways*s.ways(), maxWays+1)
		}
	}
	if n.op != opRepeat || n.max >= unbounded {
		return ways
	}
	sum, power := 0, 1
	for i := 0; i <= n.max && sum <= maxWays; i++ {
		if i >= n.min {
			sum += power
		}
		power = min(power*ways, maxWays+1)
	}
	return max(1, min(sum, maxWays+1))
}

// loosens reports whether a loose graph may reveal an attack that another graph hides:
// there are many mandatory rounds of variable length, and no match can end before the last
// one.
func (n *node) loosens() bool {
	return n.any(func(s *node) bool {
		return s.op == opRepeat && (s.min > maxFew || s.max > maxFew && s.max < unbounded) && s.subs[0].varies()
	})
}

func (n *node) varies() bool {
	return n.any(func(s *node) bool { return s.op == opAlt || s.op == opRepeat && s.max > s.min })
}

// star creates a loop of optional rounds.
func (g *graph) star(body *node, next int32) int32 {
	head := g.add(eps{kind: epsSplit})
	end := head
	if body.nullable() {
		end = g.add(eps{kind: epsRound, out: [2]int32{head, next}})
	}
	entry := g.build(body, end)
	g.eps[head].out = [2]int32{entry, next}
	return head
}

// plus creates a loop with one mandatory round. With twice, every round has two paths.
func (g *graph) plus(body *node, next int32, twice bool) int32 {
	again := g.add(eps{kind: epsSplit})
	if !body.nullable() {
		entry := g.build(body, again)
		g.eps[again].out = [2]int32{entry, next}
		return entry
	}
	// The first round may be empty and the loop still continue; a later one may not. A
	// separate node at the start of the body marks the start of a round.
	end := g.add(eps{kind: epsRound, out: [2]int32{again, next}})
	entry := g.build(body, end)
	if twice {
		entry = g.add(eps{kind: epsSplit, out: [2]int32{entry, entry}})
	}
	g.eps[again].out = [2]int32{entry, next}
	return entry
}

// optional creates an optional round before others that end at exit.
func (g *graph) optional(body *node, next, exit int32) int32 {
	head := g.add(eps{kind: epsSplit})
	end := next
	if body.nullable() {
		end = g.add(eps{kind: epsFirst, out: [2]int32{head, next}, exit: exit})
	}
	entry := g.build(body, end)
	g.eps[head].out = [2]int32{entry, exit}
	return head
}

// size returns the number of positions for n, up to MaxSize.
func (n *node) size() int {
	if n.op == opClass {
		return 1
	}
	total := 0
	for _, s := range n.subs {
		total += s.size()
	}
	if n.op == opRepeat {
		rounds := n.max
		if rounds >= unbounded {
			rounds = max(n.min, 1)
		}
		if rounds > 0 && total > MaxSize/rounds {
			return MaxSize
		}
		total *= rounds
	}
	return min(total, MaxSize)
}
