package metrics

import "time"

// numBounds is the number of buckets with an upper bound.
const numBounds = 14

// bounds returns the upper bounds of the buckets: from a fast answer of a nearby worker to
// the default timeout of a route.
func bounds() [numBounds]time.Duration {
	const ms = time.Millisecond
	return [numBounds]time.Duration{
		1 * ms, 2500 * time.Microsecond, 5 * ms, 10 * ms, 25 * ms, 50 * ms, 100 * ms,
		250 * ms, 500 * ms, 1000 * ms, 2500 * ms, 5000 * ms, 10_000 * ms, 30_000 * ms,
	}
}

// histogram counts durations by [bounds]. Longer durations are in the last bucket.
type histogram struct {
	buckets [numBounds + 1]uint64
	sum     time.Duration
}

func (h *histogram) observe(d time.Duration) {
	ends := bounds()
	i := 0
	for i < numBounds && d > ends[i] {
		i++
	}
	h.buckets[i]++
	h.sum += d
}

func (h *histogram) add(o *histogram) {
	for i := range h.buckets {
		h.buckets[i] += o.buckets[i]
	}
	h.sum += o.sum
}

// cumulative returns the buckets in the form of Prometheus, by their upper bounds in
// seconds, and the number of durations.
func (h *histogram) cumulative() (buckets map[float64]uint64, count uint64) {
	buckets = make(map[float64]uint64, numBounds)
	for i, end := range bounds() {
		count += h.buckets[i]
		buckets[end.Seconds()] = count
	}
	return buckets, count + h.buckets[numBounds]
}
