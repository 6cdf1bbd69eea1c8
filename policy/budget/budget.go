package budget

import (
	"cmp"
	"errors"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Config is a share of the traffic, and a floor for times of little traffic. The zero value means 20 % and 3 retries per
// second.
type Config struct {
	Ratio float64 // retries allowed per first attempt; 0 to 1, default 0.2
	Floor float64 // retries per second allowed with any traffic; default 3
}

// WithDefaults returns c with defaults in place of zero fields.
func (c Config) WithDefaults() Config {
	c.Ratio = cmp.Or(c.Ratio, 0.2)
	c.Floor = cmp.Or(c.Floor, 3)
	return c
}

// Validate reports every invalid field.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var errs faults.List
	errs.If(c.Ratio < 0 || c.Ratio > 1, "ratio is %g, want 0 to 1", c.Ratio)
	errs.If(c.Floor < 0, "floor is %g, want 0 or more retries a second", c.Floor)
	return errors.Join(errs...)
}

// window is how many seconds of traffic a budget remembers.
const window = 10

// Budget counts first attempts and retries over the last ten seconds. The zero
// value with the zero Config is ready.
type Budget struct {
	Config  Config
	seconds [window]struct {
		at             int64
		first, retries float64
	}
}

func (b *Budget) slot(now time.Time) int {
	s := now.Unix()
	i := int((s%window + window) % window) // a clock may say 1969
	if b.seconds[i].at != s {
		b.seconds[i] = struct {
			at             int64
			first, retries float64
		}{at: s}
	}
	return i
}

// First counts a first attempt.
func (b *Budget) First(now time.Time) { b.seconds[b.slot(now)].first++ }

// Retry takes one retry from the budget, or returns false. Call it when a retry is decided on, not when it is made: retries
// that wait count as well.
func (b *Budget) Retry(now time.Time) bool {
	c := b.Config.WithDefaults()
	i := b.slot(now)
	first, retries := b.Recent(now)
	if retries+1 > c.Ratio*first+c.Floor*window {
		return false
	}
	b.seconds[i].retries++
	return true
}

// Count counts a retry that is made even beyond the budget. It leaves less for others.
func (b *Budget) Count(now time.Time) { b.seconds[b.slot(now)].retries++ }

// Return gives back a retry that was taken at now and will not be made.
func (b *Budget) Return(now time.Time) {
	if s := &b.seconds[b.slot(now)]; s.retries > 0 {
		s.retries--
	}
}

// Recent returns the first attempts and the retries of the last ten seconds.
func (b *Budget) Recent(now time.Time) (first, retries float64) {
	for _, s := range b.seconds {
		if now.Unix()-s.at < window {
			first += s.first
			retries += s.retries
		}
	}
	return first, retries
}

// Used returns the used share of the allowed retries, from 0. It exceeds 1 if retries were made beyond the budget.
func (b *Budget) Used(now time.Time) float64 {
	c := b.Config.WithDefaults()
	first, retries := b.Recent(now)
	if most := c.Ratio*first + c.Floor*window; most > 0 {
		return retries / most
	}
	return 0
}
