package outboxdemo

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// The bounds and defaults of a demonstration.
const (
	DefaultOrders  = 10_000
	MaxOrders      = 1_000_000
	DefaultCrashes = 20
	MaxCrashes     = 1000
)

// Config says what is shown. Command is required; zero values of the rest mean the
// defaults, without output.
type Config struct {
	Command  []string // starts a child of the demonstration, which reads the variable [Variable]
	Database string   // postgres://…; "": SQLite in a folder that is removed at the end
	Orders   int
	Crashes  int  // of the application, in each way; the relay has a third of them
	JSON     bool // the report as one document
	Seed     uint64
	Out      io.Writer // the report
	Err      io.Writer // progress
}

func (c Config) withDefaults() Config {
	if c.Orders == 0 {
		c.Orders = DefaultOrders
	}
	if c.Crashes == 0 {
		c.Crashes = DefaultCrashes
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
		errs = append(errs, errors.New("command is empty: nothing starts the application"))
	}
	if scheme, _, _ := strings.Cut(c.Database, ":"); c.Database != "" && scheme != "postgres" && scheme != "postgresql" {
		errs = append(errs, errors.New("database: want postgres://user@host/database"))
	}
	if c.Orders < 100 || c.Orders > MaxOrders {
		errs = append(errs, fmt.Errorf("orders %d: want 100 to %d", c.Orders, MaxOrders))
	}
	if c.Crashes < 3 || c.Crashes > MaxCrashes || c.Crashes > c.Orders/10 {
		errs = append(errs, fmt.Errorf("crashes %d: want 3 to %d, and no more than a tenth of the orders", c.Crashes, MaxCrashes))
	}
	return errors.Join(errs...)
}

// Way is how an application writes a row and sends an event.
type Way string

// The ways.
const (
	WriteSend Way = "write, then send"
	SendWrite Way = "send, then write"
	Outbox    Way = "outbox"
)

// Point is where a process kills itself.
type Point string

// The points of the application, and those of the relay.
const (
	Before  Point = "before"  // both
	Between Point = "between" // the two
	After   Point = "after"   // both

	Unsent       Point = "unsent"       // a batch is claimed, and nothing of it sent
	Half         Point = "half"         // half of a batch is delivered
	Acknowledged Point = "acknowledged" // all of it is, and the relay has not noted it
)

// points are where the application crashes, in turns. With an outbox there is one
// transaction and nothing between.
func (w Way) points() []Point {
	if w == Outbox {
		return []Point{Before, After}
	}
	return []Point{Before, Between, After}
}

func relayPoints() []Point { return []Point{Unsent, Half, Acknowledged} }
