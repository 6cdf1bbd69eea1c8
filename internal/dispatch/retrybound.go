package dispatch

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"time"
)

// Defaults of [Config].
const (
	defaultTimeout = 30 * time.Second
	defaultWait    = 15 * time.Second
)

// RetryBound is the worst case for one piece of work, and for the load on its workers, if every attempt fails.
type RetryBound struct {
	Attempts int           // deliveries, if each ends its worker; the work is convicted long before
	Living   int           // deliveries while workers live: at most the number of workers
	Timeout  time.Duration // of each
	Waits    time.Duration // for a worker, the lane, a duplicate, the budget and between attempts together
	Total    time.Duration // the latest time at which the caller gets its answer

	// Ratio and Floor are the additional deliveries in the long run: a share of the traffic, and a number per second.
	Ratio, Floor float64
}

// RetryBoundOf computes the worst case of a retry policy for a fleet of workers whose answers begin within timeout (0 means
// the default). Zero workers means as many as needed. It does not consider a shorter deadline of the caller, attempts that
// are given back because the whole fleet was in trouble (at most 8 more), and the check of a worker that broke off.
// more), nor the look at a worker that broke off.
func RetryBoundOf(cfg RetryConfig, workers int, timeout time.Duration) RetryBound {
	cfg = cfg.withDefaults()
	timeout = cmp.Or(timeout, defaultTimeout)
	w := RetryBound{Attempts: cfg.Attempts, Living: cfg.Attempts, Timeout: timeout, Waits: max(defaultWait, timeout)}
	if workers > 0 {
		w.Living = min(cfg.Attempts, max(workers, 2))
	}
	w.Total = add(times(w.Timeout, w.Attempts), w.Waits)
	if w.Attempts > 1 {
		b := cfg.Budget.WithDefaults()
		w.Ratio, w.Floor = min(b.Ratio, float64(w.Attempts-1)), b.Floor
	}
	return w
}

// Load returns the deliveries per second in the long run if rate pieces of work per second come and every attempt fails.
func (w RetryBound) Load(rate float64) float64 {
	return rate + min(w.Ratio*rate+w.Floor, rate*float64(w.Attempts-1))
}

// String returns the arithmetic in one line: "3 attempts × 30s + 30s of waiting = 2m0s; at most 20 % and 3/s more
// deliveries".
func (w RetryBound) String() string {
	total := w.Total.String()
	if w.Total == math.MaxInt64 {
		total = "more than 292 years"
	}
	if w.Attempts == 1 {
		return fmt.Sprintf("1 attempt × %v + %v of waiting = %s; no more deliveries than work", w.Timeout, w.Waits, total)
	}
	living := ""
	if w.Living < w.Attempts {
		living = fmt.Sprintf(" (%d while workers live)", w.Living)
	}
	return fmt.Sprintf("%d attempts%s × %v + %v of waiting = %s; at most %s %% and %s/s more deliveries",
		w.Attempts, living, w.Timeout, w.Waits, total, decimal(100*w.Ratio), decimal(w.Floor))
}

// decimal writes x without an exponent, to the third decimal.
func decimal(x float64) string { return strconv.FormatFloat(math.Round(1000*x)/1000, 'f', -1, 64) }

// times returns d·n, or the longest Duration.
func times(d time.Duration, n int) time.Duration {
	if n > 0 && d > math.MaxInt64/time.Duration(n) {
		return math.MaxInt64
	}
	return d * time.Duration(n)
}

// add returns a+b, or the longest Duration.
func add(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
