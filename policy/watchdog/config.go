package watchdog

import (
	"cmp"
	"errors"
	"math"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Off as Config.MinUptime permits restarts of workers of any age.
const Off = -1

// maxPerHour bounds Config.PerHour.
const maxPerHour = 1000

// Config says when workers are restarted. The zero value means the defaults below.
type Config struct {
	Limits     Limits        // default: only Descriptors, 0.9, if none is set
	For        time.Duration // how long a breach must last; 1 s to 24 h, default 30 s
	Window     time.Duration // time over which growth is measured; 10 s to 24 h, default 10 min, or the time in which growth at its limit adds 16 MiB
	Share      float64       // share of the fleet that may be away; at most 0.5, default 0.25
	MinUptime  time.Duration // least age of a worker for a restart; Off, up to 24 h, default 2 min
	MaxBackoff time.Duration // bound of the doubled MinUptime; up to 24 h, default 1 h
	PerHour    int           // restarts of the fleet; 1 to 1000, default 6
	Strikes    int           // restarts in a row without effect after which a worker is given up; 1 to 100, default 3
	Calm       time.Duration // time without a breach after which what was given up is watched again; 1 min to 7 days, default 1 h
}

// WithDefaults returns c with defaults in place of zero fields.
func (c Config) WithDefaults() Config {
	if c.Limits == (Limits{}) {
		c.Limits.Descriptors = 0.9
	}
	c.For = cmp.Or(c.For, 30*time.Second)
	c.Window = cmp.Or(c.Window, windowFor(c.Limits))
	c.Share = cmp.Or(c.Share, 0.25)
	c.MinUptime = cmp.Or(c.MinUptime, 2*time.Minute)
	c.MaxBackoff = cmp.Or(c.MaxBackoff, max(time.Hour, c.MinUptime))
	c.PerHour = cmp.Or(c.PerHour, 6)
	c.Strikes = cmp.Or(c.Strikes, 3)
	c.Calm = cmp.Or(c.Calm, time.Hour)
	return c
}

// The bounds of Config.Window.
const (
	minWindow     = 10 * time.Second
	defaultWindow = 10 * time.Minute
	maxWindow     = 24 * time.Hour
)

// windowFor returns the shortest window in which growth at its limit exceeds the noise.
func windowFor(l Limits) time.Duration {
	w := defaultWindow
	if l.Growth > 0 {
		w = max(w, hours(4*noise, l.Growth))
	}
	return min(w, maxWindow)
}

// hours returns how long growth by bytes takes.
func hours(bytes float64, perHour int64) time.Duration {
	return time.Duration(min(bytes/float64(perHour)*float64(time.Hour), float64(1<<62)))
}

// Validate reports every invalid field.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var errs faults.List

	for s := range signals {
		v := c.Limits.of(s)
		errs.If(!(v >= 0), "limits: %v is %v, want 0 or more", s, v)
	}
	errs.If(c.Limits.Descriptors > 1, "limits: descriptors is %g, want a share of 1", c.Limits.Descriptors)
	errs.If(c.For < time.Second || c.For > 24*time.Hour, "for is %v, want 1s to 24h", c.For)
	errs.If(c.Window < minWindow || c.Window > maxWindow, "window is %v, want %v to %v", c.Window, minWindow, maxWindow)
	if limit := c.Limits.Growth; limit > 0 {
		const least = noise * parts / (parts - 1) // in a window
		said, need := Growth.Say(float64(limit)), hours(least, limit)
		if need > maxWindow {
			errs.If(true, "limits: growth is %s, which is noise in any window: want %s or more", said, Growth.Say(math.Ceil(least/maxWindow.Hours())))
		} else {
			errs.If(c.Window < need, "window is %v, in which %s is noise: want %v or more, or a higher limit", c.Window, said, need.Round(time.Second))
		}
	}
	errs.If(!(c.Share > 0 && c.Share <= 0.5), "share is %g, want more than 0, up to 0.5", c.Share)
	errs.If(c.MinUptime != Off && c.MinUptime < 0 || c.MinUptime > 24*time.Hour, "min uptime is %v, want up to 24h, or %d for none", c.MinUptime, Off)
	errs.If(c.MaxBackoff < max(time.Second, c.MinUptime) || c.MaxBackoff > 24*time.Hour, "max backoff is %v, want min uptime (%v) to 24h", c.MaxBackoff, c.MinUptime)
	errs.If(c.PerHour < 1 || c.PerHour > maxPerHour, "per hour is %d, want 1 to %d", c.PerHour, maxPerHour)
	errs.If(c.Strikes < 1 || c.Strikes > 100, "strikes is %d, want 1 to 100", c.Strikes)
	errs.If(c.Calm < time.Minute || c.Calm > 7*24*time.Hour, "calm is %v, want 1m to 168h", c.Calm)
	return errors.Join(errs...)
}

// soon is how soon after a restart a worker may be due again so that the restart counts as useless. A worker with such a
// short life would be restarted continuously.
func (c *Config) soon() time.Duration {
	return max(c.MinUptime, 2*c.For, time.Hour/time.Duration(c.PerHour))
}

// backoff returns how long a worker must be up after restarts that did not help.
func (c *Config) backoff(strikes int) time.Duration {
	if strikes == 0 {
		return max(0, c.MinUptime)
	}
	wait := max(c.MinUptime, c.For)
	for range strikes {
		if wait >= c.MaxBackoff {
			break
		}
		wait *= 2
	}
	return min(wait, max(c.MaxBackoff, c.MinUptime))
}
