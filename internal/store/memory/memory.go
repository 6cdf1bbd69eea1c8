package memory

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/quota"
)

// Config limits the size of a DB.
type Config struct {
	MaxLetters int // 0: ledger.DefaultMaxLetters
}

// Validate returns one error that names every invalid field, or nil.
func (c Config) Validate() error {
	if c.MaxLetters < 0 {
		return fmt.Errorf("MaxLetters: %d is negative", c.MaxLetters)
	}
	return nil
}

// DB holds one store per engine.
type DB struct {
	ledger *ledgerStore
	queue  *queueStore
	quota  *quotaStore
	live   *settingsStore
	flow   *flowStore
}

func Open(c Config) (*DB, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("open the memory store: %w", err)
	}
	c.MaxLetters = cmp.Or(c.MaxLetters, ledger.DefaultMaxLetters)
	return &DB{ledger: newLedgerStore(c.MaxLetters), queue: newQueueStore(), quota: newQuotaStore(), live: newSettingsStore(), flow: newFlowStore()}, nil
}

func (db *DB) Ledger() ledger.Store { return db.ledger }

// Queue returns the queue engine's store.
func (db *DB) Queue() queue.Store { return db.queue }

func (db *DB) Live() live.Store { return db.live }

func (db *DB) Flow() flow.Store { return db.flow }

func (db *DB) Quota() quota.Store { return db.quota }

// Close does nothing: the garbage collector frees the stores.
func (db *DB) Close() error { return nil }

// lock guards a store.
type lock struct{ mu sync.Mutex }

// enter locks the store unless ctx has ended.
func (l *lock) enter(ctx context.Context) (leave func(), err error) {
	l.mu.Lock()
	if err := ctx.Err(); err != nil {
		l.mu.Unlock()
		return nil, err
	}
	return l.mu.Unlock, nil
}

// within runs f while the store is locked, unless ctx is over.
func within[T any](ctx context.Context, l *lock, f func() (T, error)) (none T, err error) {
	leave, err := l.enter(ctx)
	if err != nil {
		return none, err
	}
	defer leave()
	return f()
}

// locked is within for what returns nothing.
func locked(ctx context.Context, l *lock, f func() error) error {
	_, err := within(ctx, l, func() (struct{}, error) { return struct{}{}, f() })
	return err
}
