package quota

import (
	"time"

	"github.com/bezoar-dev/bezoar/policy/rate"
)

// scheme is how one quota counts: what the words of a key's state mean.
//
//	window         newest bucket · ring of counts
//	shared window  newest bucket · ring of counts · ring of those not yet sent
//	token bucket         full at · fraction
//	shared token bucket  full at · fractions, the upper not yet sent · ns not yet sent
//
// What is not yet sent is counted in the first ring, or instant, as well.
type scheme struct {
	quota  Quota
	id     uint64
	window rate.Window
	bucket rate.Bucket
	token  bool
	full   time.Duration // how long the token bucket takes to fill
	words  int           // of the state
}

func newScheme(q Quota) scheme {
	k := scheme{quota: q, id: q.ID(), window: q.window(), bucket: q.bucket(), token: q.Burst > 0}
	if k.token {
		k.full = k.bucket.Full()
	}
	switch {
	case k.token && q.Shared:
		k.words = rate.BucketWords + 1
	case k.token:
		k.words = rate.BucketWords
	case q.Shared:
		k.words = 2*k.window.Words() - 1
	default:
		k.words = k.window.Words()
	}
	return k
}

// limit is what Used and Remaining are out of.
func (k *scheme) limit(scale float64) int64 {
	if k.token {
		return rate.Scaled(k.bucket.Burst, scale)
	}
	return rate.Scaled(k.window.Limit, scale)
}

func (k *scheme) check(s []int64, now, n int64, scale float64) rate.Decision {
	if k.token {
		b := k.bucket.Scale(scale)
		return b.Check(s, now, n)
	}
	w := k.window
	w.Limit = rate.Scaled(w.Limit, scale)
	return w.Check(s, now, n)
}

// take is check, then add when that allows it. Of what it took, the numbers
// count it.
func (k *scheme) take(s []int64, now, n int64, scale float64) rate.Decision {
	if k.token {
		b := k.bucket.Scale(scale)
		d, ns, frac := b.Take(s, now, n)
		k.owe(s, ns, frac)
		return d
	}
	w := k.window
	w.Limit = rate.Scaled(w.Limit, scale)
	d := w.Take(s, now, n)
	if d.Allowed {
		k.count(s, n)
	}
	return d
}

// add counts n, whatever the limit says.
func (k *scheme) add(s []int64, now, n int64, scale float64) {
	if !k.token {
		k.window.Add(s, now, n)
		k.count(s, n)
		return
	}
	b := k.bucket.Scale(scale)
	ns, frac := b.Add(s, now, n)
	k.owe(s, ns, frac)
}

// count keeps of a window what the store has not heard of.
func (k *scheme) count(s []int64, n int64) {
	if k.quota.Shared {
		unsent := k.window.Slot(s[0]) + k.window.Words() - 1
		s[unsent] = min(s[unsent]+min(n, MaxCount), MaxCount)
	}
}

// owe does so of a token bucket.
func (k *scheme) owe(s []int64, ns int64, frac uint32) {
	if k.quota.Shared {
		sum := s[1]>>32&(1<<32-1) + int64(frac)
		s[1] = sum<<32 | s[1]&(1<<32-1)
		s[2] = min(s[2]+ns+sum>>32, MaxCount)
	}
}

// share is how much of the limit is used: 0 when the key is idle and nothing is
// lost with it.
func (k *scheme) share(s []int64, now int64) float64 {
	if k.token {
		if s[0] <= now {
			return 0
		}
		return float64(s[0]-now) / float64(k.full)
	}
	return float64(k.window.Used(s, now)) / float64(k.window.Limit)
}

// collect appends the counts that a key has for the store and those that it
// wants to know, and takes them as sent.
func (k *scheme) collect(counts []Count, key Key, s []int64, now int64) []Count {
	keep := 2*k.quota.Per + keepLonger
	if k.token {
		n := s[2]
		s[2] = 0
		b := &k.bucket
		floor := max(min(s[0]-n, now+int64(b.Longest())), 0)
		return append(counts, Count{Row: Row{Quota: k.id, Key: key}, Floor: floor, N: n, Keep: b.Longest() + keepLonger})
	}
	w := &k.window
	w.Slide(s, now)
	for b := s[0] - int64(w.Buckets); b <= s[0]; b++ {
		unsent := w.Slot(b) + w.Words() - 1
		counts = append(counts, Count{Row: Row{k.id, key, b}, N: s[unsent], Keep: keep})
		s[unsent] = 0
	}
	return counts
}

// keepLonger is for how long a row outlives its use, so that clocks and late
// flushes may differ.
const keepLonger = 10 * time.Second

// merge takes what the store says about one count: with what has come since.
func (k *scheme) merge(s []int64, bucket, total, now int64) {
	if k.token {
		unsent := s[1] >> 32 & (1<<32 - 1)
		s[0] = total + s[2]
		s[1] = unsent<<32 | unsent
		return
	}
	w := &k.window
	w.Slide(s, now)
	if bucket > s[0] || bucket < s[0]-int64(w.Buckets) {
		return // has left
	}
	at := w.Slot(bucket)
	s[at] = max(total, 0) + s[at+w.Words()-1]
}

// counts is how many of them collect appends.
func (k *scheme) counts() int {
	if k.token {
		return 1
	}
	return k.window.Buckets + 1
}
