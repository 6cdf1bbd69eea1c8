package taskrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// Values that replace a zero in Config.
const (
	DefaultLogLimit = 10 << 20
	DefaultKeep     = 30 * 24 * time.Hour
)

// minLogLimit is the smallest LogLimit in bytes.
const minLogLimit = 4 << 10

// Config configures a Runner. Dir is required.
type Config struct {
	Dir       string         // the state directory, used by this process only
	Functions flow.Functions // tasks that are functions

	Environ []string     // environment that commands inherit as Inherit says, and source of secrets; nil: this process's own
	Inherit proc.Inherit // which variables commands inherit
	User    string       // user of the commands: a name or number, and :GROUP; "": the user of this process
	Pids    int          // processes and threads of one attempt; default 256, below 0: no limit

	LogLimit int64         // bytes kept of one attempt's log; default 10 MiB
	Keep     time.Duration // how long logs are kept; default 30 days

	// Query runs the query of an SQL sensor. It reports whether the first column of the first row is neither null, 0 nor
	// false. nil: SQL sensors fail.
	Query  func(ctx context.Context, dsn, query string) (bool, error)
	Client *http.Client // for HTTP sensors; nil: a new one
	Log    *slog.Logger // nil discards
}

func (c Config) withDefaults() Config {
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	c.LogLimit = cmp.Or(c.LogLimit, DefaultLogLimit)
	c.Keep = cmp.Or(c.Keep, DefaultKeep)
	if c.Client == nil {
		c.Client = &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}}
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
	errs.If(c.LogLimit < minLogLimit, "LogLimit: %d bytes, want at least %d", c.LogLimit, minLogLimit)
	errs.If(c.Keep < 0, "Keep: %v is negative", c.Keep)
	return errors.Join(errs...)
}
