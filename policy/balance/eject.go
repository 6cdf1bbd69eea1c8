package balance

import (
	"cmp"
	"errors"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Off turns a rule of [Eject] off.
const Off = -1

const maxExcuse = 8

// Eject says when a worker is taken for an outlier and for how long it is kept
// out. The zero value means the defaults below; with both rules Off, nobody is.
type Eject struct {
	Consecutive int           // failures in a row, at least; default 5, Off
	Above       float64       // failure ratio above the median of the others; more than 0 to 1, default 0.3, Off
	MinVolume   int           // results in the window below which a ratio says nothing; default 20
	Window      time.Duration // what counts together; 1 s to 1 h, default 10 s
	Excuse      int           // callers, those that failed most, whose failures are not held against the worker; default 2, at most 8, Off
	For         time.Duration // the first ejection; default 30 s
	MaxFor      time.Duration // the longest; default 5 min, never above 24 h
	MaxEject    float64       // share of the workers that may be out at once; 0 to 0.5, default 0.1
}

// WithDefaults returns e with every zero field set to its default.
func (e Eject) WithDefaults() Eject {
	e.Consecutive = cmp.Or(e.Consecutive, 5)
	e.Above = cmp.Or(e.Above, 0.3)
	e.MinVolume = cmp.Or(e.MinVolume, 20)
	e.Window = cmp.Or(e.Window, 10*time.Second)
	e.Excuse = cmp.Or(e.Excuse, 2)
	e.For = cmp.Or(e.For, 30*time.Second)
	e.MaxFor = cmp.Or(e.MaxFor, max(5*time.Minute, e.For))
	e.MaxEject = cmp.Or(e.MaxEject, 0.1)
	return e
}

// Validate reports every impossible field.
func (e Eject) Validate() error {
	e = e.WithDefaults()
	var errs faults.List

	errs.If(e.Consecutive < Off, "consecutive is %d, want 1 or more, or %d for off", e.Consecutive, Off)
	errs.If(e.Above != Off && !(e.Above > 0 && e.Above <= 1), "above is %g, want more than 0, up to 1, or %d for off", e.Above, Off)
	errs.If(e.MinVolume < 1, "min volume is %d, want 1 or more", e.MinVolume)
	errs.If(e.Window < time.Second || e.Window > time.Hour, "window is %v, want 1s to 1h", e.Window)
	errs.If(e.Excuse < Off || e.Excuse > maxExcuse, "excuse is %d, want 1 to %d, or %d for off", e.Excuse, maxExcuse, Off)
	errs.If(e.For < time.Millisecond, "for is %v, want 1ms or more", e.For)
	errs.If(e.MaxFor < e.For || e.MaxFor > 24*time.Hour, "max for is %v, want for (%v) to 24h", e.MaxFor, e.For)
	errs.If(!(e.MaxEject > 0 && e.MaxEject <= 0.5), "max eject is %g, want more than 0, up to 0.5", e.MaxEject)
	return errors.Join(errs...)
}

// Allowed returns how many of up workers may be ejected at once.
func (e *Eject) Allowed(up int) int {
	n := int(e.MaxEject*float64(up) + 1e-9)
	if up >= 3 {
		n = max(n, 1)
	}
	return n
}

// outFor is how long the times-th ejection in a row lasts, jittered downwards by
// a fifth for random in [0, 1), so that workers do not come back together.
func (e *Eject) outFor(times int, random float64) time.Duration {
	d := e.For
	for range times - 1 {
		if d > e.MaxFor/2 {
			d = e.MaxFor
			break
		}
		d *= 2
	}
	return d - time.Duration(random*float64(d/5))
}
