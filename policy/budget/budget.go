package budget

import (
	"errors"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Config is a share of the traffic and a floor for when there is little. The
// zero value means 20 % and 3 retries a second.
type Config struct {
	Ratio float64 // retries allowed per first attempt; 0 to 1, default 0.2
	Floor float64 // retries a second allowed whatever the traffic; default 3
}

// WithDefaults returns c with every zero field set to its default.
func (c Config) WithDefaults() Config {
	if c.Ratio == 0 {
		c.Ratio = 0.2
	}
	if c.Floor == 0 {
		c.Floor = 3
	}
	return c
}

// Validate reports every impossible field.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var errs faults.List
	errs.If(c.Ratio < 0 || c.Ratio > 1, "ratio is %g, want 0 to 1", c.Ratio)
	errs.If(c.Floor < 0, "floor is %g, want 0 or more retries a second", c.Floor)
	return errors.Join(errs...)
}

// window is how much traffic a budget remembers.
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

// Retry takes one retry from the budget, or reports false. Call it when a retry
// is decided on, not when it is made: those that wait for their turn count.
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

// Count counts a retry that is made whatever the budget says. There is less
// left for others then.
func (b *Budget) Count(now time.Time) { b.seconds[b.slot(now)].retries++ }

// Return gives back a retry that was taken at now and will not be made.
func (b *Budget) Return(now time.Time) {
	if s := &b.seconds[b.slot(now)]; s.retries > 0 {
		s.retries--
	}
}

// Recent returns the first attempts and the retries that the budget remembers.
func (b *Budget) Recent(now time.Time) (first, retries float64) {
	for _, s := range b.seconds {
		if now.Unix()-s.at < window {
			first += s.first
			retries += s.retries
		}
	}
	return first, retries
}

// Used returns how much of the retries that are allowed now is used, from 0;
// above 1 when some were made that were not asked for.
func (b *Budget) Used(now time.Time) float64 {
	c := b.Config.WithDefaults()
	first, retries := b.Recent(now)
	if most := c.Ratio*first + c.Floor*window; most > 0 {
		return retries / most
	}
	return 0
}
