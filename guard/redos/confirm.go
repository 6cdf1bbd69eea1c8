package redos

import (
	"math"
	"slices"
)

// Limits of confirming.
const (
	expLimit   = 16_000     // steps of one run of an exponential attack
	polyLimit  = 40_000     // of a polynomial attack
	boundLimit = 100_000    // of either if the automaton has counted repeats as loops
	closeLimit = 200_000    // of either if a smaller limit gives no result
	sureLimit  = 10_000_000 // of an exponential attack, if the steps need not be executed
	maxPumps   = 40         // of an exponential attack
	polyPumps  = 64
	closePumps = 1024
	fewestRuns = 5 // minimum number of points of an exponential curve
)

// growthTest runs attacks and measures the growth of their steps.
type growthTest struct {
	m        *machine
	tally    *tally // nil if only the machine can run the program
	left     *budget
	anchored bool
	exact    bool // the automaton has exactly the engine's paths
	counted  int  // the largest counted repeat that became a loop
	choice   bool // there is a choice which of its rounds are empty
	untold   bool // an attack was too slow from the start to measure its growth
}

// absurd reports whether a text of n pumps is so short that limit steps are possible only
// under attack: a linear match would visit each state at each position far less often.
func (t *growthTest) absurd(w attack, n, limit int) bool {
	size := w.size(n) + 1
	return t.exact && size*size*len(t.m.prog.code) < limit/4
}

// runner runs an attack with n pumps. over means that it exceeded limit steps or, if steps
// can be counted without executing them, limit units of work.
type runner func(w attack, n, limit int) (steps number, over bool)

// attempt counts the steps of one attempt at the start of the match.
func (t *growthTest) attempt(w attack, n, limit int) (steps number, over bool) {
	var e effort
	if limit = min(limit, t.left.left); t.tally != nil {
		e = t.tally.attempt(w, n, limit)
	} else {
		e = t.m.attempt(w.text(n), w.start, limit)
	}
	t.left.spend(e.work)
	return e.total, e.over
}

// seek counts the steps of a whole search.
func (t *growthTest) seek(w attack, n, limit int) (steps number, over bool) {
	var e effort
	if limit = min(limit, t.left.left); t.tally != nil {
		e = t.tally.search(w, n, t.anchored, limit)
	} else {
		e = t.m.search(w.text(n), t.anchored, limit)
	}
	t.left.spend(e.work)
	return e.total, e.over
}

// doubles reports whether the steps multiply with every pump, up to a number beyond which
// continuing makes no difference.
func (t *growthTest) doubles(w attack, run runner) bool {
	limit := expLimit
	if t.counted > 0 && !t.choice { // bounded growth must not be mistaken for unbounded growth
		limit = boundLimit
	}
	if steps, over := run(w, 0, closeLimit); !over { // the steps to get there prove nothing
		limit = max(limit, int(min(8*steps, closeLimit)))
	}
	var s []number
	for n := 0; n <= maxPumps && t.left.left > 0; n++ {
		steps, over := run(w, n, limit)
		switch {
		case !over:
			s = append(s, steps)
			if n >= 12 && !steep(s) {
				return false
			}
			if n > fewestRuns && steps >= sureLimit {
				return steep(s)
			}
		case t.left.left <= 0: // the budget ended the run
			t.untold = true
			return false
		case t.absurd(w, n, limit):
			return true
		case t.choice && limit < boundLimit:
			limit = boundLimit
			n--
		case n > fewestRuns && (t.tally == nil || limit >= closeLimit):
			return steep(s)
		case limit >= closeLimit:
			t.untold = t.untold || n <= 2
			return n > 2
		default:
			limit *= 4
			n--
		}
	}
	return false
}

// steep reports whether the steps at least double over two pumps. Two, because the growth
// may show only at every second pump.
func steep(s []number) bool {
	n := len(s)
	if n < fewestRuns {
		return false
	}
	late, early := s[n-1]-s[n-3], s[n-3]-s[n-5]
	return early > 0 && late >= 2*early
}

// power returns the degree by which the steps grow when the number of pumps doubles, or 1
// if the growth is linear or unclear. Three consecutive measurements must agree, in case
// the pattern matches every second or third text.
func (t *growthTest) power(w attack, run runner) (degree float64) {
	c := &curve{growthTest: t, attack: w, run: run, limit: polyLimit, known: map[int]number{}}
	last := polyPumps
	if t.counted > 0 {
		c.limit, last = boundLimit, min(closePumps, max(polyPumps, 8*t.counted))
	}
	if c.flat(polyPumps) && c.flat(polyPumps/4*3) {
		return 1
	}
	var measured []float64
	for n := 2; n <= last; n = more(n) {
		_, ok := c.at(n)
		if !ok && len(measured) == 0 && c.limit < closeLimit {
			c.limit = closeLimit
			_, ok = c.at(n)
		}
		if !ok {
			if len(measured) == 0 && t.left.left > 0 && t.absurd(w, n, c.limit) {
				return math.Log2(float64(c.limit)) / math.Log2(float64(w.size(n)+1))
			}
			t.untold = t.untold || len(measured) == 0
			break
		}
		if power, ok := c.slope(n); ok {
			measured = append(measured, power)
		}
		if low := least(measured); n == polyPumps && low > 1.1 && low < squareAt { // still increasing: the degree may become higher
			c.limit, last = closeLimit, max(last, closePumps)
		}
	}
	if low := least(measured); low < squareAt || len(measured) < 3 && t.left.left <= 0 {
		return 1
	}
	return measured[len(measured)-1]
}

// curve holds the steps of an attack by number of pumps.
type curve struct {
	*growthTest
	attack attack
	run    runner
	limit  int
	known  map[int]number
}

// at returns the steps with n pumps, or false if they exceed the limit.
func (c *curve) at(n int) (number, bool) {
	if steps, ok := c.known[n]; ok {
		return steps, true
	}
	steps, over := c.run(c.attack, n, c.limit)
	if over = over || c.counted > 0 && steps >= number(c.limit); !over {
		c.known[n] = steps
	}
	return steps, !over
}

// slope returns the degree up to n pumps, if n/4 and n/2 are integers.
func (c *curve) slope(n int) (float64, bool) {
	if n%4 != 0 {
		return 0, false
	}
	quarter, a := c.at(n / 4)
	half, b := c.at(n / 2)
	now, d := c.at(n)
	return slope(quarter, half, now), a && b && d
}

// flat reports whether the steps are practically linear up to n pumps.
func (c *curve) flat(n int) bool {
	power, ok := c.slope(n)
	return ok && power <= 1.1
}

// slope returns the degree between two doublings.
func slope(quarter, half, now number) float64 {
	if now <= half || half <= quarter {
		return 1
	}
	return math.Log2((now - half) / (half - quarter))
}

// least returns the lowest of the last three measurements, or 1 if there are fewer.
func least(measured []float64) float64 {
	if len(measured) == 0 {
		return 1
	}
	return slices.Min(measured[max(0, len(measured)-3):])
}

// more returns the next of 2, 3, 4, 6, 8, 12, …: every second number is twice an earlier
// one, and steep curves get points too.
func more(n int) int {
	switch {
	case n < 4:
		return n + 1
	case n&(n-1) == 0:
		return n + n/2
	default:
		return n + n/3
	}
}

// squareAt is the measured power from which growth counts as quadratic.
const squareAt = 1.6
