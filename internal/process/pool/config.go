package pool

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/bezoar-dev/bezoar/internal/process/child"
	"github.com/bezoar-dev/bezoar/policy/backoff"
)

// What Config means by zero.
const (
	DefaultSize    = 4
	DefaultRecycle = 1000
	DefaultGrowth  = 256 << 20
	DefaultStart   = 30 * time.Second
	DefaultStarts  = 5
)

// MaxSize bounds the children of one Pool.
const MaxSize = 1000

// Config describes a command that takes messages, and how many copies of it run.
type Config struct {
	// Child is the command and what holds each copy in. Timeout and CPU are per
	// message here; memory and processes are of everything that a copy is.
	Child child.Config

	Size    int   // children; 1 to 1,000, default 4
	Recycle int   // messages until a child is replaced; default 1,000, below 0 means never
	Growth  int64 // bytes of memory that a child may gain from its hello on until it is replaced (Linux); default 256 MiB, below 0 means any

	Start   time.Duration  // until a child's hello; default 30 s
	Exit    time.Duration  // for a child to end once its stdin is closed, until SIGTERM; default Child.Grace
	Starts  int            // failed starts in a row until the pool gives up; default 5
	Backoff backoff.Config // between failed starts and after idle deaths; default 100 ms to 5 s
}

func (c Config) withDefaults() Config {
	or := func(n *int, def int) {
		if *n == 0 {
			*n = def
		}
	}
	or(&c.Size, DefaultSize)
	or(&c.Recycle, DefaultRecycle)
	or(&c.Starts, DefaultStarts)
	or(&c.Child.Tail, child.DefaultTail)
	if c.Growth == 0 {
		c.Growth = DefaultGrowth
	}
	if c.Start == 0 {
		c.Start = DefaultStart
	}
	if c.Child.Grace == 0 {
		c.Child.Grace = child.DefaultGrace
	}
	if c.Exit == 0 {
		c.Exit = c.Child.Grace
	}
	if c.Backoff.Base == 0 {
		c.Backoff.Base = 100 * time.Millisecond
	}
	if c.Backoff.Cap == 0 {
		c.Backoff.Cap = max(5*time.Second, c.Backoff.Base)
	}
	if c.Child.Log == nil {
		c.Child.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Validate reports every impossible field.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if err := c.Child.Validate(); err != nil {
		bad("child: %w", err)
	}
	if c.Size < 1 || c.Size > MaxSize {
		bad("size is %d, want 1 to %d", c.Size, MaxSize)
	}
	if c.Start < 0 {
		bad("start is %v, want more than 0", c.Start)
	}
	if c.Exit < 0 {
		bad("exit is %v, want more than 0", c.Exit)
	}
	if c.Starts < 0 {
		bad("starts is %d, want at least 1", c.Starts)
	}
	if err := c.Backoff.Validate(); err != nil {
		bad("backoff: %w", err)
	}
	return errors.Join(errs...)
}

// runner is what the children are started by. What is per message is ours to
// hold them to.
func (c Config) runner() child.Config {
	r := c.Child
	r.Timeout, r.CPU = 0, 0
	return r
}
