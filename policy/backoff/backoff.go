// Package backoff computes how long to wait before trying again. It is pure:
// randomness is an argument.
package backoff

import (
	"errors"
	"fmt"
	"time"
)

// Config is exponential backoff with full jitter (Brooker, "Exponential Backoff
// And Jitter", 2015): uniform between 0 and min(Cap, Base·2^attempt). The zero
// value means 1 s and 5 min.
type Config struct {
	Base time.Duration // upper end of the first wait; default 1 s
	Cap  time.Duration // upper end of every wait; default 5 min
}

// WithDefaults returns c with every zero field set to its default.
func (c Config) WithDefaults() Config {
	if c.Base == 0 {
		c.Base = time.Second
	}
	if c.Cap == 0 {
		c.Cap = max(5*time.Minute, c.Base)
	}
	return c
}

// Validate reports every impossible field.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var errs []error
	if c.Base < 0 {
		errs = append(errs, fmt.Errorf("base is %v, want more than 0", c.Base))
	}
	if c.Cap < c.Base {
		errs = append(errs, fmt.Errorf("cap is %v, want at least base (%v)", c.Cap, c.Base))
	}
	return errors.Join(errs...)
}

// Ceiling is the longest possible wait before the attempt-th retry, counted
// from 0.
func (c Config) Ceiling(attempt int) time.Duration {
	c = c.WithDefaults()
	d := c.Base
	for range attempt {
		if d >= c.Cap/2 {
			return c.Cap
		}
		d *= 2
	}
	return min(d, c.Cap)
}

// Wait is the wait before the attempt-th retry, counted from 0, for random in
// [0, 1).
func (c Config) Wait(attempt int, random float64) time.Duration {
	return time.Duration(random * float64(c.Ceiling(attempt)))
}
