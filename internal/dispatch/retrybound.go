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

// RetryBound is the worst that can become of one piece of work, and of the load on
// its workers, when every attempt fails.
type RetryBound struct {
	Attempts int           // deliveries, when each ends its worker; then it is convicted long before
	Living   int           // deliveries while workers live: no more than there are
	Timeout  time.Duration // of each
	Waits    time.Duration // for a worker, the lane, a duplicate, the budget and between attempts together
	Total    time.Duration // the last moment at which the caller can still be without an answer

	// More deliveries than there is work, in the long run: this share of the
	// traffic and so many a second.
	Ratio, Floor float64
}

// RetryBoundOf computes what a retry policy can lead to before a fleet of workers
// whose answers begin within timeout (0 means the default). Zero workers are as
// many as it takes. What a caller's own deadline is shorter by, is not counted,
// nor are attempts given back because a whole fleet was in trouble (at most 8
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

// Load returns how many deliveries a second there are in the long run when rate
// pieces of work a second come and every attempt fails.
func (w RetryBound) Load(rate float64) float64 {
	return rate + min(w.Ratio*rate+w.Floor, rate*float64(w.Attempts-1))
}

// String writes the arithmetic in one line: "3 attempts × 30s + 30s of waiting =
// 2m0s; at most 20 % and 3/s more deliveries".
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

// times is d·n, or the longest Duration.
func times(d time.Duration, n int) time.Duration {
	if n > 0 && d > math.MaxInt64/time.Duration(n) {
		return math.MaxInt64
	}
	return d * time.Duration(n)
}

// add is a+b, or the longest Duration.
func add(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
