package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/store/memory"
	"github.com/bezoar-dev/bezoar/internal/store/postgres"
	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/quota"
)

// ErrFull is returned by Check and sends while the disk is full. Receives and deletions
// continue to work.
var ErrFull = sqlite.ErrFull

// reserve is the disk space that a SQLite store keeps for receives and deletions.
const reserve = 8 << 20

// Config holds settings for all kinds of stores.
type Config struct {
	MaxLetters int // maximum number of dead letters; 0: ledger.DefaultMaxLetters
}

// Stores holds the open stores.
type Stores struct {
	Ledger ledger.Store
	Queue  queue.Store
	Live   live.Store
	Quota  quota.Store
	Flow   flow.Store
	// Check returns the current problem of the store, or nil.
	Check func(context.Context) error
	// In reports whether a transaction is in the database of the stores; nil: never.
	In func(ctx context.Context, tx any) (bool, error)
	// Advice lists checks for problems that slow the store down and that operators can fix;
	// most stores have none.
	Advice []Advice
	close  func() error
}

// Advice is one such check.
type Advice struct {
	Name  string                      // of a health check
	Look  func(context.Context) error // returns the problem with advice
	Times int                         // number of consecutive findings before a warning
}

// advice returns the checks; vacuum gets time to remove dead rows before it warns.
func advice(db *postgres.DB) []Advice {
	return []Advice{
		{"store:transactions", func(ctx context.Context) error { return db.Held(ctx, postgres.LongTransaction) }, 1},
		{"store:bloat", func(ctx context.Context) error { return db.Bloated(ctx, postgres.ManyDead) }, 8},
	}
}

// Close finishes running operations and closes the store.
func (s Stores) Close() error { return s.close() }

// Open opens the store at a URL: sqlite:FILE, postgres://… or memory:.
func Open(ctx context.Context, at string, c Config) (Stores, error) {
	open, err := find(at, c)
	if err != nil {
		return Stores{}, err
	}
	return open(ctx)
}

// Away reports whether err, from opening at, means that a remote store does not answer now,
// so that it may answer later. Errors of a file are different.
func Away(at string, err error) bool {
	scheme, _, _ := strings.Cut(at, ":")
	return (scheme == "postgres" || scheme == "postgresql") && postgres.Away(err)
}

// Check returns an error if at is not the URL of a store. It does not open the store.
func Check(at string, c Config) error {
	_, err := find(at, c)
	return err
}

// find validates the URL and returns a function that opens the store. Its errors show only
// the scheme, because the rest may contain a password.
func find(at string, c Config) (func(context.Context) (Stores, error), error) {
	scheme, rest, found := strings.Cut(at, ":")
	if !found {
		scheme = ""
	}
	var open func(context.Context) (Stores, error)
	var err error
	switch scheme {
	case "sqlite":
		config := sqlite.Config{Path: strings.TrimPrefix(rest, "//"), MaxLetters: c.MaxLetters, Reserve: reserve}
		open, err = opener(config, sqlite.Open), config.Validate()
		if strings.Contains(rest, "?") {
			err = errors.Join(err, errors.New("sqlite: does not accept ?options"))
		}
	case "postgres", "postgresql":
		config := postgres.Config{URL: at, MaxLetters: c.MaxLetters}
		open, err = opener(config, postgres.Open), config.Validate()
	case "memory":
		config := memory.Config{MaxLetters: c.MaxLetters}
		openMemory := func(_ context.Context, c memory.Config) (*memory.DB, error) { return memory.Open(c) }
		open, err = opener(config, openMemory), config.Validate()
		if rest != "" {
			err = errors.Join(err, errors.New("memory: accepts nothing after the colon"))
		}
	case "":
		return nil, errors.New("store: has no scheme; want sqlite:FILE, postgres://USER:PASSWORD@HOST/DATABASE or memory:")
	default:
		return nil, fmt.Errorf("store: %.20q is not a kind of store; supported are sqlite:FILE, postgres://USER:PASSWORD@HOST/DATABASE and memory:", scheme)
	}
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", scheme, err)
	}
	return open, nil
}

// database is implemented by all three kinds of DB.
type database interface {
	Ledger() ledger.Store
	Queue() queue.Store
	Live() live.Store
	Quota() quota.Store
	Flow() flow.Store
	Close() error
}

func opener[C any, DB database](c C, open func(context.Context, C) (DB, error)) func(context.Context) (Stores, error) {
	return func(ctx context.Context) (Stores, error) {
		db, err := open(ctx, c)
		if err != nil {
			return Stores{}, err
		}
		s := Stores{Ledger: db.Ledger(), Queue: db.Queue(), Live: db.Live(), Quota: db.Quota(), Flow: db.Flow(), close: db.Close}
		if c, ok := any(db).(interface {
			Check(ctx context.Context) error
		}); ok {
			s.Check = c.Check
		}
		if db, ok := any(db).(*postgres.DB); ok {
			s.Advice, s.In = advice(db), db.In
		}
		return s, nil
	}
}
