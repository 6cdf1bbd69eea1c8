package metrics

import "time"

// numBounds is how many buckets end somewhere.
const numBounds = 14

// bounds are where the buckets of histograms end: from a quick answer of a
// worker nearby to the default timeout of a route.
func bounds() [numBounds]time.Duration {
	const ms = time.Millisecond
	return [numBounds]time.Duration{
		1 * ms, 2500 * time.Microsecond, 5 * ms, 10 * ms, 25 * ms, 50 * ms, 100 * ms,
		250 * ms, 500 * ms, 1000 * ms, 2500 * ms, 5000 * ms, 10_000 * ms, 30_000 * ms,
	}
}

// histogram counts durations by [bounds]; what is longer than all is in the last
// bucket.
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

// cumulative returns the buckets as Prometheus has them, by their ends in
// seconds, and how many durations there are.
func (h *histogram) cumulative() (buckets map[float64]uint64, count uint64) {
	buckets = make(map[float64]uint64, numBounds)
	for i, end := range bounds() {
		count += h.buckets[i]
		buckets[end.Seconds()] = count
	}
	return buckets, count + h.buckets[numBounds]
}
