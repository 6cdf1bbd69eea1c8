package redos

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Analyze classifies an expression. It is deterministic and ends within its budget,
// whatever the pattern.
func Analyze(pattern string, o Options) Result {
	if o.Budget <= 0 {
		o.Budget = DefaultBudget
	}
	o.Anchored = o.Anchored || o.Dialect == JS && strings.Contains(o.Flags, "y")
	if len(pattern) > MaxPattern {
		return Result{
			Class: Unknown, Offset: MaxPattern,
			Reason: fmt.Sprintf("the expression is longer than %d bytes", MaxPattern),
			Fix:    fmt.Sprintf("shorten the expression to %d bytes, or look up its words in a set", MaxPattern),
		}
	}
	t, bad := parse(pattern, o)
	if bad != nil {
		return Result{Class: Unknown, Reason: "cannot be parsed: " + bad.what, Fix: "correct the expression: " + bad.what, Offset: bad.at}
	}
	left := &budget{o.Budget}
	a := &analysis{src: pattern, options: o, tree: t, left: left}
	r := Result{Class: Safe, Offset: -1, States: t.root.size(), Repeat: t.root.product(1)}
	if o.Dialect.Backtracks() || o.Dialect == Postgres && t.inexact {
		a.backtracking(&r)
	} else {
		a.automata(&r)
	}
	if r.Class == Unknown {
		r.Fix = repair(t)
	}
	r.Steps = o.Budget - max(left.left, 0)
	return r
}

// product returns the largest product of nested counts, up to MaxSize.
func (n *node) product(outer int) int {
	if n.op == opRepeat {
		count := max(n.min, 1)
		if n.max < unbounded {
			count = max(n.max, 1)
		}
		outer = min(outer*min(count, MaxSize), MaxSize)
	}
	most := outer
	for _, s := range n.subs {
		most = max(most, s.product(outer))
	}
	return most
}

type analysis struct {
	src     string
	options Options
	tree    *tree
	left    *budget
	cut     bool // a search for candidates used up its share: there may be more
	spent   bool // some search used up its share
	alpha   *alphabet
	graph   *graph
	auto    *automaton
	reach   []bitset
	forge   *forge
	growth  *growthTest
}

// prepare builds the data for the tests. It returns false if they exceed the limits.
func (a *analysis) prepare(c counts) bool {
	if a.alpha = newAlphabet(a.tree, a.left); a.alpha == nil {
		return false
	}
	g, entry := newGraph(a.tree, newFlavors(a.alpha, a.tree.root), c)
	a.graph = g
	if g.full {
		return false
	}
	strict := a.options.Dialect == JS
	a.auto = newAutomaton(g, entry, a.alpha, strict, !a.options.Anchored, a.left)
	if a.auto == nil || a.left.left <= 0 {
		return false
	}
	if n := len(a.auto.comps); !a.left.spend(n * n / 512) {
		return false
	}
	a.reach = a.auto.reachable()
	a.forge = newForge(a.auto, a.left)
	a.forge.wants, a.forge.rough = g.regions > 0, g.counted > 0
	if a.forge.wants {
		a.forge.ask(a.tree.root, false)
	}
	if a.tree.inexact {
		a.forge.shown, a.forge.denied = a.looked()
	}
	a.growth = a.newGrowthTest()
	a.growth.counted, a.growth.choice = g.counted, g.choice
	a.growth.exact = !a.tree.inexact && g.counted == 0
	return true
}

func (a *analysis) newGrowthTest() *growthTest {
	prog := compile(a.tree, a.options.Dialect)
	return &growthTest{
		m: newMachine(prog, a.alpha), tally: newTally(prog, a.alpha), left: a.left, anchored: a.options.Anchored,
	}
}

// Maximum steps of each search for an attack. An attack that is not found within them is
// assumed not to exist. Their sum is less than DefaultBudget.
const (
	searchShare  = 400_000 // for candidates of one kind
	directShare  = 300_000
	looseShare   = 300_000
	carefulShare = 100_000
)

// manyStates is the number of states from which the loops are first analyzed one by one.
const manyStates = 1500

// within runs find with a share of the budget.
func (a *analysis) within(share int, find func() bool) bool {
	given := min(a.left.left, share)
	rest := a.left.left - given
	a.left.left = given
	found := find()
	a.spent = a.spent || !found && a.left.left <= 0
	a.cut = a.cut || !found && a.left.left <= 0 && share >= searchShare
	a.left.left += rest
	return found
}

// backtracking fills r for a backtracking engine.
func (a *analysis) backtracking(r *Result) {
	kept := min(partShare, a.left.left*2/5)
	if !a.within(a.left.left-kept, func() bool { return a.prepare(some) }) {
		if !a.within(partShare, func() bool { return a.parts(r) }) {
			r.Class, r.Reason = Unknown, "the automaton exceeds the limits"
		}
		return
	}
	apart := len(a.auto.states) > manyStates
	if apart && a.within(partShare, func() bool { return a.parts(r) }) {
		return
	}
	var exps []candidate
	a.within(searchShare, func() bool { exps = a.auto.exponentials(a.left); return false })
	if a.exponential(exps, r) {
		return
	}
	hidden := a.spent || a.auto.partial || a.growth.untold || a.graph.counted > 0 && len(exps) > 0
	if hidden && !apart && a.within(partShare, func() bool { return a.parts(r) }) {
		return
	}
	if a.tree.root.loosens() && a.within(looseShare, func() bool { return a.loosely(r) }) {
		return
	}
	loops := a.loops()
	polys := a.polynomials(loops, false)
	if a.polynomial(append(polys, exps...), r) {
		return
	}
	if !a.options.Anchored && a.polynomial(a.polynomials(loops, true), r) {
		return
	}
	switch {
	case a.left.left <= 0 || a.auto.partial || a.cut || a.growth.untold:
		r.Class, r.Reason = Unknown, "the analysis exceeded its budget"
	case a.tree.beyond != "":
		r.Class, r.Reason = Unknown, a.tree.beyond+" cannot be analyzed"
	case a.tree.behind && a.tree.root.looksBack():
		r.Class, r.Reason = Unknown, "a lookbehind over a long text cannot be analyzed"
	case len(exps)+len(polys) > 0:
		r.Reason = "no text was found on which the loops fail slowly"
	}
}

