package outboxdb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb/mysql"
	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb/postgres"
	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb/sqlite"
	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb/tables"
	"github.com/bezoar-dev/bezoar/outbox"
)

// DefaultSchema is the default location of an outbox's tables: a PostgreSQL schema, or the
// prefix of the table names in other databases.
const DefaultSchema = tables.DefaultSchema

// ErrURL is the error of Open and Init for a URL that names no database.
var ErrURL = errors.New("want postgres://user@host/database, mysql://user@host/database or sqlite:PATH")

// Config selects an outbox of a database.
type Config struct {
	Schema string // default DefaultSchema
	Notify bool   // for Init: commits wake listening relays; PostgreSQL only
}

// dialect is a kind of database.
type dialect struct {
	name    string
	schemes []string
	open    func(ctx context.Context, url string, c Config) (outbox.Store, error)
	init    func(ctx context.Context, url string, c Config) error
	sql     func(c Config) (string, error)
}

func dialects() []dialect {
	return []dialect{
		{
			name: "postgres", schemes: []string{"postgres", "postgresql"},
			open: func(ctx context.Context, url string, c Config) (outbox.Store, error) {
				return opened(postgres.Open(ctx, postgres.Config{URL: url, Schema: c.Schema}))
			},
			init: func(ctx context.Context, url string, c Config) error {
				return postgres.Init(ctx, postgres.Config{URL: url, Schema: c.Schema, Notify: c.Notify})
			},
			sql: func(c Config) (string, error) {
				text, err := postgres.SQL(c.Schema)
				if err != nil || !c.Notify {
					return text, err
				}
				more, err := postgres.NotifySQL(c.Schema)
				return text + "\n" + more, err
			},
		},
		{
			name: "mysql", schemes: []string{"mysql"},
			open: func(ctx context.Context, url string, c Config) (outbox.Store, error) {
				return opened(mysql.Open(ctx, mysql.Config{URL: url, Schema: c.Schema}))
			},
			init: func(ctx context.Context, url string, c Config) error {
				return mysql.Init(ctx, mysql.Config{URL: url, Schema: c.Schema})
			},
			sql: func(c Config) (string, error) { return mysql.SQL(c.Schema) },
		},
		{
			name: "sqlite", schemes: []string{"sqlite"},
			open: func(ctx context.Context, url string, c Config) (outbox.Store, error) {
				return opened(sqlite.Open(ctx, sqlite.Config{URL: url, Schema: c.Schema}))
			},
			init: func(ctx context.Context, url string, c Config) error {
				return sqlite.Init(ctx, sqlite.Config{URL: url, Schema: c.Schema})
			},
			sql: func(c Config) (string, error) { return sqlite.SQL(c.Schema) },
		},
	}
}

// opened avoids an outbox.Store that holds a nil pointer.
func opened[S outbox.Store](s S, err error) (outbox.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// find returns the dialect of a URL. Its errors show only the scheme, because the rest may
// hold a password.
func find(url string) (dialect, error) {
	scheme, _, _ := strings.Cut(url, ":")
	for _, d := range dialects() {
		if slices.Contains(d.schemes, scheme) {
			return d, nil
		}
	}
	if len(scheme) == len(url) {
		scheme = ""
	}
	return dialect{}, fmt.Errorf("database %.20q: %w", scheme, ErrURL)
}

// Kind returns the kind of database that a URL names, or "" if it names none.
func Kind(url string) string {
	d, err := find(url)
	if err != nil {
		return ""
	}
	return d.name
}

// Open connects to an existing outbox. It returns [outbox.ErrAbsent] if there is none.
func Open(ctx context.Context, url string, c Config) (outbox.Store, error) {
	d, err := find(url)
	if err != nil {
		return nil, err
	}
	return d.open(ctx, url, c)
}

// Init creates the outbox, or upgrades it to the current version, and returns its identity.
func Init(ctx context.Context, url string, c Config) (outbox.Identity, error) {
	d, err := find(url)
	if err != nil {
		return outbox.Identity{}, err
	}
	if c.Notify && d.name != "postgres" {
		return outbox.Identity{}, fmt.Errorf("only PostgreSQL supports notifications, and this is %s: %w", d.name, errors.ErrUnsupported)
	}
	if err := d.init(ctx, url, c); err != nil {
		return outbox.Identity{}, err
	}
	s, err := d.open(ctx, url, c)
	if err != nil {
		return outbox.Identity{}, err
	}
	id, err := s.Identity(ctx)
	return id, errors.Join(err, s.Close())
}

// SQL returns the statements that create an outbox in a database of this kind. Their
// comments show how an application writes events.
func SQL(kind string, c Config) (string, error) {
	for _, d := range dialects() {
		if d.name == kind {
			return d.sql(c)
		}
	}
	return "", fmt.Errorf("%.20q is not a kind of database for an outbox", kind)
}
