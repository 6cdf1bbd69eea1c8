package redos

import "math"

// What confirming may take.
const (
	expLimit    = 16_000  // steps of one run of an exponential attack
	polyLimit   = 60_000  // of a polynomial one
	closeLimit  = 600_000 // of either when a smaller one does not tell
	maxPumps    = 40      // of an exponential attack
	polyPumps   = 64
	closePumps  = 1024
	fewestSteps = 5 // runs that an exponential curve is read from
)

// trial runs attacks and looks at how their steps grow.
type trial struct {
	m        *machine
	left     *budget
	anchored bool
	counted  int // the largest counted repeat that the automaton took for a loop
}

// attempt is the steps of one attempt where the match begins.
func (t *trial) attempt(w attack, n, limit int) (steps int, over bool) {
	e := t.m.attempt(w.text(n), w.start, min(limit, t.left.left))
	t.left.spend(e.total)
	return e.total, e.over
}

// seek is the steps of a whole search.
func (t *trial) seek(w attack, n, limit int) (steps int, over bool) {
	e := t.m.search(w.text(n), t.anchored, min(limit, t.left.left))
	t.left.spend(e.total)
	return e.total, e.over
}

// doubles says whether steps multiply with every pump, until the limit is passed.
func (t *trial) doubles(w attack) bool {
	limit := expLimit
	if t.counted > 0 { // what is bounded in the end must not be mistaken
		limit = closeLimit / 2
	}
	var s []int
	for n := 1; n <= maxPumps && t.left.left > 0; n++ {
		steps, over := t.attempt(w, n, limit)
		if over {
			if n > fewestSteps {
				return steep(s)
			}
			if limit < closeLimit {
				limit = closeLimit
				n--
				continue
			}
			return n > 2 && steps >= closeLimit
		}
		if s = append(s, steps); n >= 12 && !steep(s) {
			return false
		}
	}
	return false
}

// steep says whether the last growths each are half as much again as those
// before them.
func steep(s []int) bool {
	n := len(s)
	if n < fewestSteps {
		return false
	}
	// Over two pumps, so that what happens at every second one shows too.
	late, early := s[n-1]-s[n-3], s[n-3]-s[n-5]
	return early > 0 && float64(late) >= 2*float64(early)
}

// power is the degree by which steps grow when pumps double; 1 if linear or not
// told.
func (t *trial) power(w attack, run func(attack, int, int) (int, bool)) (degree float64) {
	limit, last := polyLimit, polyPumps
	if t.counted > 0 {
		limit, last = closeLimit, min(closePumps, max(polyPumps, 8*t.counted))
	}
	var s []int
	degree = 1
	for n := 4; n <= last; n *= 2 {
		steps, over := run(w, n, limit)
		if over {
			break
		}
		s = append(s, steps)
		if k := len(s); k >= 3 && s[k-1] > s[k-2] && s[k-2] > s[k-3] {
			degree = math.Log2(float64(s[k-1]-s[k-2]) / float64(s[k-2]-s[k-3]))
		} else if k >= 3 {
			degree = 1
		}
		if n == polyPumps && degree > 1.1 && degree < squareAt { // on the way up, it may be
			limit, last = closeLimit, max(last, closePumps)
		}
	}
	return degree
}

// squareAt is the measured power from which growth counts as quadratic.
const squareAt = 1.6
