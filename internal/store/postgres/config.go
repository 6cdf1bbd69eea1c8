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

// Config selects the database and sets limits. Only URL is required.
type Config struct {
	URL        string // postgres://user:password@host:port/database?…
	Schema     string // default bezoar; created if it does not exist
	MaxLetters int    // maximum number of dead letters; 0: ledger.DefaultMaxLetters
}

// String returns the configuration without the password.
func (c Config) String() string {
	return fmt.Sprintf("{URL:%s Schema:%s MaxLetters:%d}", shown(c.URL), c.Schema, c.MaxLetters)
}

// LogValue returns the configuration without the password.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Validate returns one error that names every invalid field, or nil.
func (c Config) Validate() error {
	var errs faults.List
	if _, err := c.pool(); err != nil {
		errs = append(errs, fmt.Errorf("URL: %w", err))
	}
	// Simple names need no quotes, which goose does not support.
	if name := c.withDefaults().Schema; !regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`).MatchString(name) {
		errs = append(errs, fmt.Errorf("Schema: %.80q must be 1 to 63 characters of a-z, 0-9 and _, and must not begin with a digit", name))
	}
	errs.If(c.MaxLetters < 0, "MaxLetters: %d is negative", c.MaxLetters)
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	c.Schema = cmp.Or(c.Schema, "bezoar")
	c.MaxLetters = cmp.Or(c.MaxLetters, ledger.DefaultMaxLetters)
	return c
}

// pool parses the URL. Its errors do not contain the password.
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
		return nil, err // pgx has removed the password
	}
	given := u.Query()
	if !given.Has("default_query_exec_mode") {
		p.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // works without session state
	}
	if !given.Has("connect_timeout") {
		p.ConnConfig.ConnectTimeout = connectTimeout
	}
	p.ConnConfig.RuntimeParams["application_name"] = cmp.Or(p.ConnConfig.RuntimeParams["application_name"], "bezoar")
	return p, nil
}

// shown returns a URL without its secrets.
func shown(raw string) string {
	if u, err := url.Parse(raw); err != nil || u.Scheme == "" {
		return "(unreadable)"
	}
	return redact.Text(raw, redact.Hidden)
}
