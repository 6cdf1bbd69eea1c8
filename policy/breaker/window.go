package breaker

import (
	"fmt"
	"time"
)

// buckets is the number of parts of the window. So the effective window is up to a tenth shorter than Config.Window.
const buckets = 10

// bucket counts the results of one tenth of the window.
type bucket struct {
	at                  int64 // which tenth since 1970
	calls, failed, slow uint32
}

// window counts results. If the clock steps back, it only forgets results.
type window struct {
	ring [buckets]bucket
	row  int   // failures in a row
	last int64 // when the newest of the row came
}

// tally is the sum over the window.
type tally struct{ calls, failed, slow uint32 }

func (w *window) add(now int64, width time.Duration, r Result) tally {
	cell := now / int64(width/buckets)
	b := &w.ring[(cell%buckets+buckets)%buckets] // a clock may say 1969
	if b.at != cell {
		*b = bucket{at: cell}
	}
	b.calls++
	if now-w.last > int64(width) || now < w.last {
		w.row = 0
	}
	if r.Failed {
		b.failed++
		w.row++
		w.last = now
	} else {
		w.row = 0
	}
	if r.Slow {
		b.slow++
	}
	return w.sum(cell)
}

// sum adds up the window that ends with cell.
func (w *window) sum(cell int64) (sum tally) {
	for i := range w.ring {
		if age := cell - w.ring[i].at; age >= 0 && age < buckets {
			sum.calls += w.ring[i].calls
			sum.failed += w.ring[i].failed
			sum.slow += w.ring[i].slow
		}
	}
	return sum
}

// breach returns the rule that the window breaks, or "".
func (c *Config) breach(row int, t tally) string {
	if c.Consecutive > 0 && row >= c.Consecutive {
		return fmt.Sprintf("%d calls in a row failed, the limit is %d", row, c.Consecutive)
	}
	if int(t.calls) < c.MinVolume {
		return ""
	}
	n := float64(t.calls)
	if c.FailureRatio > 0 && float64(t.failed) >= c.FailureRatio*n {
		return fmt.Sprintf("%d of %d calls within %v failed (%.0f %%, the limit is %.0f %%)",
			t.failed, t.calls, c.Window, 100*float64(t.failed)/n, 100*c.FailureRatio)
	}
	if c.SlowRatio > 0 && float64(t.slow) >= c.SlowRatio*n {
		return fmt.Sprintf("%d of %d calls within %v were slow (%.0f %%, the limit is %.0f %%)",
			t.slow, t.calls, c.Window, 100*float64(t.slow)/n, 100*c.SlowRatio)
	}
	return ""
}
