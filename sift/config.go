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
	// MinBatch is the smallest default batch: an input with fewer rows runs as one batch,
	// so that a good input takes one plain run.
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

// DefaultBatch returns how many rows of an input run at once by default.
func DefaultBatch(rows int) int { return max(MinBatch, (rows+Batches-1)/Batches) }

// Config says which rows to run, and how.
type Config struct {
	Rows int // how many rows there are

	// Run runs one batch. It may be called from several goroutines, and with a Batch
	// without rows, to see whether the rows are the cause at all. When ctx ends it should
	// return Interrupted.
	Run func(ctx context.Context, b Batch) Outcome
	// Finish is called for each successful run: the rows are done. SetAside is called for
	// each guilty row. Only one of these calls runs at a time. An error of theirs ends
	// Run.
	Finish   func(b Batch, o Outcome) error
	SetAside func(l Letter) error

	// Done are rows that were finished or set aside before.
	Done []Span
	// Batch is the largest number of rows of one run; 0 means DefaultBatch(Rows).
	Batch int
	// Fit returns the largest end such that the rows from..end may run together, at most
	// to and at least from+1. nil means that only Batch limits a run.
	Fit func(from, to int) int

	Parallel   int            // runs at once, after the first one has succeeded; default 1
	Attempts   int            // of a run that fails transiently; default 5
	Backoff    backoff.Config // between them
	MaxLetters int            // more are an error; default 10,000
	// Blame says that the rows are the cause even if everything fails. Run then does not
	// check whether the command is the cause.
	Blame bool

	// Progress, if not nil, is called after every run, one call at a time.
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
