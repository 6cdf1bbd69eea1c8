package postgres

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/bezoar-dev/bezoar/internal/control/redact"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Config names the database and the bounds. Only URL is required.
type Config struct {
	URL        string // postgres://user:password@host:port/database?…
	Schema     string // "" means bezoar; made when it is not there
	MaxLetters int    // dead letters kept; 0 means ledger.DefaultMaxLetters
}

// String hides the password.
func (c Config) String() string {
	return fmt.Sprintf("{URL:%s Schema:%s MaxLetters:%d}", shown(c.URL), c.Schema, c.MaxLetters)
}

// LogValue hides the password.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Validate reports every field that is out of bounds.
func (c Config) Validate() error {
	var errs faults.List
	if _, err := c.pool(); err != nil {
		errs = append(errs, fmt.Errorf("URL: %w", err))
	}
	// Simple names need no quotes, here and in goose, which has none.
	if name := c.withDefaults().Schema; !regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`).MatchString(name) {
		errs = append(errs, fmt.Errorf("Schema: %.80q is not 1 to 63 of a-z, 0-9 and _, not beginning with a digit", name))
	}
	errs.If(c.MaxLetters < 0, "MaxLetters: %d is negative", c.MaxLetters)
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	c.Schema = cmp.Or(c.Schema, "bezoar")
	c.MaxLetters = cmp.Or(c.MaxLetters, ledger.DefaultMaxLetters)
	return c
}

// pool reads the URL; its errors do not show the password.
func (c Config) pool() (*pgxpool.Config, error) {
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, errors.New("cannot be read; want postgres://user:password@host:port/database, the password percent-encoded")
	}
	if u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, errors.New("does not begin with postgres://")
	}
	p, err := pgxpool.ParseConfig(c.URL)
	if err != nil {
		return nil, err // pgx has redacted it
	}
	given := u.Query()
	if !given.Has("default_query_exec_mode") {
		p.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // needs nothing of the session
	}
	if !given.Has("connect_timeout") {
		p.ConnConfig.ConnectTimeout = connectTimeout
	}
	p.ConnConfig.RuntimeParams["application_name"] = cmp.Or(p.ConnConfig.RuntimeParams["application_name"], "bezoar")
	return p, nil
}

// shown is a URL without its secrets.
func shown(raw string) string {
	if u, err := url.Parse(raw); err != nil || u.Scheme == "" {
		return "(unreadable)"
	}
	return redact.Text(raw, redact.Hidden)
}
