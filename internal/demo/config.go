package demo

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/bezoar-dev/bezoar/internal/demo/traffic"
)

// The bounds and defaults of a demonstration.
const (
	MaxWorkers     = 64
	MaxLength      = 10 * time.Minute
	DefaultWorkers = 8
	DefaultLength  = 10 * time.Second
	// DefaultRate keeps eight workers a tenth busy, and two cores a third.
	DefaultRate = 120
	// defaultBoot is how long a worker takes to start; most real ones need longer.
	defaultBoot = 1500 * time.Millisecond
	// defaultSlowest is how long an answer may take to begin: twenty times what
	// the slowest good one takes.
	defaultSlowest = 1500 * time.Millisecond
)

// Config says what is shown. Command is required; zero values of the rest mean
// the defaults, without output.
type Config struct {
	Command []string      // what starts one sample worker; it reads PORT
	Pill    traffic.Pill  // default crash
	Length  time.Duration // of each half, from 2 s
	Workers int           // from 2
	Rate    int           // good requests per second
	JSON    bool          // the report as one document

	Out io.Writer // the report
	Err io.Writer // progress

	boot    time.Duration // how long a worker takes to start; the tests are in a hurry
	slowest time.Duration // how long an answer may take to begin; the tests share the machine
}

func (c Config) withDefaults() Config {
	if c.Pill == "" {
		c.Pill = traffic.Crash
	}
	if c.Length == 0 {
		c.Length = DefaultLength
	}
	if c.Workers == 0 {
		c.Workers = DefaultWorkers
	}
	if c.Rate == 0 {
		c.Rate = DefaultRate
	}
	if c.boot == 0 {
		c.boot = defaultBoot
	}
	if c.slowest == 0 {
		c.slowest = defaultSlowest
	}
	if c.Out == nil {
		c.Out = io.Discard
	}
	if c.Err == nil {
		c.Err = io.Discard
	}
	return c
}

// Validate joins every fault.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	if len(c.Command) == 0 {
		errs = append(errs, errors.New("command is empty: nothing starts the sample workers"))
	}
	if _, err := traffic.ParsePill(string(c.Pill)); err != nil {
		errs = append(errs, err)
	}
	if c.Length < 2*time.Second || c.Length > MaxLength {
		errs = append(errs, fmt.Errorf("seconds %v: want 2 to %v", c.Length.Seconds(), MaxLength.Seconds()))
	}
	if c.Workers < 2 || c.Workers > MaxWorkers {
		errs = append(errs, fmt.Errorf("workers %d: want 2 to %d", c.Workers, MaxWorkers))
	}
	if c.Rate < 1 || c.Rate > traffic.MaxRate {
		errs = append(errs, fmt.Errorf("rate %d: want 1 to %d good requests per second", c.Rate, traffic.MaxRate))
	}
	return errors.Join(errs...)
}

// lead is how long the good traffic has the fleet for itself.
func (c Config) lead() time.Duration { return min(time.Second, c.Length/5) }

// crowd is the traffic of one half.
func (c Config) crowd() traffic.Config {
	return traffic.Config{Rate: c.Rate, Pill: c.Pill, Lead: c.lead(), Seed: 1}
}
