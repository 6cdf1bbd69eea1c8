package backoff

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"
)

// Config says how waits grow. The zero value means full jitter between 1 s and 5 min.
type Config struct {
	Strategy Strategy      // default FullJitter
	Base     time.Duration // the first ceiling; default 1 s
	Cap      time.Duration // bound of every wait; default 5 min
}

// WithDefaults returns c with defaults in place of zero fields.
func (c Config) WithDefaults() Config {
	c.Base = cmp.Or(c.Base, time.Second)
	c.Cap = cmp.Or(c.Cap, max(5*time.Minute, c.Base))
	return c
}

// Validate reports every invalid field.
func (c Config) Validate() error {
	c = c.WithDefaults()
	errs := []error{c.Strategy.Valid()}
	if c.Base < 0 {
		errs = append(errs, fmt.Errorf("base is %v, want more than 0", c.Base))
	}
	if c.Cap < c.Base {
		errs = append(errs, fmt.Errorf("cap is %v, want at least base (%v)", c.Cap, c.Base))
	}
	return errors.Join(errs...)
}

// growth returns the first ceiling and the factor between ceilings.
func (c Config) growth() (first time.Duration, factor int64) {
	switch c.Strategy {
	case Immediate:
		return 0, 1
	case Fixed:
		return min(c.Base, c.Cap), 1
	case Decorrelated:
		return c.grow(c.Base, 3), 3
	case Exponential, FullJitter, EqualJitter:
	}
	return min(c.Base, c.Cap), 2
}

// grow returns min(Cap, d·factor), without overflow.
func (c Config) grow(d time.Duration, factor int64) time.Duration {
	if d > c.Cap/time.Duration(factor) {
		return c.Cap
	}
	return d * time.Duration(factor)
}

// Ceiling returns the longest possible wait before the attempt-th retry, counted from 0.
func (c Config) Ceiling(attempt int) time.Duration {
	c = c.WithDefaults()
	d, factor := c.growth()
	if factor == 1 {
		return d
	}
	for range attempt {
		if d >= c.Cap {
			break
		}
		d = c.grow(d, factor)
	}
	return d
}

// Wait returns the wait before the attempt-th retry, counted from 0. random is in [0, 1). Use it if you do not keep the
// previous wait; otherwise use [Config.After].
func (c Config) Wait(attempt int, random float64) time.Duration {
	return c.After(attempt, 0, random)
}

// After returns the wait before the attempt-th retry, counted from 0. previous is the wait before that, and random is in
// [0, 1). Only decorrelated jitter uses previous: 0 means unknown, and stands for the middle of its possible values.
func (c Config) After(attempt int, previous time.Duration, random float64) time.Duration {
	c = c.WithDefaults()
	ceiling := c.Ceiling(attempt)
	switch c.Strategy {
	case Immediate, Fixed, Exponential:
		return ceiling
	case EqualJitter:
		return ceiling - ceiling/2 + share(ceiling/2, random)
	case Decorrelated:
		if previous <= 0 && attempt > 0 {
			previous = c.Base + (c.Ceiling(attempt-1)-c.Base)/2
		}
		return c.decorrelated(ceiling, max(previous, c.Base), random)
	case FullJitter:
	}
	return share(ceiling, random)
}

// decorrelated returns min(ceiling, uniform(Base, 3·previous)). The upper end may exceed the ceiling, so many waits equal
// the ceiling.
func (c Config) decorrelated(ceiling, previous time.Duration, random float64) time.Duration {
	more := random * (3*float64(previous) - float64(c.Base))
	if more >= float64(ceiling-c.Base) {
		return ceiling
	}
	return min(c.Base+time.Duration(more), ceiling)
}

func share(d time.Duration, random float64) time.Duration {
	return min(time.Duration(random*float64(d)), d) // a rounded float may exceed d
}

// maxDuration replaces every sum that does not fit.
const maxDuration = time.Duration(math.MaxInt64)
