package sift

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/policy/backoff"
)

// What Config means by zero.
const (
	DefaultAttempts   = 5
	DefaultMaxLetters = 10_000
	// MinBatch is the smallest default batch: so many rows are run at once even
	// when that is all there is, so that a good input is one plain run.
	MinBatch = 10_000
	// Batches is about how many batches larger inputs are cut into: few enough
	// to keep within k·log2(n) runs, enough that a failure costs a sixteenth of
	// the work and not all of it.
	Batches = 16
)

// The bounds of a Config, and of what is kept.
const (
	MaxParallel   = 256
	MaxTogether   = 100              // of Summary.Together; more are only counted
	MaxRetryAfter = 15 * time.Minute // longer waits are cut to it
)

// DefaultBatch is how many rows of an input are run at once.
func DefaultBatch(rows int) int { return max(MinBatch, (rows+Batches-1)/Batches) }

// Config says what is sifted and how.
type Config struct {
	Rows int // how many rows there are

	// Run runs one batch. It may be called from several goroutines, and for a
	// Batch without rows, to see whether it is the rows at all. When ctx ends
	// it should end with Interrupted.
	Run func(ctx context.Context, b Batch) Outcome
	// Finish is told of each successful run: the rows are done. SetAside is
	// told of each guilty row. They are called one at a time; an error ends
	// the sifting.
	Finish   func(b Batch, o Outcome) error
	SetAside func(l Letter) error

	// Done are rows that were finished or set aside before.
	Done []Span
	// Batch is the most rows of one run; 0 means DefaultBatch(Rows).
	Batch int
	// Fit returns the largest end for which the rows from..end may run
	// together, at most to and at least from+1; nil for no limit but Batch.
	Fit func(from, to int) int

	Parallel   int            // runs at once, after the first has worked; default 1
	Attempts   int            // of a run that fails for now; default 5
	Backoff    backoff.Config // between them
	MaxLetters int            // more are an error; default 10,000
	// Blame says that it is the rows, also when everything fails: nothing is
	// tried to find out whether it is the command.
	Blame bool

	// Progress, if not nil, is told after every run how far things are. It is
	// called one at a time.
	Progress func(Progress)
}

func (c Config) withDefaults() Config {
	or := func(n *int, def int) {
		*n = cmp.Or(*n, def)
	}
	or(&c.Batch, DefaultBatch(c.Rows))
	or(&c.Parallel, 1)
	or(&c.Attempts, DefaultAttempts)
	or(&c.MaxLetters, DefaultMaxLetters)
	if c.Fit == nil {
		c.Fit = func(_, to int) int { return to }
	}
	if c.Progress == nil {
		c.Progress = func(Progress) {}
	}
	c.Backoff = c.Backoff.WithDefaults()
	return c
}

// Validate reports every impossible field.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs faults.List
	errs.If(c.Rows < 0, "rows is %d, want 0 or more", c.Rows)
	errs.If(c.Run == nil || c.Finish == nil || c.SetAside == nil, "run, finish and set-aside are all needed")
	for _, f := range []struct {
		name        string
		value, most int
	}{
		{"batch", c.Batch, max(c.Batch, 1)},
		{"parallel", c.Parallel, MaxParallel},
		{"attempts", c.Attempts, 1000},
		{"max letters", c.MaxLetters, max(c.MaxLetters, 1)},
	} {
		errs.If(f.value < 1 || f.value > f.most, "%s is %d, want at least 1 and at most %d", f.name, f.value, f.most)
	}
	for i, s := range c.Done {
		if s.From < 0 || s.To < s.From || s.To > c.Rows {
			errs.Add("done[%d] is %d to %d, of %d rows", i, s.From, s.To, c.Rows)
			break
		}
	}
	if err := c.Backoff.Validate(); err != nil {
		errs.Add("backoff: %w", err)
	}
	return errors.Join(errs...)
}
