package pool

import (
	"cmp"
	"errors"
	"log/slog"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/process/child"
	"github.com/bezoar-dev/bezoar/policy/backoff"
)

// Values that replace a zero in Config.
const (
	DefaultSize    = 4
	DefaultRecycle = 1000
	DefaultGrowth  = 256 << 20
	DefaultStart   = 30 * time.Second
	DefaultStarts  = 5
)

// MaxSize is the most children of one Pool.
const MaxSize = 1000

// Config describes a command that handles many messages, and how many copies of it run.
type Config struct {
	// Child is the command and its limits. Timeout and CPU apply per message here; Memory and Pids apply to a copy with all
	// its processes.
	Child child.Config

	Size    int   // children; 1 to 1,000, default 4
	Recycle int   // messages after which a child is replaced; default 1,000, below 0 means never
	Growth  int64 // bytes of memory that a child may gain after its hello before it is replaced (Linux); default 256 MiB, below 0 means no limit

	Start   time.Duration  // limit for a child's hello; default 30 s
	Exit    time.Duration  // from closing a child's stdin to SIGTERM; default Child.Grace
	Starts  int            // failed starts in a row after which the pool gives up; default 5
	Backoff backoff.Config // after failed starts and deaths of idle children; default 100 ms to 5 s
}

func (c Config) withDefaults() Config {
	or := func(n *int, def int) {
		*n = cmp.Or(*n, def)
	}
	or(&c.Size, DefaultSize)
	or(&c.Recycle, DefaultRecycle)
	or(&c.Starts, DefaultStarts)
	or(&c.Child.Tail, child.DefaultTail)
	c.Growth = cmp.Or(c.Growth, DefaultGrowth)
	c.Start = cmp.Or(c.Start, DefaultStart)
	c.Child.Grace = cmp.Or(c.Child.Grace, child.DefaultGrace)
	c.Exit = cmp.Or(c.Exit, c.Child.Grace)
	c.Backoff.Base = cmp.Or(c.Backoff.Base, 100*time.Millisecond)
	c.Backoff.Cap = cmp.Or(c.Backoff.Cap, max(5*time.Second, c.Backoff.Base))
	c.Child.Log = cmp.Or(c.Child.Log, slog.New(slog.DiscardHandler))
	return c
}

// Validate returns an error that names every invalid field.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs faults.List
	if err := c.Child.Validate(); err != nil {
		errs.Add("child: %w", err)
	}
	errs.If(c.Size < 1 || c.Size > MaxSize, "size is %d, want 1 to %d", c.Size, MaxSize)
	errs.If(c.Start < 0, "start is %v, want more than 0", c.Start)
	errs.If(c.Exit < 0, "exit is %v, want more than 0", c.Exit)
	errs.If(c.Starts < 0, "starts is %d, want at least 1", c.Starts)
	if err := c.Backoff.Validate(); err != nil {
		errs.Add("backoff: %w", err)
	}
	return errors.Join(errs...)
}

// runner returns the configuration of the children's runner. The pool itself enforces the limits per message.
func (c Config) runner() child.Config {
	r := c.Child
	r.Timeout, r.CPU = 0, 0
	return r
}
