package outage

import (
	"cmp"
	"errors"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Config says when a guard trips and how long it pauses. The zero value means the defaults below.
type Config struct {
	Window    time.Duration // length of the window; 1 s to 24 h, default 1 min
	Least     int           // distinct payloads that must fail in the same way; 2 to 100, default 5
	Share     float64       // their least share of all that ended; above 0, up to 1, default 0.2
	Pause     time.Duration // the first pause; default 30 s
	Cap       time.Duration // the longest pause; default 10 min, at most 24 h
	CanaryFor time.Duration // when a canary without a result counts as lost; default 1 min, at most 24 h
}

// WithDefaults returns c with defaults in place of zero fields.
func (c Config) WithDefaults() Config {
	c.Window = cmp.Or(c.Window, time.Minute)
	c.Least = cmp.Or(c.Least, 5)
	c.Share = cmp.Or(c.Share, 0.2)
	c.Pause = cmp.Or(c.Pause, 30*time.Second)
	c.Cap = cmp.Or(c.Cap, max(10*time.Minute, c.Pause))
	c.CanaryFor = cmp.Or(c.CanaryFor, time.Minute)
	return c
}

// Validate reports every invalid field.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var errs faults.List

	errs.If(c.Window < time.Second || c.Window > 24*time.Hour, "window is %v, want 1s to 24h", c.Window)
	errs.If(c.Least < 2 || c.Least > 100, "least is %d, want 2 to 100 distinct payloads", c.Least)
	errs.If(c.Share < 0 || c.Share > 1, "share is %g, want more than 0, up to 1", c.Share)
	errs.If(c.Pause < time.Millisecond, "pause is %v, want 1ms or more", c.Pause)
	errs.If(c.Cap < c.Pause || c.Cap > 24*time.Hour, "cap is %v, want pause (%v) to 24h", c.Cap, c.Pause)
	errs.If(c.CanaryFor < time.Millisecond || c.CanaryFor > 24*time.Hour, "canary for is %v, want 1ms to 24h", c.CanaryFor)
	return errors.Join(errs...)
}

// pause returns the length of the level-th pause in a row.
func (c *Config) pause(level uint8) time.Duration {
	d := c.Pause
	for range level - 1 {
		if d > c.Cap/2 {
			return c.Cap
		}
		d *= 2
	}
	return d
}
