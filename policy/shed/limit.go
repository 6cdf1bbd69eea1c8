package shed

import (
	"math"
	"time"
)

// Outcome is the result of work.
type Outcome struct {
	Latency time.Duration // of the work itself, without the wait for a slot; 0: not measured
	Dropped bool          // the downstream was too busy: a timeout, its own refusal, a 503
	Ignored bool          // says nothing about the downstream: the caller hung up, poison
}

// outlier bounds the weight of one result: this many times the baseline.
const outlier = 10

// Limit is how much work may run at once. Make it with [NewLimit]. It is not safe for concurrent use.
type Limit struct {
	cfg   Config // with defaults
	limit float64
	base  float64 // latency without a queue in the downstream, in ns; 0: unknown
	last  float64 // average of the last window

	began time.Time // of the window
	n     int       // results in it
	check int       // number of results at which the clock is read
	sum   float64   // of their latencies
	peak  int       // most work in flight
	round int       // results until another drop counts

	high  time.Time // since when latency has been too high; zero: it is not
	probe probe
}

// probe is the experiment that tests the baseline.
type probe struct {
	on     bool
	first  bool    // there is no baseline yet
	settle int     // results to skip before the window: they began under the previous limit
	before float64 // average before the limit was halved
	back   float64 // the limit to restore
}

// NewLimit returns a limit with its initial value. The config must be valid.
func NewLimit(now time.Time, cfg Config) Limit {
	l := Limit{cfg: cfg.WithDefaults(), began: now}
	l.limit = float64(l.cfg.Initial)
	l.check = l.cfg.Samples
	return l
}

// Update changes the config. Learned values stay, within its bounds.
func (l *Limit) Update(cfg Config) {
	l.cfg = cfg.WithDefaults()
	l.clamp()
	l.next()
}

// Now returns the limit.
func (l *Limit) Now() int {
	if l.cfg.Fixed > 0 {
		return l.cfg.Fixed
	}
	return int(l.limit)
}

// Baseline returns the latency that counts as normal; 0 while unknown.
func (l *Limit) Baseline() time.Duration { return time.Duration(l.base) }

// Latency returns the average of the last window; 0 while unknown.
func (l *Limit) Latency() time.Duration { return time.Duration(l.last) }

// Probing reports whether the limit is lowered to test the baseline.
func (l *Limit) Probing() bool { return l.probe.on }

// Done records a result. inFlight is how much work ran with it, including itself. It reports whether [Limit.Step] is due,
// so that the caller reads the clock only now and then.
func (l *Limit) Done(inFlight int, o Outcome) (due bool) {
	l.round--
	switch {
	case l.probe.on && l.probe.settle > 0:
		if inFlight <= l.Now() {
			l.probe.settle--
		}
		return false
	case o.Ignored:
		return false
	case o.Dropped:
		l.drop()
		return false
	case o.Latency <= 0: // not measured
		return false
	}
	x := float64(o.Latency)
	if l.base > 0 {
		x = min(x, outlier*l.base)
	}
	l.sum += x
	l.peak = max(l.peak, inFlight)
	l.n++
	if l.n < l.check {
		return false
	}
	l.check += max(l.n/4, 1) // from here on not at every result
	return true
}

// drop shrinks the limit, once for all work that ran together.
func (l *Limit) drop() {
	if l.round > 0 || l.cfg.Fixed > 0 {
		return
	}
	l.limit *= l.cfg.Backoff
	l.probe.back *= l.cfg.Backoff
	l.clamp()
	l.round = l.Now()
}

// Step ends the window if it is long enough.
func (l *Limit) Step(now time.Time) {
	if age := now.Sub(l.began); age >= 0 && age < l.cfg.Window || l.n < l.cfg.Samples {
		return
	}
	mean := l.sum / float64(l.n)
	l.last = mean
	busy := 2*l.peak > l.Now()
	switch {
	case l.probe.on:
		l.judge(now, mean)
	case l.base == 0:
		l.base = mean
		if busy { // the measured latency may include a queue
			l.startProbe(mean, true)
		}
	default:
		l.learn(now, mean, busy)
		if !l.probe.on {
			l.follow(mean, busy)
		}
	}
	l.next()
	l.began = now
}

// next begins a window.
func (l *Limit) next() {
	l.n, l.sum, l.peak, l.check = 0, 0, 0, l.cfg.Samples
}

// learn moves the baseline, or starts a test of it.
func (l *Limit) learn(now time.Time, mean float64, busy bool) {
	const rate = 0.1
	normal := mean <= l.cfg.Tolerance*l.base
	if mean < l.base || normal && !busy {
		l.base += rate * (mean - l.base)
	}
	switch {
	case normal:
		l.high = time.Time{}
	case l.high.IsZero() || now.Before(l.high):
		l.high = now
	case now.Sub(l.high) >= l.cfg.Recheck:
		l.startProbe(mean, false)
	}
}

// follow moves the limit along the gradient.
func (l *Limit) follow(mean float64, busy bool) {
	gradient := min(max(l.cfg.Tolerance*l.base/mean, 0.5), 1)
	goal := l.limit * gradient
	if busy {
		goal += math.Sqrt(l.limit) // room to find out whether more is better
	}
	l.limit += l.cfg.Smoothing * (goal - l.limit)
	l.clamp()
}

func (l *Limit) clamp() {
	l.limit = min(max(l.limit, float64(l.cfg.Min)), float64(l.cfg.Max))
}

// startProbe halves the limit and measures the latency under it.
func (l *Limit) startProbe(mean float64, first bool) {
	l.high = time.Time{}
	if l.cfg.Fixed > 0 {
		l.base = mean // no experiment is possible; the value is only shown
		return
	}
	l.probe = probe{on: true, first: first, back: l.limit}
	l.halve(mean)
}

func (l *Limit) halve(mean float64) {
	l.probe.before = mean
	l.limit /= 2
	l.clamp()
	l.probe.settle = l.Now()
}

// judge ends a step of the experiment.
func (l *Limit) judge(now time.Time, mean float64) {
	const same, fell = 1.2, 0.75
	switch {
	case mean <= same*l.base && !l.probe.first: // the load was the cause
		l.base = min(l.base, mean)
	case mean > fell*l.probe.before, l.Now() == l.cfg.Min:
		l.base = mean // the load is not the cause
	default:
		l.halve(mean) // the load was a large part of the cause: go lower
		return
	}
	l.limit = l.probe.back
	l.clamp()
	l.probe = probe{}
	l.high = time.Time{}
}
