package balance

import "time"

// Outcome is the result of one attempt.
type Outcome struct {
	Status  int           // of the answer; 0: none. 500 and above is a failure
	Failed  bool          // it failed with any status: broken off, overdue
	Latency time.Duration // until the answer began, or the failure
	Caller  uint64        // hash of the caller; 0: unknown
	// Repeat says that the same request has failed before, on this worker or another. Then its failures do not count.
	Repeat bool
}

func (o *Outcome) failed() bool { return o.Failed || o.Status >= 500 }

// groups is the number of groups of callers. A caller's hash selects its group.
const groups = 32

// Record holds the recent results of one worker. The zero Record is empty. It is not safe for concurrent use.
type Record struct {
	began   time.Time // of the current half window
	now     counts
	before  counts // the previous half window
	streak  int
	struck  [groups]uint32 // of the streak, by caller
	recent  float64        // failure ratio, moving average over about 8 results
	latency float64        // seconds, moving average over about 16
	judged  time.Time      // when it was last compared
	times   int            // ejections in a row
	until   time.Time      // of the newest
}

// counts are results by group of callers. Results of unknown callers go to the groups in turn, and do not mark a group as
// seen.
type counts struct {
	by        [groups]struct{ n, failed uint32 }
	n, failed int
	seen      uint32 // a bit for each group of known callers
}

// Add adds one outcome. It reports whether the worker might be an outlier now, so that a comparison ([Eject.Judge]) is
// worthwhile. e must have its defaults.
func (r *Record) Add(now time.Time, e *Eject, o Outcome) (suspect bool) {
	failed := o.failed()
	if failed && o.Repeat {
		return false
	}
	r.turn(now, e.Window)
	g := uint(r.now.n) % groups
	if o.Caller != 0 {
		g = uint(o.Caller * 0x9e3779b97f4a7c15 >> 59)
		r.now.seen |= 1 << g
	}
	r.now.n++
	r.now.by[g].n++
	if r.latency == 0 {
		r.latency = o.Latency.Seconds()
	} else {
		r.latency += (o.Latency.Seconds() - r.latency) / 16
	}
	if !failed {
		r.recent -= r.recent / 8
		if r.streak > 0 {
			r.streak, r.struck = 0, [groups]uint32{}
		}
		return false
	}
	r.now.failed++
	r.now.by[g].failed++
	r.recent += (1 - r.recent) / 8
	r.streak++
	r.struck[g]++
	return r.suspect(now, e)
}

// turn begins the next half window if it is due.
func (r *Record) turn(now time.Time, window time.Duration) {
	age := now.Sub(r.began)
	switch {
	case age < window/2 && age > -window:
		return
	case age < window && age > 0:
		r.before = r.now
	default:
		r.before = counts{}
	}
	r.now, r.began = counts{}, now
}

// pause is the least part of the window between two comparisons of the same worker: when everything fails, comparing must
// not overload the process.
const pause = 100

func (r *Record) suspect(now time.Time, e *Eject) bool {
	n, failed := r.now.n+r.before.n, r.now.failed+r.before.failed
	long := e.Consecutive != Off && r.streak >= e.Consecutive
	much := e.Above != Off && n >= e.MinVolume && float64(failed) >= e.Above*float64(n)
	if !long && !much {
		return false
	}
	if since := now.Sub(r.judged); since >= 0 && since < e.Window/pause {
		return false
	}
	r.judged = now
	return true
}

// Sample is the part of a [Record] for comparisons.
type Sample struct {
	N, Failed int // results in the window
	seen      uint32
	recent    float64
}

// Sample returns the content of the window that ends now.
func (r *Record) Sample(now time.Time, window time.Duration) Sample {
	r.turn(now, window)
	return Sample{
		N: r.now.n + r.before.n, Failed: r.now.failed + r.before.failed,
		seen: r.now.seen | r.before.seen, recent: r.recent,
	}
}

func (s Sample) ratio() float64 {
	if s.N == 0 {
		return 0
	}
	return float64(s.Failed) / float64(s.N)
}

// chance returns how likely a result was to fail, rather too high than too low. It adds one failure and one success
// (Laplace's rule of succession), and uses the recent ratio if that is higher, because an outage does not reach all
// workers' windows at once.
func (s Sample) chance() float64 {
	return max(float64(s.Failed+1)/float64(s.N+2), s.recent)
}

// Latency returns the moving average over about 16 outcomes.
func (r *Record) Latency() time.Duration { return time.Duration(r.latency * float64(time.Second)) }

// Eject begins an ejection and returns when it ends. random is in [0, 1).
func (r *Record) Eject(now time.Time, e *Eject, random float64) (until time.Time) {
	if now.Sub(r.until) > e.MaxFor {
		r.times = 0 // it has been well for long enough
	}
	r.times++
	*r = Record{times: r.times, latency: r.latency, until: now.Add(e.outFor(r.times, random))}
	return r.until
}

// Times returns the number of ejections in a row.
func (r *Record) Times() int { return r.times }
