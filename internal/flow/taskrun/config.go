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

// Limits of logs.
const (
	maxLog  = 10 << 20            // bytes kept of one attempt's
	keepLog = 30 * 24 * time.Hour // how long
)

// Config configures a Runner. Dir is required.
type Config struct {
	Dir       string         // the state directory, used by this process only
	Functions flow.Functions // tasks that are functions

	Environ []string     // environment that commands inherit as Inherit says, and source of secrets; nil: this process's own
	Inherit proc.Inherit // which variables commands inherit
	User    string       // user of the commands: a name or number, and :GROUP; "": the user of this process

	// Query runs the query of an SQL sensor. It reports whether the first column of the first row is neither null, 0 nor
	// false. nil: SQL sensors fail.
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

// Validate returns an error that names every invalid field.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs faults.List
	errs.If(c.Dir == "", "Dir: missing")
	if _, err := proc.FindUser(c.User); err != nil {
		errs = append(errs, fmt.Errorf("User: %w", err))
	}
	return errors.Join(errs...)
}
