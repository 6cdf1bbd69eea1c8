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

// ErrFull is what Check and sends say while there is no room for more, and receives
// and deletions go on.
var ErrFull = sqlite.ErrFull

// reserve is how much of the disk a file's store keeps for receives and deletions.
const reserve = 8 << 20

// Config is what every kind of store can be told.
type Config struct {
	MaxLetters int // dead letters kept; 0 means ledger.DefaultMaxLetters
}

// Stores is what is open.
type Stores struct {
	Ledger ledger.Store
	Queue  queue.Store
	Live   live.Store
	Quota  quota.Store
	Flow   flow.Store
	// Check says what is wrong with the place that the stores are in; nil when there
	// is nothing to look at.
	Check func(context.Context) error
	// In reports whether a transaction is in the database of the stores; nil: it is
	// in none.
	In func(ctx context.Context, tx any) (bool, error)
	// Advice is what slows the store down and operators can mend; none for most stores.
	Advice []Advice
	close  func() error
}

// Advice is one such thing to look for.
type Advice struct {
	Name  string                      // of a health check
	Look  func(context.Context) error // says what it is, and the way out
	Times int                         // how many looks in a row have to find it
}

// advice has vacuum come first, once a minute, before it speaks of what it has to remove.
func advice(db *postgres.DB) []Advice {
	return []Advice{
		{"store:transactions", func(ctx context.Context) error { return db.Held(ctx, postgres.LongTransaction) }, 1},
		{"store:bloat", func(ctx context.Context) error { return db.Bloated(ctx, postgres.ManyDead) }, 8},
	}
}

// Close finishes what is under way and closes the store.
func (s Stores) Close() error { return s.close() }

// Open opens the store that at names: sqlite:FILE, postgres://… or memory: .
func Open(ctx context.Context, at string, c Config) (Stores, error) {
	open, err := find(at, c)
	if err != nil {
		return Stores{}, err
	}
	return open(ctx)
}

// Away reports whether err, of opening at, says that the store is elsewhere and
// does not answer now, so that it may later. What is wrong with a file is not that.
func Away(at string, err error) bool {
	scheme, _, _ := strings.Cut(at, ":")
	return (scheme == "postgres" || scheme == "postgresql") && postgres.Away(err)
}

// Check says whether at names a store, without opening it.
func Check(at string, c Config) error {
	_, err := find(at, c)
	return err
}

// find validates everything and returns how to open it. Its errors show of at
// only the scheme: the rest may hold a password.
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
			err = errors.Join(err, errors.New("a file takes no ?options; it has none"))
		}
	case "postgres", "postgresql":
		config := postgres.Config{URL: at, MaxLetters: c.MaxLetters}
		open, err = opener(config, postgres.Open), config.Validate()
	case "memory":
		config := memory.Config{MaxLetters: c.MaxLetters}
		openMemory := func(_ context.Context, c memory.Config) (*memory.DB, error) { return memory.Open(c) }
		open, err = opener(config, openMemory), config.Validate()
		if rest != "" {
			err = errors.Join(err, errors.New("memory: takes nothing after the colon"))
		}
	case "":
		return nil, errors.New("store: names no kind; want sqlite:FILE, postgres://USER:PASSWORD@HOST/DATABASE or memory:")
	default:
		return nil, fmt.Errorf("store: %.20q is not a kind of store; there are sqlite:FILE, postgres://USER:PASSWORD@HOST/DATABASE and memory:", scheme)
	}
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", scheme, err)
	}
	return open, nil
}

// database is what the three kinds of DB have in common.
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
