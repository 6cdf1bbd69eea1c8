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
	chance      = 1e-9 // of a streak among the others, for it to say something
	sigmas      = 5    // standard deviations between a ratio and the median
	leastOthers = 5    // results of another worker for it to be compared with
)

// Judge reports whether the worker is an outlier among the others, and why. e
// must have its defaults. It reorders others and costs a sort of them.
func (e *Eject) Judge(now time.Time, r *Record, others []Sample) (why string, outlier bool) {
	mine := r.Sample(now, e.Window)
	all := mine.seen
	for _, o := range others {
		all |= o.seen
	}
	callers := min(e.Callers, bits.OnesCount64(all))
	others = slices.DeleteFunc(others, func(o Sample) bool { return o.N < leastOthers })
	if len(others) == 0 {
		return "", false
	}
	slices.SortFunc(others, func(a, b Sample) int { return cmp.Compare(a.cautious(), b.cautious()) })
	median := others[len(others)/2]
	p := median.cautious()

	if e.Consecutive != Off && r.streak >= max(e.Consecutive, rare(p)) && bits.OnesCount64(r.struck) >= callers {
		return fmt.Sprintf("%d failures in a row, while %.0f %% fail on the median worker", r.streak, 100*median.ratio()), true
	}
	failing := bits.OnesCount64(mine.failing)
	if e.Above == Off || mine.N < e.MinVolume || failing < callers || 2*failing < bits.OnesCount64(mine.seen) {
		return "", false
	}
	if mine.ratio()-p < max(e.Above, sigmas*math.Sqrt(p*(1-p)/float64(mine.N))) {
		return "", false
	}
	return fmt.Sprintf("%.0f %% of %d failed, while %.0f %% fail on the median worker", 100*mine.ratio(), mine.N, 100*median.ratio()), true
}

// rare returns how long a streak of failures of probability p must be to be as
// unlikely as chance.
func rare(p float64) int { return int(math.Ceil(math.Log(chance) / math.Log(p))) }
