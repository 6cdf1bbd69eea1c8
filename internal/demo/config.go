package demo

import (
	"cmp"
	"errors"
	"io"
	"time"

	"github.com/bezoar-dev/bezoar/internal/demo/traffic"
	"github.com/bezoar-dev/bezoar/internal/faults"
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
	c.Pill = cmp.Or(c.Pill, traffic.Crash)
	c.Length = cmp.Or(c.Length, DefaultLength)
	c.Workers = cmp.Or(c.Workers, DefaultWorkers)
	c.Rate = cmp.Or(c.Rate, DefaultRate)
	c.boot = cmp.Or(c.boot, defaultBoot)
	c.slowest = cmp.Or(c.slowest, defaultSlowest)
	c.Out = cmp.Or(c.Out, io.Discard)
	c.Err = cmp.Or(c.Err, io.Discard)
	return c
}

// Validate joins every fault.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs faults.List
	errs.If(len(c.Command) == 0, "command is empty: nothing starts the sample workers")
	if _, err := traffic.ParsePill(string(c.Pill)); err != nil {
		errs = append(errs, err)
	}
	errs.If(c.Length < 2*time.Second || c.Length > MaxLength, "seconds is %v, want 2 to %v", c.Length.Seconds(), MaxLength.Seconds())
	errs.If(c.Workers < 2 || c.Workers > MaxWorkers, "workers is %d, want 2 to %d", c.Workers, MaxWorkers)
	errs.If(c.Rate < 1 || c.Rate > traffic.MaxRate, "rate is %d, want 1 to %d good requests per second", c.Rate, traffic.MaxRate)
	return errors.Join(errs...)
}

// lead is how long the good traffic has the fleet for itself.
func (c Config) lead() time.Duration { return min(time.Second, c.Length/5) }

func (c Config) crowd() traffic.Config {
	return traffic.Config{Rate: c.Rate, Pill: c.Pill, Lead: c.lead(), Seed: 1}
}
