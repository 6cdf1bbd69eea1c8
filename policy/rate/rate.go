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

// most is where counts stop growing.
const most = 1 << 60

// Decision says whether n more fit. Its numbers do not count them.
type Decision struct {
	Allowed   bool
	Never     bool          // of a refusal: n is above all there is, no waiting helps
	Used      int64         // may be above the limit
	Remaining int64         // what would be allowed now
	Wait      time.Duration // of a refusal: until n fit, if nothing else comes; exact
	Reset     time.Duration // until nothing counts any more, if nothing else comes
}

// Scaled is limit times scale, at least 1 and at most [MaxLimit]. A scale of 0,
// or one that is no positive number, is 1.
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

// add is a + b for a and b from 0, up to most.
func add(a, b int64) int64 {
	if a > most-min(b, most) {
		return most
	}
	return a + b
}

// later is now + d, up to the end of time.
func later(now, d int64) int64 {
	if d > 0 && now > math.MaxInt64-d {
		return math.MaxInt64
	}
	return now + d
}
