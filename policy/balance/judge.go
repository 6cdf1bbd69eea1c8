package balance

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"
)

const (
	atRandom    = 1e-9 // the largest probability of a streak that still ejects
	sigmas      = 5    // standard deviations between a ratio and the median
	leastOthers = 5    // least results of another worker for a comparison
)

// Judge reports whether the worker is an outlier among the others, and why. e must have its defaults. Judge reorders
// others; its cost is a sort of them.
func (e *Eject) Judge(now time.Time, r *Record, others []Sample) (why string, outlier bool) {
	mine := r.Sample(now, e.Window)
	callers := mine.seen
	for _, o := range others {
		callers |= o.seen
	}
	others = slices.DeleteFunc(others, func(o Sample) bool { return o.N < leastOthers })
	if len(others) == 0 {
		return "", false
	}
	slices.SortFunc(others, func(a, b Sample) int { return cmp.Compare(a.chance(), b.chance()) })
	median := others[len(others)/2]
	p := median.chance()
	// One caller's failures are excused only if other callers are there to confirm that the worker is fine.
	excuse := max(0, min(e.Excuse, bits.OnesCount32(callers)-1))

	if e.Consecutive != Off && r.streak >= e.Consecutive && r.streak-r.excused(excuse) >= rare(p) {
		return fmt.Sprintf("%d failures in a row, while %.0f %% fail on the median worker", r.streak, 100*median.ratio()), true
	}
	n, failed := r.rest(excuse)
	if e.Above == Off || n < e.MinVolume {
		return "", false
	}
	ratio := float64(failed) / float64(n)
	if ratio-p < max(e.Above, sigmas*math.Sqrt(p*(1-p)/float64(n))) {
		return "", false
	}
	return fmt.Sprintf("%.0f %% of %d failed, while %.0f %% fail on the median worker", 100*ratio, n, 100*median.ratio()), true
}

// rare returns how long a streak of failures of probability p must be to be unlikely at random.
func rare(p float64) int {
	if p >= 1 {
		return math.MaxInt
	}
	return int(math.Ceil(math.Log(atRandom) / math.Log(p)))
}

// excused returns how many failures of the streak came from the callers with most of them.
func (r *Record) excused(callers int) int {
	struck, sum := r.struck, uint32(0)
	for range callers {
		most := 0
		for g, n := range struck {
			if n > struck[most] {
				most = g
			}
		}
		sum += struck[most]
		struck[most] = 0
	}
	return int(sum)
}

// rest returns the window's results without those of the callers that failed most.
func (r *Record) rest(excuse int) (n, failed int) {
	n, failed = r.now.n+r.before.n, r.now.failed+r.before.failed
	var out uint32 // excused groups
	for range excuse {
		most, least := -1, uint32(0)
		for g := range groups {
			if f := r.now.by[g].failed + r.before.by[g].failed; f > least && out&(1<<g) == 0 {
				most, least = g, f
			}
		}
		if most < 0 {
			break
		}
		out |= 1 << most
		n -= int(r.now.by[most].n + r.before.by[most].n)
		failed -= int(least)
	}
	return n, failed
}
