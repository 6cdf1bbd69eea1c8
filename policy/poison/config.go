package poison

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Config says when a payload is refused, and for how long. The zero value means two strikes, 15 min and 24 h.
type Config struct {
	Off    bool          // no payload waits or becomes suspect
	After  int           // strikes; 1 to 8, default 2
	For    time.Duration // the first quarantine; doubles with every conviction; default 15 min
	Max    time.Duration // the longest quarantine; default 24 h
	Forget time.Duration // how long a case without events is kept; default 24 h
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

// WithDefaults returns cfg with defaults in place of zero fields.
func (cfg Config) WithDefaults() Config {
	cfg.After = cmp.Or(cfg.After, 2)
	cfg.For = cmp.Or(cfg.For, 15*time.Minute)
	cfg.Max = cmp.Or(cfg.Max, max(24*time.Hour, cfg.For))
	cfg.Forget = cmp.Or(cfg.Forget, 24*time.Hour)
	return cfg
}

// Validate reports every invalid field.
func (cfg Config) Validate() error {
	cfg = cfg.WithDefaults()
	var faults []error
	if cfg.After < 1 || cfg.After > MaxAfter {
		faults = append(faults, fmt.Errorf("after is %d, want 1 to %d strikes", cfg.After, MaxAfter))
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"for", cfg.For}, {"max", cfg.Max}, {"forget", cfg.Forget}} {
		if d.value < MinTerm || d.value > MaxTerm {
			faults = append(faults, fmt.Errorf("%s is %v, want %v to %v", d.name, d.value, MinTerm, MaxTerm))
		}
	}
	if cfg.Max < cfg.For {
		faults = append(faults, fmt.Errorf("max is %v, want at least for (%v)", cfg.Max, cfg.For))
	}
	return errors.Join(faults...)
}
