package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Config sets an [Engine] up. The zero Config is useful.
type Config struct {
	// SweepEvery is the longest that a message whose last lease is over waits
	// to be set aside; 0 means 1 s.
	SweepEvery time.Duration
	// ExpireEvery is how often old messages and leftovers are removed; 0
	// means 10 s. Messages beyond their retention are never received anyway.
	ExpireEvery time.Duration
	// PollEvery is how often a waiting receive asks a store that other
	// processes use too; 0 means 250 ms.
	PollEvery time.Duration
	// Judge rules on deliveries that are released with an outcome; nil leaves
	// it to what the caller asked for.
	Judge Judge
	// Log says what went wrong during upkeep; nil discards it.
	Log *slog.Logger
}

// Judge rules on the end of a delivery that did not end well. It must not
// block.
type Judge interface {
	Judge(ctx context.Context, q Queue, r Receipt, o Outcome) Ruling
}

// Ruling is what happens to the message.
type Ruling struct {
	Delay  time.Duration // added to what the caller asked for
	Refund bool          // the receive does not count
	Dead   bool          // set it aside now
}

// Validate reports every field that is out of bounds.
func (c Config) Validate() error {
	var faults []error
	for name, d := range map[string]time.Duration{"SweepEvery": c.SweepEvery, "ExpireEvery": c.ExpireEvery, "PollEvery": c.PollEvery} {
		if d < 0 || d > time.Minute {
			faults = append(faults, fmt.Errorf("%s: %v is not within 0 to 1m", name, d))
		}
	}
	return errors.Join(faults...)
}

func (c Config) withDefaults() Config {
	if c.SweepEvery == 0 {
		c.SweepEvery = time.Second
	}
	if c.ExpireEvery == 0 {
		c.ExpireEvery = 10 * time.Second
	}
	if c.PollEvery == 0 {
		c.PollEvery = 250 * time.Millisecond
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}
