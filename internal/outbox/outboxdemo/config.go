package outboxdemo

import (
	"cmp"
	"errors"
	"io"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Limits and defaults of a demonstration.
const (
	DefaultOrders  = 10_000
	MaxOrders      = 1_000_000
	DefaultCrashes = 20
	MaxCrashes     = 1000
)

// Config configures a demonstration. Command is required. Other fields with their zero
// values use defaults; without Out and Err there is no output.
type Config struct {
	Command  []string // starts a child process, which reads the variable [Variable]
	Database string   // postgres://…; empty: SQLite in a temporary directory
	Orders   int
	Crashes  int  // crashes of the application per way; the relay crashes a third as often
	JSON     bool // print the report as one JSON document
	Seed     uint64
	Out      io.Writer // receives the report
	Err      io.Writer // receives progress messages
}

func (c Config) withDefaults() Config {
	c.Orders = cmp.Or(c.Orders, DefaultOrders)
	c.Crashes = cmp.Or(c.Crashes, DefaultCrashes)
	c.Out = cmp.Or(c.Out, io.Discard)
	c.Err = cmp.Or(c.Err, io.Discard)
	return c
}

// Validate returns one error that names every invalid field, or nil.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs faults.List
	errs.If(len(c.Command) == 0, "command is empty: the demonstration cannot start the application")
	if scheme, _, _ := strings.Cut(c.Database, ":"); c.Database != "" && scheme != "postgres" && scheme != "postgresql" {
		errs = append(errs, errors.New("database: want postgres://user@host/database"))
	}
	errs.If(c.Orders < 100 || c.Orders > MaxOrders, "orders is %d, want 100 to %d", c.Orders, MaxOrders)
	errs.If(c.Crashes < 3 || c.Crashes > MaxCrashes || c.Crashes > c.Orders/10, "crashes is %d, want 3 to %d, and no more than a tenth of the orders", c.Crashes, MaxCrashes)
	return errors.Join(errs...)
}

// Way is a way to write a row and send an event.
type Way string

// The ways to write a row and send an event.
const (
	WriteSend Way = "write, then send"
	SendWrite Way = "send, then write"
	Outbox    Way = "outbox"
)

// Point is the place in a program where a process kills itself.
type Point string

// The points of the application, and those of the relay.
const (
	Before  Point = "before"  // before both steps
	Between Point = "between" // between the two steps
	After   Point = "after"   // after both steps

	Unsent       Point = "unsent"       // a batch is claimed, and none of it is sent
	Half         Point = "half"         // half of a batch is delivered
	Acknowledged Point = "acknowledged" // all of a batch is delivered, and the relay has not settled it
)

// points returns where the application crashes, in turns. With an outbox there is only one
// transaction, so no crash happens between two steps.
func (w Way) points() []Point {
	if w == Outbox {
		return []Point{Before, After}
	}
	return []Point{Before, Between, After}
}

func relayPoints() []Point { return []Point{Unsent, Half, Acknowledged} }
