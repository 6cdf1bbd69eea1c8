package rate

import (
	"math"
	"time"
)

// Bounds of limits.
const (
	MaxLimit = 1 << 50              // per Per, and at once
	MinPer   = time.Millisecond     // per bucket of a window
	MaxPer   = 366 * 24 * time.Hour //
)

// most is the largest count.
const most = 1 << 60

// Decision says whether n more fit. Its numbers do not include n.
type Decision struct {
	Allowed   bool
	Never     bool          // of a refusal: n is more than the limit, so waiting does not help
	Used      int64         // may exceed the limit
	Remaining int64         // how much more would be allowed now
	Wait      time.Duration // of a refusal: time until n fit, if nothing else comes; exact
	Reset     time.Duration // time until nothing counts any more, if nothing else comes
}

// Scaled returns limit times scale, at least 1 and at most [MaxLimit]. A scale that is not a positive number counts as 1.
func Scaled(limit int64, scale float64) int64 {
	if scale == 1 || !(scale > 0) {
		return limit
	}
	f := float64(limit) * scale
	if f >= MaxLimit {
		return MaxLimit
	}
	return max(int64(f), 1)
}

// add returns a + b for a and b from 0, at most most.
func add(a, b int64) int64 {
	if a > most-min(b, most) {
		return most
	}
	return a + b
}

// later returns now + d, at most the largest time.
func later(now, d int64) int64 {
	if d > 0 && now > math.MaxInt64-d {
		return math.MaxInt64
	}
	return now + d
}
