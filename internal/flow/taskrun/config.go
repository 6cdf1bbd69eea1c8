package taskrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// The bounds of logs.
const (
	maxLog  = 10 << 20            // bytes kept of one attempt's
	keepLog = 30 * 24 * time.Hour // how long
)

// Config says how attempts run. Dir is required.
type Config struct {
	Dir       string         // the state directory, of this process alone
	Functions flow.Functions // tasks that are functions

	Environ []string     // what commands inherit as Inherit says, and where secrets are looked for; nil: our own environment
	Inherit proc.Inherit // what commands get of it
	User    string       // whom commands run as: a name or number, and :GROUP; "": as we do

	// Query runs the query of an SQL sensor: whether its first row's first column
	// is neither null, 0 nor false. nil: there are no SQL sensors.
	Query func(ctx context.Context, dsn, query string) (bool, error)
	Log   *slog.Logger // nil discards
}

func (c Config) withDefaults() Config {
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// Validate reports every field that is at fault.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs faults.List
	errs.If(c.Dir == "", "Dir: missing")
	if _, err := proc.FindUser(c.User); err != nil {
		errs = append(errs, fmt.Errorf("User: %w", err))
	}
	return errors.Join(errs...)
}
