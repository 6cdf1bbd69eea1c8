package shed

import (
	"errors"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
)

// MaxLimit bounds every limit.
const MaxLimit = 1 << 20

// Config says how much work runs at once. The zero value means an adaptive limit.
type Config struct {
	Fixed int // the limit; 0: adaptive, with the following fields

	Min       int           // least adaptive limit; default 4
	Max       int           // largest adaptive limit; default 1000
	Initial   int           // first value; default 20, within Min and Max
	Tolerance float64       // latencies up to this many times the baseline are normal; 1 to 10, default 1.5
	Smoothing float64       // share of the way to its goal that the limit moves per window; default 0.2
	Backoff   float64       // factor of the limit after a dropped result; default 0.9
	Window    time.Duration // least length of a window; default 100 ms, 1 ms to 1 min
	Samples   int           // least results in a window; default 32, 4 to 10,000
	Recheck   time.Duration // how long latency may be too high before the baseline is tested; default 10 s

	Turn time.Duration // time in which every caller of a priority is first once; default 1 h, 1 s to 30 days
}

// WithDefaults returns c with defaults in place of zero fields.
func (c Config) WithDefaults() Config {
	set(&c.Min, 4)
	set(&c.Max, max(1000, c.Min))
	set(&c.Initial, min(max(20, c.Min), c.Max))
	set(&c.Tolerance, 1.5)
	set(&c.Smoothing, 0.2)
	set(&c.Backoff, 0.9)
	set(&c.Window, 100*time.Millisecond)
	set(&c.Samples, 32)
	set(&c.Recheck, 10*time.Second)
	set(&c.Turn, time.Hour)
	return c
}

func set[T comparable](field *T, to T) {
	var zero T
	if *field == zero {
		*field = to
	}
}

// Validate reports every invalid field.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var errs faults.List

	errs.If(c.Fixed < 0 || c.Fixed > MaxLimit, "fixed is %d, want 1 to %d, or 0 for an adaptive limit", c.Fixed, MaxLimit)
	errs.If(c.Min < 1 || c.Min > MaxLimit, "min is %d, want 1 to %d", c.Min, MaxLimit)
	errs.If(c.Max < c.Min || c.Max > MaxLimit, "max is %d, want min (%d) to %d", c.Max, c.Min, MaxLimit)
	errs.If(c.Initial < c.Min || c.Initial > c.Max, "initial is %d, want min (%d) to max (%d)", c.Initial, c.Min, c.Max)
	errs.If(!(c.Tolerance >= 1 && c.Tolerance <= 10), "tolerance is %g, want 1 to 10", c.Tolerance)
	errs.If(!(c.Smoothing > 0 && c.Smoothing <= 1), "smoothing is %g, want more than 0, up to 1", c.Smoothing)
	errs.If(!(c.Backoff >= 0.5 && c.Backoff < 1), "backoff is %g, want 0.5 to less than 1", c.Backoff)
	errs.If(c.Window < time.Millisecond || c.Window > time.Minute, "window is %v, want 1ms to 1m", c.Window)
	errs.If(c.Samples < 4 || c.Samples > 10_000, "samples is %d, want 4 to 10000", c.Samples)
	errs.If(c.Recheck < c.Window || c.Recheck > time.Hour, "recheck is %v, want window (%v) to 1h", c.Recheck, c.Window)
	errs.If(c.Turn < time.Second || c.Turn > 30*24*time.Hour, "turn is %v, want 1s to 720h", c.Turn)
	return errors.Join(errs...)
}
