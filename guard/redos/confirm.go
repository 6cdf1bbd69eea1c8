package redos

import (
	"math"
	"slices"
)

// What confirming may take.
const (
	expLimit   = 16_000     // steps of one run of an exponential attack
	polyLimit  = 40_000     // of a polynomial one
	boundLimit = 100_000    // of either where the automaton took counts for loops
	closeLimit = 200_000    // of either when a smaller one does not tell
	sureLimit  = 10_000_000 // of an exponential one, if they need not be taken
	maxPumps   = 40         // of an exponential attack
	polyPumps  = 64
	closePumps = 1024
	fewestRuns = 5 // that an exponential curve is read from
)

// growthTest runs attacks and measures how their steps grow.
type growthTest struct {
	m        *machine
	tally    *tally // nil where only the machine will do
	left     *budget
	anchored bool
	exact    bool // the automaton has no path that the engine has not
	counted  int  // the largest counted repeat that the automaton took for a loop
	choice   bool // which of its rounds are empty is a choice among many
	untold   bool // an attack took so long at once that its growth was not seen
}

// absurd says whether the text of n pumps is so short that no expression without
// an attack takes so many steps on it: each state, at each place, as often as
// there are places would be far less.
func (t *growthTest) absurd(w attack, n, limit int) bool {
	size := w.size(n) + 1
	return t.exact && size*size*len(t.m.prog.code) < limit/4
}

// runner runs an attack with n pumps. It is over when it has taken limit steps,
// or if most of them need not be taken to be counted, that much work.
type runner func(w attack, n, limit int) (steps number, over bool)

// attempt is the steps of one attempt where the match begins.
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

// seek is the steps of a whole search.
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

// doubles says whether steps multiply with every pump, until there are so many
// that it makes no difference whether they go on.
func (t *growthTest) doubles(w attack, run runner) bool {
	limit := expLimit
	if t.counted > 0 && !t.choice { // what is bounded in the end must not be mistaken
		limit = boundLimit
	}
	if steps, over := run(w, 0, closeLimit); !over { // what it takes to get there is no sign of anything
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
		case t.left.left <= 0: // it is the budget that ended the run
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

// steep says whether steps at least double over two pumps. Two, so that what
// happens at every second pump shows too.
func steep(s []number) bool {
	n := len(s)
	if n < fewestRuns {
		return false
	}
	late, early := s[n-1]-s[n-3], s[n-3]-s[n-5]
	return early > 0 && late >= 2*early
}

// power is the degree by which steps grow when pumps double; 1 if linear or not
// told. Three measurements in a row must agree, so that texts of which every
// second or third one matches are not mistaken.
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
		if low := least(measured); n == polyPumps && low > 1.1 && low < squareAt { // on the way up, it may be
			c.limit, last = closeLimit, max(last, closePumps)
		}
	}
	if low := least(measured); low < squareAt || len(measured) < 3 && t.left.left <= 0 {
		return 1
	}
	return measured[len(measured)-1]
}

// curve is the steps of an attack by its pumps.
type curve struct {
	*growthTest
	attack attack
	run    runner
	limit  int
	known  map[int]number
}

// at is the steps with n pumps; false if those are over the limit.
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

// slope is the degree up to n pumps, if n/4 and n/2 are numbers.
func (c *curve) slope(n int) (float64, bool) {
	if n%4 != 0 {
		return 0, false
	}
	quarter, a := c.at(n / 4)
	half, b := c.at(n / 2)
	now, d := c.at(n)
	return slope(quarter, half, now), a && b && d
}

// flat says that up to n pumps steps are as good as linear.
func (c *curve) flat(n int) bool {
	power, ok := c.slope(n)
	return ok && power <= 1.1
}

// slope is the degree between two doublings.
func slope(quarter, half, now number) float64 {
	if now <= half || half <= quarter {
		return 1
	}
	return math.Log2((now - half) / (half - quarter))
}

// least is the lowest of the last three measurements; 1 if there is none.
func least(measured []float64) float64 {
	if len(measured) == 0 {
		return 1
	}
	return slices.Min(measured[max(0, len(measured)-3):])
}

// more goes 2, 3, 4, 6, 8, 12, … so that every second number is twice another,
// and steep curves get points too.
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
