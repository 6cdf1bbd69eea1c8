package poison

import (
	"errors"
	"fmt"
	"time"
)

// Config says when a payload is refused, and for how long. The zero value means
// two strikes, 15 min and 24 h.
type Config struct {
	Off    bool          // nothing waits, nothing is suspected
	After  int           // strikes; 1 to 8, default 2
	For    time.Duration // the first quarantine; doubles with every conviction; default 15 min
	Max    time.Duration // and ends here; default 24 h
	Forget time.Duration // how long a case is kept that nothing happened to; default 24 h
}

// Bounds of [Config].
const (
	MaxAfter = 8
	MaxTerm  = 30 * 24 * time.Hour
	MinTerm  = time.Second
)

// How often the same failure of one payload ends its retries.
const (
	SameCrash   = 2
	SameInvalid = 2
	SameBug     = 3
)

// WithDefaults returns c with every zero field set to its default.
func (c Config) WithDefaults() Config {
	if c.After == 0 {
		c.After = 2
	}
	if c.For == 0 {
		c.For = 15 * time.Minute
	}
	if c.Max == 0 {
		c.Max = max(24*time.Hour, c.For)
	}
	if c.Forget == 0 {
		c.Forget = 24 * time.Hour
	}
	return c
}

// Validate reports every impossible field.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var faults []error
	if c.After < 1 || c.After > MaxAfter {
		faults = append(faults, fmt.Errorf("after is %d, want 1 to %d strikes", c.After, MaxAfter))
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"for", c.For}, {"max", c.Max}, {"forget", c.Forget}} {
		if d.value < MinTerm || d.value > MaxTerm {
			faults = append(faults, fmt.Errorf("%s is %v, want %v to %v", d.name, d.value, MinTerm, MaxTerm))
		}
	}
	if c.Max < c.For {
		faults = append(faults, fmt.Errorf("max is %v, want at least for (%v)", c.Max, c.For))
	}
	return errors.Join(faults...)
}
