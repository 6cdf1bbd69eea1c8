package health

import (
	"cmp"
	"errors"
	"math"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Off as the Upper of a band turns the band of [Limits] off.
const Off = -1

// Band has two thresholds of a number that is worse when it is higher: the state begins at Upper and ends below Lower. In
// between nothing changes.
type Band struct {
	Upper float64
	Lower float64
}

// On reports whether the band is on.
func (b Band) On() bool { return b.Upper > 0 }

// Limits says when a number is too high. The zero value means the defaults of the code that uses it.
type Limits struct {
	Degraded Band
	Failing  Band
	Times    int           // samples in a row at or above Upper before a state begins; default 1
	For      time.Duration // least time over which they must come
	Calm     time.Duration // least time below Lower before a state ends
}

// On reports whether any band is on.
func (l Limits) On() bool { return l.Degraded.On() || l.Failing.On() }

// Or returns l with the values of others in place of zero fields. A band with only an Upper gets the same Lower.
func (l Limits) Or(others Limits) Limits {
	if l.Degraded == (Band{}) {
		l.Degraded = others.Degraded
	}
	if l.Failing == (Band{}) {
		l.Failing = others.Failing
	}
	for _, b := range [...]*Band{&l.Degraded, &l.Failing} {
		b.Lower = cmp.Or(b.Lower, b.Upper)
	}
	l.Times = cmp.Or(l.Times, max(1, others.Times))
	l.For = cmp.Or(l.For, others.For)
	l.Calm = cmp.Or(l.Calm, others.Calm)
	return l
}

// Validate reports every invalid field. The limits must be complete.
func (l Limits) Validate() error {
	var errs faults.List

	for _, f := range [...]struct {
		name string
		Band
	}{{"degraded", l.Degraded}, {"failing", l.Failing}} {
		if f.Upper == Off || f.Band == (Band{}) {
			continue
		}
		errs.If(!(f.Upper > 0) || math.IsInf(f.Upper, 0), "%s upper is %g, want more than 0, or %d for off", f.name, f.Upper, Off)
		errs.If(!(f.Lower >= 0) || f.Lower > f.Upper, "%s lower is %g, want 0 to upper (%g)", f.name, f.Lower, f.Upper)
	}
	errs.If(l.Degraded.On() && l.Failing.On() && (l.Failing.Upper < l.Degraded.Upper || l.Failing.Lower < l.Degraded.Lower),
		"failing is %g to %g, want no less than degraded (%g to %g)", l.Failing.Lower, l.Failing.Upper, l.Degraded.Lower, l.Degraded.Upper)
	errs.If(l.Times < 0, "times is %d, want 0 or more", l.Times)
	errs.If(l.For < 0 || l.For > 24*time.Hour, "for is %v, want 0s to 24h", l.For)
	errs.If(l.Calm < 0 || l.Calm > 24*time.Hour, "calm is %v, want 0s to 24h", l.Calm)
	return errors.Join(errs...)
}
