package watchdog

import (
	"math"
	"slices"
	"time"
)

// How a window is divided, and what does not count as growth.
const (
	blocks  = 24
	parts   = 4
	perPart = blocks / parts
	minSeen = blocks * 3 / 4 // blocks with samples
	noise   = 4 << 20        // bytes
	even    = 8              // each rise between parts is at least the whole rise divided by this
	slowing = 0.6            // times the first half's rate: a slower second half levels off
	doubt   = 4              // standard errors by which it must not be slower
	slopes  = blocks * (blocks - 1) / 2
)

// trend records a number of bytes over a window. The package comment says what counts as growth.
type trend struct {
	width     time.Duration // of a block
	began     time.Time
	at        int64 // number of the open block
	low, high int64 // of the open block; low 0: no sample
	lows      [blocks]int64
	highs     [blocks]int64 // of closed blocks, the oldest at next
	next, n   int
	rate      float64 // bytes per hour; 0 if it does not count
}

// add adds a sample. A sample before the last one, or after a window without samples, begins the window anew.
func (t *trend) add(now time.Time, window time.Duration, v int64) {
	if v <= 0 {
		return
	}
	width := window / blocks
	at := int64(-1)
	if t.width == width {
		at = int64(now.Sub(t.began) / width)
	}
	if at < t.at || now.Before(t.began) || at-t.at > blocks {
		*t = trend{width: width, began: now}
		at = 0
	}
	if at > t.at {
		for range at - t.at {
			t.lows[t.next], t.highs[t.next] = t.low, t.high
			t.next = (t.next + 1) % blocks
			t.n = min(t.n+1, blocks)
			t.low, t.high = 0, 0
		}
		t.at = at
		t.rate = t.grows()
	}
	if t.low == 0 || v < t.low {
		t.low = v
	}
	t.high = max(t.high, v)
}

// grows returns the growth in bytes per hour if it counts; otherwise 0.
func (t *trend) grows() float64 {
	if t.n < blocks {
		return 0
	}
	var lows [blocks]float64 // in order of time; NaN without samples
	seen := 0
	for i := range lows {
		lows[i] = math.NaN()
		if v := t.lows[(t.next+i)%blocks]; v > 0 {
			lows[i] = float64(v)
			seen++
		}
	}
	if seen < minSeen || !t.rises() {
		return 0
	}
	var buf [slopes]float64
	rate := theilSen(lows[:], buf[:0])
	first, second := theilSen(lows[:blocks/2], buf[:0]), theilSen(lows[blocks/2:], buf[:0])
	if second-slowing*first < doubt*slopeError*scatter(lows[:], rate, buf[:0]) || !(rate > 0) {
		return 0
	}
	return rate * float64(time.Hour) / float64(t.width)
}

// slopeError is the standard error of second - slowing*first, for values with a standard deviation of 1: sqrt(12/(n³-n))
// each, with n = blocks/2.
const slopeError = 0.0836 * 1.166

// scatter returns the standard deviation of values around a line of that slope, from the median of the distances, so that a
// few outliers do not matter.
func scatter(values []float64, slope float64, buf []float64) float64 {
	for i, v := range values {
		if v == v {
			buf = append(buf, v-slope*float64(i))
		}
	}
	middle := median(buf)
	for i, v := range buf {
		buf[i] = math.Abs(v - middle)
	}
	return 1.4826 * median(buf)
}

// rises reports whether the floor of the memory rises from part to part, evenly and by more than noise.
func (t *trend) rises() bool {
	var floor, swing [parts]int64
	for p := range parts {
		var top int64
		for i := range perPart {
			at := (t.next + p*perPart + i) % blocks
			if v := t.lows[at]; v > 0 && (floor[p] == 0 || v < floor[p]) {
				floor[p] = v
			}
			top = max(top, t.highs[at])
		}
		if floor[p] == 0 {
			return false
		}
		swing[p] = top - floor[p]
	}
	whole := floor[parts-1] - floor[0]
	slices.Sort(swing[:])
	middle := swing[parts/2-1]/2 + swing[parts/2]/2
	if whole < max(noise, floor[parts-1]/100, middle) {
		return false
	}
	for p := 1; p < parts; p++ {
		if floor[p]-floor[p-1] < whole/even {
			return false
		}
	}
	return true
}

// theilSen returns the median of the slopes between all pairs of values, without NaN; 0 without values.
func theilSen(values, buf []float64) float64 {
	for i, a := range values {
		for j := i + 1; j < len(values); j++ {
			if d := values[j] - a; d == d {
				buf = append(buf, d/float64(j-i))
			}
		}
	}
	return median(buf)
}

// median sorts values and returns their median; 0 without any.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	m := len(values) / 2
	if len(values)%2 == 1 {
		return values[m]
	}
	return (values[m-1] + values[m]) / 2
}
