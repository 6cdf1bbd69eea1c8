package balance

import "time"

// Outcome is how one attempt went.
type Outcome struct {
	Status  int           // of the answer; 0 when there was none. 500 and above is a failure
	Failed  bool          // it failed whatever its status: broken off, overdue
	Latency time.Duration // until the answer began, or the failure
	Caller  uint64        // hash of who sent it; 0 means unknown
	// Repeat says that the same request has failed before, on this worker or
	// another. Its failures count against nobody.
	Repeat bool
}

func (o *Outcome) failed() bool { return o.Failed || o.Status >= 500 }

// Record is what is known of one worker's answers. The zero Record knows
// nothing. It is not safe for concurrent use.
type Record struct {
	began   time.Time // of the half window that is under way
	now     counts
	before  counts // the half before
	streak  int
	struck  uint64    // callers of the streak
	judged  time.Time // when it was last worth a look
	latency float64   // seconds, moving average
	times   int       // ejections in a row
	until   time.Time // of the newest
}

// counts are results and the callers they came from, a bit each of 64. Unknown
// callers are not seen, but they do fail.
type counts struct {
	n, failed     int
	seen, failing uint64
}

// Add takes one outcome into account. It reports whether the worker might be an
// outlier now, so that a comparison ([Eject.Judge]) is worth its price. e must
// have its defaults.
func (r *Record) Add(now time.Time, e *Eject, o Outcome) (suspect bool) {
	failed := o.failed()
	if failed && o.Repeat {
		return false
	}
	r.turn(now, e.Window)
	bit := r.bit(o.Caller)
	r.now.n++
	if o.Caller != 0 {
		r.now.seen |= bit
	}
	const weight = 1.0 / 16
	if r.latency == 0 {
		r.latency = o.Latency.Seconds()
	} else {
		r.latency += weight * (o.Latency.Seconds() - r.latency)
	}
	if !failed {
		r.streak, r.struck = 0, 0
		return false
	}
	r.now.failed++
	r.now.failing |= bit
	r.streak++
	r.struck |= bit
	return r.suspect(now, e)
}

// bit returns the caller's bit. Unknown callers get one after another: they are
// not held to be one.
func (r *Record) bit(caller uint64) uint64 {
	if caller == 0 {
		return 1 << (uint(r.now.n) % 64)
	}
	return 1 << (caller * 0x9e3779b97f4a7c15 >> 58)
}

// turn begins the next half window when it is time.
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

// pause is the part of the window between two looks at the same worker: when
// everything fails, looking must not be what overloads us.
const pause = 100

func (r *Record) suspect(now time.Time, e *Eject) bool {
	s := r.sample()
	long := e.Consecutive != Off && r.streak >= e.Consecutive
	much := e.Above != Off && s.N >= e.MinVolume && s.ratio() >= e.Above
	if !long && !much {
		return false
	}
	if since := now.Sub(r.judged); since >= 0 && since < e.Window/pause {
		return false
	}
	r.judged = now
	return true
}

// Sample is the part of a [Record] that others are compared with.
type Sample struct {
	N, Failed     int    // results in the window
	seen, failing uint64 // callers
}

// Sample returns what the window that ends now holds.
func (r *Record) Sample(now time.Time, window time.Duration) Sample {
	r.turn(now, window)
	return r.sample()
}

func (r *Record) sample() Sample {
	return Sample{
		N: r.now.n + r.before.n, Failed: r.now.failed + r.before.failed,
		seen: r.now.seen | r.before.seen, failing: r.now.failing | r.before.failing,
	}
}

func (s Sample) ratio() float64 {
	if s.N == 0 {
		return 0
	}
	return float64(s.Failed) / float64(s.N)
}

// cautious is the ratio with one failure and one success added (Laplace's rule
// of succession).
func (s Sample) cautious() float64 { return float64(s.Failed+1) / float64(s.N+2) }

// Latency returns the moving average over about 16 outcomes.
func (r *Record) Latency() time.Duration { return time.Duration(r.latency * float64(time.Second)) }

// Eject begins an ejection and returns when it ends. random is in [0, 1).
func (r *Record) Eject(now time.Time, e *Eject, random float64) (until time.Time) {
	if now.Sub(r.until) > e.MaxFor {
		r.times = 0 // it has been well for long enough to be forgiven
	}
	r.times++
	*r = Record{times: r.times, latency: r.latency, until: now.Add(e.outFor(r.times, random))}
	return r.until
}

// Times returns how many ejections in a row there were.
func (r *Record) Times() int { return r.times }
