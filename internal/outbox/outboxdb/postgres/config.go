package postgres

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/bezoar-dev/bezoar/internal/control/redact"
	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb/tables"
	"github.com/bezoar-dev/bezoar/outbox"
)

//go:embed schema.sql
var schemaSQL string

//go:embed notify.sql
var notifySQL string

// Config selects the database.
type Config struct {
	URL    string // postgres://user:password@host:port/database?…
	Schema string // default [tables.DefaultSchema]
	Notify bool   // for Init: commits wake listening relays
}

// String returns the configuration without the password.
func (c Config) String() string {
	return fmt.Sprintf("{URL:%s Schema:%s}", redact.Text(c.URL, redact.Hidden), c.Schema)
}

// LogValue returns the configuration without the password.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

func (c Config) withDefaults() Config {
	c.Schema = cmp.Or(c.Schema, tables.DefaultSchema)
	return c
}

// Validate returns an error that names every invalid field, or nil.
func (c Config) Validate() error {
	var errs faults.List
	if _, err := c.pool(); err != nil {
		errs = append(errs, fmt.Errorf("URL: %w", err))
	}
	errs.In(tables.ValidSchema(c.withDefaults().Schema), "Schema")
	return errors.Join(errs...)
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
func SQL(schema string) (string, error) { return tables.Fill(schemaSQL, schema) }

// NotifySQL returns the statements that make commits wake listening relays.
func NotifySQL(schema string) (string, error) { return tables.Fill(notifySQL, schema) }

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

// Store is an outbox in a PostgreSQL schema. What operators ask for is the same in all databases.
type Store struct {
	*tables.Store
	db     *sql.DB // over pool
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
	s.db = stdlib.OpenDBFromPool(s.pool)
	s.Store = tables.Over(tables.Config{Writer: s.db, Reader: s.db, Schema: c.Schema, Where: s.where, Dialect: tables.Dialect{
		Now: "clock_timestamp()", Lane: "c.lane", Until: "CASE WHEN until = '-infinity' THEN 'epoch' ELSE until END", Key: "key",
		Positions: "array_to_json(positions)", Numbered: true, Isolation: sql.LevelReadCommitted, Snapshot: sql.LevelRepeatableRead,
		Alone: []string{`SELECT ` + notForLong, `LOCK TABLE {schema}_lease IN EXCLUSIVE MODE`}, Fault: s.fault,
	}}, c.Schema+".")
	if err := s.check(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open the outbox: %w", err), s.Close())
	}
	return s, nil
}

func (s *Store) check(ctx context.Context) error {
	id, err := s.Identity(ctx)
	if err != nil {
		return err
	}
	if id.Version != tables.Version {
		return fmt.Errorf("%s: the outbox in schema %s has version %d, and this program works with %d; run `bezoar outbox init` of the later version",
			s.where, s.schema, id.Version, tables.Version)
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
	err := s.db.Close()
	s.pool.Close()
	return err
}

// in replaces {schema} in a statement.
func (s *Store) in(statement string) string {
	return strings.ReplaceAll(statement, "{schema}", s.schema)
}

func where(c *pgx.ConnConfig) string {
	return fmt.Sprintf("postgres://%s@%s:%d/%s", c.User, c.Host, c.Port, c.Database)
}
