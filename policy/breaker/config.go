package breaker

import (
	"cmp"
	"errors"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
)

// MaxProbes bounds Config.Probes.
const MaxProbes = 64

// Off turns a rule of [Config] off.
const Off = -1

// Config says when a breaker trips and how it closes again. The zero value means the defaults below.
type Config struct {
	Window       time.Duration // length of the window; 1 ms to 1 h, default 10 s
	MinVolume    int           // least results in the window for the ratio rules; default 20
	FailureRatio float64       // trips at this share of failures; default 0.5, Off
	SlowRatio    float64       // trips at this share of slow calls; default 0.8, Off
	Consecutive  int           // trips at this many failures in a row, for any volume; default 10, Off
	Open         time.Duration // length of the first trip; default 5 s
	MaxOpen      time.Duration // length of the longest trip; default 5 min, at most 24 h
	Probes       int           // calls that test a half-open downstream, all of which must succeed; default 3, at most MaxProbes
	ProbeFor     time.Duration // when a probe without a result counts as failed; default 30 s, at most 24 h
	Node         string        // name of this process among those that share the breaker; "": not shared
}

// WithDefaults returns c with defaults in place of zero fields.
func (c Config) WithDefaults() Config {
	c.Window = cmp.Or(c.Window, 10*time.Second)
	c.MinVolume = cmp.Or(c.MinVolume, 20)
	c.FailureRatio = cmp.Or(c.FailureRatio, 0.5)
	c.SlowRatio = cmp.Or(c.SlowRatio, 0.8)
	c.Consecutive = cmp.Or(c.Consecutive, 10)
	c.Open = cmp.Or(c.Open, 5*time.Second)
	c.MaxOpen = cmp.Or(c.MaxOpen, max(5*time.Minute, c.Open))
	c.Probes = cmp.Or(c.Probes, 3)
	c.ProbeFor = cmp.Or(c.ProbeFor, 30*time.Second)
	return c
}

// Validate reports every invalid field.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var errs faults.List

	errs.If(c.Window < time.Millisecond || c.Window > time.Hour, "window is %v, want 1ms to 1h", c.Window)
	errs.If(c.MinVolume < 1, "min volume is %d, want 1 or more", c.MinVolume)
	errs.If(c.FailureRatio != Off && (c.FailureRatio < 0 || c.FailureRatio > 1), "failure ratio is %g, want more than 0, up to 1, or %d for off", c.FailureRatio, Off)
	errs.If(c.SlowRatio != Off && (c.SlowRatio < 0 || c.SlowRatio > 1), "slow ratio is %g, want more than 0, up to 1, or %d for off", c.SlowRatio, Off)
	errs.If(c.Consecutive < Off, "consecutive is %d, want 1 or more, or %d for off", c.Consecutive, Off)
	errs.If(c.Open < time.Millisecond, "open is %v, want 1ms or more", c.Open)
	errs.If(c.MaxOpen < c.Open || c.MaxOpen > 24*time.Hour, "max open is %v, want open (%v) to 24h", c.MaxOpen, c.Open)
	errs.If(c.Probes < 1 || c.Probes > MaxProbes, "probes is %d, want 1 to %d", c.Probes, MaxProbes)
	errs.If(c.ProbeFor < time.Millisecond || c.ProbeFor > 24*time.Hour, "probe for is %v, want 1ms to 24h", c.ProbeFor)
	return errors.Join(errs...)
}

// openFor returns the length of the level-th trip in a row, reduced at random by up to a fifth, so that nodes do not come
// back together. random is in [0, 1).
func (c *Config) openFor(level uint8, random float64) time.Duration {
	d := c.Open
	for range level - 1 {
		if d > c.MaxOpen/2 {
			d = c.MaxOpen
			break
		}
		d *= 2
	}
	return d - time.Duration(random*float64(d/5))
}
