package health

import (
	"math"
	"time"
)

// Gauge judges one number over time. It is not safe for concurrent use.
type Gauge struct {
	Limits Limits

	degraded, failing latch
}

// latch is the state of one band, and the evidence for a change.
type latch struct {
	on    bool
	n     int       // samples in a row that speak for a change
	since time.Time // when the first of them came
}

// Step takes one sample and returns the state. NaN is ignored.
func (g *Gauge) Step(now time.Time, value float64) State {
	if !math.IsNaN(value) {
		g.degraded.step(now, value, g.Limits.Degraded, &g.Limits)
		g.failing.step(now, value, g.Limits.Failing, &g.Limits)
	}
	return g.State()
}

// State returns the state of the gauge.
func (g *Gauge) State() State {
	switch {
	case g.failing.on:
		return Failing
	case g.degraded.on:
		return Degraded
	}
	return OK
}

// Set sets the state from the upper thresholds alone, at once. It is for the first sample of something that was never known
// to be well.
func (g *Gauge) Set(value float64) State {
	for _, l := range [...]struct {
		latch *latch
		band  Band
	}{{&g.degraded, g.Limits.Degraded}, {&g.failing, g.Limits.Failing}} {
		*l.latch = latch{on: l.band.On() && value >= l.band.Upper}
	}
	return g.State()
}

func (l *latch) step(now time.Time, value float64, b Band, limits *Limits) {
	if !b.On() {
		*l = latch{}
		return
	}
	change := value >= b.Upper
	times, lasts := limits.Times, limits.For
	if l.on {
		change = value < b.Lower
		times, lasts = 1, limits.Calm
	}
	if !change {
		l.n = 0
		return
	}
	if l.n == 0 || now.Before(l.since) { // the wait begins again if the clock has stepped back
		l.since = now
	}
	l.n++
	if l.n >= times && now.Sub(l.since) >= lasts {
		*l = latch{on: !l.on}
	}
}
