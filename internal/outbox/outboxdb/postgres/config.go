package postgres

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/bezoar-dev/bezoar/internal/control/redact"
	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/outbox"
)

// DefaultSchema is the default schema of an outbox.
const DefaultSchema = "bezoar_outbox"

// Version is the schema version that this package reads and writes.
const Version = 1

//go:embed schema.sql
var schemaSQL string

//go:embed notify.sql
var notifySQL string

// Config selects the database.
type Config struct {
	URL    string // postgres://user:password@host:port/database?…
	Schema string // default DefaultSchema
	Notify bool   // for Init: commits wake listening relays
}

// String returns the configuration without the password.
func (c Config) String() string {
	return fmt.Sprintf("{URL:%s Schema:%s}", redact.Text(c.URL, redact.Hidden), c.Schema)
}

// LogValue returns the configuration without the password.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

func (c Config) withDefaults() Config {
	c.Schema = cmp.Or(c.Schema, DefaultSchema)
	return c
}

// Validate returns an error that names every invalid field, or nil.
func (c Config) Validate() error {
	var errs faults.List
	if _, err := c.pool(); err != nil {
		errs = append(errs, fmt.Errorf("URL: %w", err))
	}
	errs.In(validSchema(c.withDefaults().Schema), "Schema")
	return errors.Join(errs...)
}

func validSchema(name string) error {
	if !regexp.MustCompile(`^[a-z_][a-z0-9_]{0,50}$`).MatchString(name) {
		return fmt.Errorf("%.80q must be 1 to 51 characters of a-z, 0-9 and _, and must not begin with a digit", name)
	}
	return nil
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
		p.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	if p.ConnConfig.RuntimeParams["application_name"] == "" {
		p.ConnConfig.RuntimeParams["application_name"] = "bezoar-outbox"
	}
	return p, nil
}

// SQL returns the statements that create an outbox in a schema, or upgrade it.
func SQL(schema string) (string, error) { return inSchema(schema, schemaSQL) }

// NotifySQL returns the statements that make commits wake listening relays.
func NotifySQL(schema string) (string, error) { return inSchema(schema, notifySQL) }

func inSchema(schema, text string) (string, error) {
	schema = cmp.Or(schema, DefaultSchema)
	if err := validSchema(schema); err != nil {
		return "", err
	}
	return strings.ReplaceAll(text, "{schema}", schema), nil
}

// Init creates the outbox, or upgrades it to the current version.
func Init(ctx context.Context, c Config) error {
	text, err := SQL(c.Schema)
	if err != nil {
		return err
	}
	if c.Notify {
		more, err := NotifySQL(c.Schema)
		if err != nil {
			return err
		}
		text += more
	}
	p, err := c.pool()
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, p.ConnConfig)
	if err != nil {
		return fmt.Errorf("create the outbox: %w", explain(ctx, nil, "", where(p.ConnConfig), err))
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err = conn.PgConn().Exec(ctx, text).ReadAll(); err != nil {
		_, _ = conn.Exec(ctx, "ROLLBACK") // explain needs a usable connection
		return fmt.Errorf("create the outbox: %w", explain(ctx, conn, c.withDefaults().Schema, where(p.ConnConfig), err))
	}
	return nil
}

// Store is an outbox in a PostgreSQL schema.
type Store struct {
	pool   *pgxpool.Pool
	where  string // for errors; without the password
	schema string
}

var (
	_ outbox.Store    = (*Store)(nil)
	_ outbox.TxStore  = (*Store)(nil)
	_ outbox.Waker    = (*Store)(nil)
	_ outbox.Notebook = (*Store)(nil)
)

// Open connects to an existing outbox. It returns [outbox.ErrAbsent] if there is none.
func Open(ctx context.Context, c Config) (*Store, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("open the outbox: %w", err)
	}
	c = c.withDefaults()
	p, err := c.pool()
	if err != nil {
		return nil, err
	}
	s := &Store{where: where(p.ConnConfig), schema: c.Schema}
	if s.pool, err = pgxpool.NewWithConfig(ctx, p); err != nil {
		return nil, fmt.Errorf("open the outbox: %w", err)
	}
	if err := s.check(ctx); err != nil {
		s.pool.Close()
		return nil, fmt.Errorf("open the outbox: %w", err)
	}
	return s, nil
}

func (s *Store) check(ctx context.Context) error {
	id, err := s.Identity(ctx)
	if err != nil {
		return err
	}
	if id.Version != Version {
		return fmt.Errorf("%s: the outbox in schema %s has version %d, and this program works with %d; run `bezoar outbox init` of the later version",
			s.where, s.schema, id.Version, Version)
	}
	var isolation string
	if err := s.pool.QueryRow(ctx, `SHOW default_transaction_isolation`).Scan(&isolation); err != nil {
		return explain(ctx, s.pool, s.schema, s.where, err)
	}
	if isolation != "read committed" {
		return fmt.Errorf("%s: default_transaction_isolation of the relay's role is %q; set it to 'read committed' for this role", s.where, isolation)
	}
	return nil
}

// Close waits for connections in use, and closes all connections.
func (s *Store) Close() error {
	s.pool.Close()
	return nil
}

// in replaces {schema} in a statement.
func (s *Store) in(statement string) string {
	return strings.ReplaceAll(statement, "{schema}", s.schema)
}

func where(c *pgx.ConnConfig) string {
	return fmt.Sprintf("postgres://%s@%s:%d/%s", c.User, c.Host, c.Port, c.Database)
}
