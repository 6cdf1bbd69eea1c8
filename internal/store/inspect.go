package store

import (
	"context"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/store/postgres"
	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
)

// Inspection is what is found in a store that is only looked at.
type Inspection struct {
	Exists     bool
	Has, Knows int64     // versions of the schema: the store's, and the newest that this program knows
	File       string    // of a store that is a file
	Held       bool      // a process has the file open as its store
	Owner      int       // that process, if it is known
	Log        int64     // bytes of a write-ahead log that no process has open
	Clock      time.Time // of a store on another machine; zero otherwise
	Pooler     Pooler    // what stands before a PostgreSQL
	Prepares   bool      // the URL asks for prepared statements that outlive a transaction
}

// Pooler is what stands between Bezoar and a PostgreSQL.
type Pooler = postgres.Pooler

// The kinds of Pooler.
const (
	Direct            = postgres.Direct
	PoolsSessions     = postgres.PoolsSessions
	PoolsTransactions = postgres.PoolsTransactions
	OneConnection     = postgres.OneConnection
)

// Inspect looks at the store at, which may be in use. It creates nothing and
// migrates nothing.
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
