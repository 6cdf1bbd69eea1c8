package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb/tables"
	"github.com/bezoar-dev/bezoar/outbox"
)

//go:embed schema.sql
var schemaSQL string

// Config selects the database.
type Config struct {
	URL    string // sqlite:PATH
	Schema string // default [tables.DefaultSchema]
}

func (c Config) withDefaults() Config {
	c.Schema = cmp.Or(c.Schema, tables.DefaultSchema)
	return c
}

// Validate returns an error that names every invalid field, or nil.
func (c Config) Validate() error {
	var errs faults.List
	if _, err := c.path(); err != nil {
		errs = append(errs, fmt.Errorf("URL: %w", err))
	}
	errs.In(tables.ValidSchema(c.withDefaults().Schema), "Schema")
	return errors.Join(errs...)
}

func (c Config) path() (string, error) {
	rest, ok := strings.CutPrefix(c.URL, "sqlite:")
	rest = strings.TrimPrefix(rest, "//")
	if !ok || rest == "" || strings.HasPrefix(rest, ":") || strings.ContainsAny(rest, "?#\x00") {
		return "", errors.New("names no file; want sqlite:PATH")
	}
	return filepath.Abs(rest)
}

// SQL returns the statements that create an outbox whose table names begin with schema.
func SQL(schema string) (string, error) { return tables.Fill(schemaSQL, schema) }

// Init creates the outbox, and the database file if it does not exist. It switches the
// database to write-ahead logging (PRAGMA journal_mode = WAL), so that readers and the
// writer do not block each other.
func Init(ctx context.Context, c Config) error {
	const what = "create the outbox"
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
		if err = db.QueryRowContext(ctx, `SELECT version FROM `+c.Schema+`_meta`).Scan(&version); err == nil && version > tables.Version {
			err = fmt.Errorf("the outbox has version %d, of a later Bezoar; this program supports version %d", version, tables.Version)
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

// dsn returns the driver's data source name. If there is set, it does not create the file.
func dsn(path string, there bool) string {
	q := url.Values{"_busy_timeout": {"10000"}, "_synchronous": {"FULL"}, "_txlock": {"immediate"}, "_pragma": {"trusted_schema(1)"}}
	if there {
		q.Set("mode", "rw")
	}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}).String()
}

// Open opens an existing outbox. It returns [outbox.ErrAbsent] if there is none.
func Open(ctx context.Context, c Config) (*tables.Store, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("open the outbox: %w", err)
	}
	c = c.withDefaults()
	path, _ := c.path()
	file, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open the outbox in %s: %w", path, outbox.ErrAbsent)
	}
	writer, err := sql.Open("sqlite", dsn(path, true))
	if err != nil {
		return nil, fmt.Errorf("open the outbox: %w", err)
	}
	writer.SetMaxOpenConns(1) // SQLite has one writer
	reader, err := sql.Open("sqlite", dsn(path, true))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the outbox: %w", err), writer.Close())
	}
	const readers = 4
	reader.SetMaxOpenConns(readers)
	return tables.New(ctx, tables.Config{Writer: writer, Reader: reader, Schema: c.Schema, Where: path, Dialect: tables.Dialect{Now: clock, Lane: "c.lane", Explain: explain}, Moved: func() error { return moved(path, file) }})
}

// moved returns an error if path is no longer the opened file, for example after a restore
// from a backup. Processes that have the old file open would keep using it.
func moved(path string, file fs.FileInfo) error {
	now, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the database %s no longer exists", path)
	case err == nil && file != nil && !os.SameFile(now, file):
		return fmt.Errorf("the database %s has been replaced by another file", path)
	}
	return nil
}

// clock returns the machine's time.
const clock = `CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)`

func explain(err error) error {
	e, ok := errors.AsType[*driver.Error](err)
	if !ok {
		return err
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return fmt.Errorf("%w; another process held the write lock for more than 10 s: keep the application's transactions short", err)
	case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM:
		return fmt.Errorf("%w; the relay must be able to write to the file and its directory", err)
	case lib.SQLITE_ERROR:
		if strings.Contains(e.Error(), "no such table") {
			return fmt.Errorf("%w: %w; create it with `bezoar outbox init`", outbox.ErrAbsent, err)
		}
	}
	return err
}