func (a *analysis) polynomials(loops []loop, seek bool) (found []candidate) {
	a.within(searchShare, func() bool {
		found = a.auto.polynomials(loops, seek, a.reach, a.left)
		return false
	})
	return found
}

// loosely analyzes the pattern with counted repeats as loops.
func (a *analysis) loosely(r *Result) bool {
	b := &analysis{src: a.src, options: a.options, tree: a.tree, left: a.left}
	return b.prepare(loose) && b.exponential(b.auto.exponentials(b.left), r)
}

// exponential confirms a candidate, shortest pumps first.
func (a *analysis) exponential(all []candidate, r *Result) bool {
	try := func(c candidate, attacks []attack) bool {
		for _, w := range attacks {
			if a.growth.doubles(w, a.growth.attempt) {
				r.Fix, r.Offset = a.advice().exponential(c)
				a.exponentially(w, r)
				return true
			}
		}
		return false
	}
	directly := func() bool {
		return slices.ContainsFunc(all, func(c candidate) bool { return try(c, a.forge.attacks(c)) })
	}
	carefully := func() bool {
		return slices.ContainsFunc(all[:min(len(all), carefulAttempts)], func(c candidate) bool {
			return try(c, a.forge.careful(c, a.reach)) || try(c, a.forge.detours(c))
		})
	}
	return a.within(directShare, directly) || a.within(carefulShare, carefully)
}

func (a *analysis) exponentially(w attack, r *Result) {
	r.Class, r.Confirmed = Exponential, true
	r.Witness = a.spell(w)
	r.Reason = "a loop can read " + quote(r.Witness.Pump) + " in more than one way in each round"
}

// maxPolynomials is the number of candidates that are run, deepest first.
const maxPolynomials = 12

// pastSearch is the degree of a search above which a single attempt may not be linear.
const pastSearch = 2.5

// manyPowers is the degree above which the steps may grow exponentially.
const manyPowers = 8

// polynomial selects the candidate with the highest power.
func (a *analysis) polynomial(all []candidate, r *Result) bool {
	best := 0.0
	try := func(c candidate, attacks []attack) {
		run := runner(a.growth.attempt)
		if c.seek {
			run = a.growth.seek
		}
		for _, w := range attacks {
			power := a.growth.power(w, run)
			if power < squareAt || power <= best {
				continue
			}
			best = a.grown(c, w, power, r)
			return
		}
	}
	directly := func() bool {
		for i, c := range all {
			if i == maxPolynomials || best > 0 && (i >= 3 || math.Round(best) >= float64(c.depth+1)) {
				break
			}
			try(c, a.forge.attacks(c))
		}
		return best > 0
	}
	carefully := func() bool {
		for i, c := range all {
			if i == carefulAttempts || best > 0 {
				break
			}
			try(c, a.forge.careful(c, a.reach))
			if best == 0 && !c.seek {
				try(c, a.forge.detours(c))
			}
		}
		return best > 0
	}
	return a.within(directShare, directly) || a.within(carefulShare, carefully)
}

// grown reports a candidate whose steps grow with a power: higher than consecutive loops or
// a single attempt explain. It returns the power of the search, or a power above all others
// if there is no search.
func (a *analysis) grown(c candidate, w attack, power float64, r *Result) (best float64) {
	best = power
	run := runner(a.growth.attempt)
	if c.seek {
		run = a.growth.seek
		if power > pastSearch {
			if alone := a.growth.power(w, a.growth.attempt); alone >= squareAt {
				c.seek, power, run = false, alone, a.growth.attempt
			}
		}
	}
	if power > float64(max(manyPowers, a.auto.cycles()+2)) && a.growth.doubles(w, run) {
		a.exponentially(w, r)
		r.Fix, r.Offset = a.advice().polynomial(c)
		return math.Inf(1)
	}
	a.report(c, w, power, a.advice(), r)
	return best
}

func (a *analysis) report(c candidate, w attack, power float64, how *advice, r *Result) {
	r.Class, r.Confirmed, r.SearchOnly = Polynomial, true, c.seek
	r.Degree = max(2, int(math.Round(power)))
	r.Witness = a.spell(w)
	r.Fix, r.Offset = how.polynomial(c)
	if c.seek {
		r.Reason = "a search restarts at every " + quote(r.Witness.Pump) + " and reads the rest each time"
	} else {
		r.Reason = "consecutive loops can divide a run of " + quote(r.Witness.Pump) + " in many ways"
	}
}

func (a *analysis) advice() *advice {
	return &advice{src: a.src, dialect: a.options.Dialect, graph: a.graph, auto: a.auto}
}

func (a *analysis) spell(w attack) Witness {
	word := func(atoms []int) string {
		var b strings.Builder
		for _, atom := range atoms {
			b.WriteRune(a.alpha.runes[atom])
		}
		return b.String()
	}
	return Witness{word(w.prefix), word(w.pump), word(w.suffix)}
}

func quote(s string) string {
	if len(s) > 20 {
		s = s[:20] + "…"
	}
	return fmt.Sprintf("%q", s)
}
