package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/bezoar-dev/bezoar/outbox"
)

// DefaultSchema begins the names of an outbox's tables unless its settings say
// otherwise.
const DefaultSchema = "bezoar_outbox"

// Version is the version of the tables that this package reads and writes.
const Version = 1

//go:embed schema.sql
var schemaSQL string

// Config names the database.
type Config struct {
	URL    string // sqlite:PATH
	Schema string // default DefaultSchema
}

func (c Config) withDefaults() Config {
	if c.Schema == "" {
		c.Schema = DefaultSchema
	}
	return c
}

// Validate reports every field that is at fault.
func (c Config) Validate() error {
	var faults []error
	if _, err := c.path(); err != nil {
		faults = append(faults, fmt.Errorf("URL: %w", err))
	}
	if err := validSchema(c.withDefaults().Schema); err != nil {
		faults = append(faults, fmt.Errorf("Schema: %w", err))
	}
	return errors.Join(faults...)
}

func (c Config) path() (string, error) {
	rest, ok := strings.CutPrefix(c.URL, "sqlite:")
	rest = strings.TrimPrefix(rest, "//")
	if !ok || rest == "" || strings.HasPrefix(rest, ":") || strings.ContainsAny(rest, "?#\x00") {
		return "", errors.New("names no file; want sqlite:PATH")
	}
	return filepath.Abs(rest)
}

func validSchema(name string) error {
	if !regexp.MustCompile(`^[a-z_][a-z0-9_]{0,50}$`).MatchString(name) {
		return fmt.Errorf("%.80q is not 1 to 51 of a-z, 0-9 and _, not beginning with a digit", name)
	}
	return nil
}

// SQL is the text that makes an outbox whose tables' names begin with schema.
func SQL(schema string) (string, error) {
	if schema == "" {
		schema = DefaultSchema
	}
	if err := validSchema(schema); err != nil {
		return "", err
	}
	return strings.ReplaceAll(schemaSQL, "{schema}", schema), nil
}

// Init makes the outbox in a database, which is made too if it is not there. The
// database writes its log ahead from then on (PRAGMA journal_mode = WAL), so that
// readers and the writer do not wait for each other.
func Init(ctx context.Context, c Config) error {
	const what = "make the outbox"
	if err := c.Validate(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	c = c.withDefaults()
	text, err := SQL(c.Schema)
	if err != nil {
		return err
	}
	path, _ := c.path()
	db, err := sql.Open("sqlite", dsn(path, false))
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer db.Close() //nolint:errcheck // what was written is committed
	db.SetMaxOpenConns(1)
	var there int
	err = db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE name = ?`, c.Schema+"_meta").Scan(&there)
	if err == nil && there > 0 {
		var version int
		if err = db.QueryRowContext(ctx, `SELECT version FROM `+c.Schema+`_meta`).Scan(&version); err == nil && version > Version {
			err = fmt.Errorf("it is there, and of a later version of Bezoar: %d, and this program knows %d", version, Version)
		}
	}
	if err == nil {
		_, err = db.ExecContext(ctx, `PRAGMA journal_mode = WAL`)
	}
	if err == nil {
		_, err = db.ExecContext(ctx, text)
	}
	if err != nil {
		return fmt.Errorf("%s in %s: %w", what, path, explain(err))
	}
	return nil
}

// dsn does not make the file when the outbox has to be there.
func dsn(path string, there bool) string {
	q := url.Values{"_busy_timeout": {"10000"}, "_synchronous": {"FULL"}, "_txlock": {"immediate"}, "_pragma": {"trusted_schema(1)"}}
	if there {
		q.Set("mode", "rw")
	}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}).String()
}

// Store is an outbox in a database.
type Store struct {
	db     *sql.DB // one connection: SQLite has one writer
	reader *sql.DB
	path   string
	schema string
}

var _ outbox.Store = (*Store)(nil)

// Open opens an outbox that is there. It is [outbox.ErrAbsent] if there is none.
func Open(ctx context.Context, c Config) (_ *Store, err error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("open the outbox: %w", err)
	}
	c = c.withDefaults()
	path, _ := c.path()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open the outbox in %s: %w", path, outbox.ErrAbsent)
	}
	s := &Store{path: path, schema: c.Schema}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.db, err = sql.Open("sqlite", dsn(path, true)); err != nil {
		return nil, fmt.Errorf("open the outbox: %w", err)
	}
	s.db.SetMaxOpenConns(1)
	if s.reader, err = sql.Open("sqlite", dsn(path, true)); err != nil {
		return nil, fmt.Errorf("open the outbox: %w", err)
	}
	s.reader.SetMaxOpenConns(4)
	id, err := s.Identity(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the outbox: %w", err)
	}
	if id.Version != Version {
		return nil, fmt.Errorf("open the outbox: %s: its tables %s_… have version %d, and this program works with %d; run `bezoar outbox init` of the later version",
			path, s.schema, id.Version, Version)
	}
	return s, nil
}

// Close waits for the statements under way.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*sql.DB{s.reader, s.db} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// in fills in the {schema} of a statement.
func (s *Store) in(statement string) string {
	return strings.ReplaceAll(statement, "{schema}", s.schema)
}

// fault says what was attempted on which file.
func (s *Store) fault(ctx context.Context, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, outbox.ErrFenced), errors.Is(err, outbox.ErrNotFound), errors.Is(err, outbox.ErrNotParked):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("%s in %s: %w", what, s.path, context.Cause(ctx))
	}
	return fmt.Errorf("%s in %s: %w", what, s.path, explain(err))
}

// explain adds what to do.
func explain(err error) error {
	var e *driver.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return fmt.Errorf("%w; another process has written for longer than 10 s: keep transactions of the application short", err)
	case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM:
		return fmt.Errorf("%w; the relay has to write to the file and to its folder", err)
	case lib.SQLITE_ERROR:
		if strings.Contains(e.Error(), "no such table") {
			return fmt.Errorf("%w: %w; make it with `bezoar outbox init`", outbox.ErrAbsent, err)
		}
	}
	return err
}
