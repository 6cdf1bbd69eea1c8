package traffic

import (
	"math"
	"sync"
	"time"
)

// Counts is what a [Tally] has counted so far.
type Counts struct {
	GoodSent int64 // good requests sent
	GoodOK   int64 // answered 200 with the right body
	// GoodRefused were turned away by whatever stands before the fleet: 502,
	// 503 or 504, although nothing was wrong with them.
	GoodRefused int64
	GoodLost    int64 // broken off, answered wrongly, or not at all in time

	PillsSent    int64
	PillsRefused int64 // turned away as known poison, before any worker saw them
	PillsServed  int64 // answered by a worker, and it lives

	P50, P99 time.Duration // of the good requests that were answered right
}

// Waiting returns how many good requests have no answer yet.
func (c Counts) Waiting() int64 { return c.GoodSent - c.GoodOK - c.GoodRefused - c.GoodLost }

// A Tally counts what came of a crowd's requests. Its size does not depend on
// how many there were.
type Tally struct {
	mu        sync.Mutex // guards the rest
	counts    Counts
	times     histogram
	firstPill time.Time
	lastHarm  time.Time // when the last good request that came to grief was sent
}

// Counts returns what was counted until now.
func (t *Tally) Counts() Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.counts
	c.P50, c.P99 = t.times.quantile(0.50), t.times.quantile(0.99)
	return c
}

// FirstPill returns when the first pill was sent, zero when none was.
func (t *Tally) FirstPill() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.firstPill
}

// LastHarm returns when the last good request was sent that was not answered
// right, zero when all were.
func (t *Tally) LastHarm() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lastHarm
}

func (t *Tally) sent(pill bool, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !pill {
		t.counts.GoodSent++
		return
	}
	t.counts.PillsSent++
	if t.firstPill.IsZero() {
		t.firstPill = at
	}
}

// end is how a request ended, as its caller saw it.
type end int

const (
	answered end = iota // as it should be
	refused             // turned away before any worker
	lost
)

func (t *Tally) ended(pill bool, how end, sent time.Time, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case pill && how == answered:
		t.counts.PillsServed++
	case pill && how == refused:
		t.counts.PillsRefused++
	case pill: // it has done its harm
	case how == answered:
		t.counts.GoodOK++
		t.times.add(took)
	default:
		if how == refused {
			t.counts.GoodRefused++
		} else {
			t.counts.GoodLost++
		}
		if sent.After(t.lastHarm) {
			t.lastHarm = sent
		}
	}
}

// A histogram counts durations in buckets that grow by a sixteenth of an
// octave, from a microsecond to over a minute: quantiles are 4.4 % exact.
type histogram struct {
	n       int64
	buckets [27 * 16]int64
}

func (h *histogram) add(d time.Duration) {
	i := int(16 * math.Log2(max(1, float64(d.Microseconds()))))
	h.buckets[min(i, len(h.buckets)-1)]++
	h.n++
}

// quantile returns the upper bound of the bucket that holds the q-th part.
func (h *histogram) quantile(q float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	rank, seen := int64(math.Ceil(q*float64(h.n))), int64(0)
	for i, n := range h.buckets {
		if seen += n; seen >= rank {
			return time.Duration(math.Exp2(float64(i+1)/16)) * time.Microsecond
		}
	}
	return 0
}
