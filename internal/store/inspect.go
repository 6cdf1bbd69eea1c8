package store

import (
	"context"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/store/postgres"
	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
)

// Inspection is the result of inspecting a store.
type Inspection struct {
	Exists     bool
	Has, Knows int64     // versions of the schema: of the store, and the newest that this program supports
	File       string    // path of a SQLite store
	Held       bool      // a process has the file open as its store
	Owner      int       // ID of that process, if known
	Log        int64     // bytes of a write-ahead log that no process has open
	Clock      time.Time // of a store on another machine; otherwise zero
	Pooler     Pooler    // pooler in front of a PostgreSQL server
	Prepares   bool      // the URL requests prepared statements that outlive a transaction
}

// Pooler is the kind of pooler between Bezoar and a PostgreSQL server.
type Pooler = postgres.Pooler

// Kinds of Pooler.
const (
	Direct            = postgres.Direct
	PoolsSessions     = postgres.PoolsSessions
	PoolsTransactions = postgres.PoolsTransactions
	OneConnection     = postgres.OneConnection
)

// Inspect inspects the store at, which may be in use. It creates and migrates nothing.
func Inspect(ctx context.Context, at string) (Inspection, error) {
	if err := Check(at, Config{}); err != nil {
		return Inspection{}, err
	}
	scheme, rest, _ := strings.Cut(at, ":")
	switch scheme {
	case "sqlite":
		found, err := sqlite.Inspect(ctx, strings.TrimPrefix(rest, "//"))
		return Inspection{
			Exists: found.Exists, Has: found.Has, Knows: found.Knows, File: found.Path, Held: found.Held, Owner: found.Owner, Log: found.Log,
		}, err
	case "memory":
		return Inspection{}, nil
	default:
		found, err := postgres.Inspect(ctx, postgres.Config{URL: at})
		return Inspection{
			Exists: found.Has > 0, Has: found.Has, Knows: found.Knows, Clock: found.Clock, Pooler: found.Pooler, Prepares: found.Prepares,
		}, err
	}
}
