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

// Eject says when a worker counts as an outlier and how long it is ejected. The zero value means the defaults below. With
// both rules Off, no worker is ejected.
type Eject struct {
	Consecutive int           // least failures in a row; default 5, Off
	Above       float64       // failure ratio above the median of the others; above 0, up to 1, default 0.3, Off
	MinVolume   int           // least results in the window for the ratio rule; default 20
	Window      time.Duration // length of the window; 1 s to 1 h, default 10 s
	Excuse      int           // number of callers with most failures whose failures do not count; default 2, at most 8, Off
	For         time.Duration // the first ejection; default 30 s
	MaxFor      time.Duration // the longest; default 5 min, at most 24 h
	MaxEject    float64       // share of the workers that may be ejected at once; above 0, up to 0.5, default 0.1
}

// WithDefaults returns e with defaults in place of zero fields.
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

// Validate reports every invalid field.
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

// outFor returns the length of the times-th ejection in a row, reduced at random by up to a fifth, so that workers do not
// come back together. random is in [0, 1).
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
