package health

import (
	"cmp"
	"errors"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
)

// buckets is the number of parts of the window. So the effective window is up to a tenth shorter than Rules.Window.
const buckets = 10

// Rules says how measured calls are judged. The zero value means the defaults below.
type Rules struct {
	Window    time.Duration // length of the window; 1 s to 1 h, default 30 s
	MinVolume int           // least calls in the window for a judgement; default 20
	Errors    Limits        // of the share that failed, including timeouts; default degraded 0.05 to 0.02, failing 0.5 to 0.25, calm 10 s
	Timeouts  Limits        // of the share that got no answer in time; default degraded 0.05 to 0.02, failing 0.25 to 0.1, calm 10 s
	Latency   Limits        // of the quantile, in seconds; default off, calm 10 s
	Quantile  float64       // default 0.99
}

// WithDefaults returns r with defaults in place of zero fields.
func (r Rules) WithDefaults() Rules {
	const calm = 10 * time.Second
	off := Band{Upper: Off, Lower: Off}
	r.Window = cmp.Or(r.Window, 30*time.Second)
	r.MinVolume = cmp.Or(r.MinVolume, 20)
	r.Quantile = cmp.Or(r.Quantile, 0.99)
	r.Errors = r.Errors.Or(Limits{Degraded: Band{0.05, 0.02}, Failing: Band{0.5, 0.25}, Calm: calm})
	r.Timeouts = r.Timeouts.Or(Limits{Degraded: Band{0.05, 0.02}, Failing: Band{0.25, 0.1}, Calm: calm})
	r.Latency = r.Latency.Or(Limits{Degraded: off, Failing: off, Calm: calm})
	return r
}

// Validate reports every invalid field.
func (r Rules) Validate() error {
	r = r.WithDefaults()
	var errs faults.List

	errs.If(r.Window < time.Second || r.Window > time.Hour, "window is %v, want 1s to 1h", r.Window)
	errs.If(r.MinVolume < 1, "min volume is %d, want 1 or more", r.MinVolume)
	errs.If(!(r.Quantile > 0 && r.Quantile <= 1), "quantile is %g, want more than 0, up to 1", r.Quantile)
	for _, l := range [...]struct {
		name string
		Limits
		share bool
	}{{"errors", r.Errors, true}, {"timeouts", r.Timeouts, true}, {"latency", r.Latency, false}} {
		errs.In(l.Validate(), "%s", l.name)
		errs.If(l.share && max(l.Degraded.Upper, l.Failing.Upper) > 1, "%s: upper is above 1, want a share", l.name)
	}
	return errors.Join(errs...)
}

// Reading is the result of the calls in a window.
type Reading struct {
	Calls         uint64
	Errors        float64 // share that failed, including timeouts
	Timeouts      float64 // share
	Latency       time.Duration
	ErrorsState   State
	TimeoutsState State
	LatencyState  State
	Few           bool // too few calls for a judgement
	State         State
}

// bucket counts the calls of one tenth of the window.
type bucket struct {
	at int64 // which tenth since 1970
	Tally
}

// Calls judges the measured calls to one callee. The zero value with the zero Rules is ready. It takes about 8 KiB, and is
// not safe for concurrent use.
type Calls struct {
	Rules Rules

	ring                      [buckets]bucket
	errors, timeouts, latency Gauge
}

// Add counts calls that have ended since the last Add.
func (c *Calls) Add(now time.Time, calls *Tally) {
	if calls.Calls() == 0 {
		return
	}
	r := c.Rules.WithDefaults()
	cell := cellOf(now, r.Window)
	b := &c.ring[(cell%buckets+buckets)%buckets] // a clock may say 1969
	if b.at != cell {
		*b = bucket{at: cell}
	}
	b.Merge(calls)
}

func cellOf(now time.Time, window time.Duration) int64 {
	return now.UnixNano() / int64(window/buckets)
}

// Step judges the window at now. Too few calls count as healthy. Otherwise a service that its own readiness took out of
// traffic would never come back.
func (c *Calls) Step(now time.Time) Reading {
	r := c.Rules.WithDefaults()
	cell := cellOf(now, r.Window)
	var sum Tally
	for i := range c.ring {
		if age := cell - c.ring[i].at; age >= 0 && age < buckets {
			sum.Merge(&c.ring[i].Tally)
		}
	}
	read := Reading{Calls: sum.Calls()}
	read.Few = read.Calls < uint64(r.MinVolume)
	if read.Calls > 0 {
		n := float64(read.Calls)
		read.Errors = float64(sum.Failed+sum.Timeouts) / n
		read.Timeouts = float64(sum.Timeouts) / n
		read.Latency = sum.Quantile(r.Quantile)
	}
	judge := func(g *Gauge, l Limits, value float64) State {
		g.Limits = l
		if read.Few {
			value = 0
		}
		return g.Step(now, value)
	}
	read.ErrorsState = judge(&c.errors, r.Errors, read.Errors)
	read.TimeoutsState = judge(&c.timeouts, r.Timeouts, read.Timeouts)
	read.LatencyState = judge(&c.latency, r.Latency, read.Latency.Seconds())
	read.State = max(read.ErrorsState, read.TimeoutsState, read.LatencyState)
	return read
}
