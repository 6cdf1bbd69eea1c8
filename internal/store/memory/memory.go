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

// Config says how much a DB keeps.
type Config struct {
	MaxLetters int // 0 means ledger.DefaultMaxLetters
}

// Validate reports every field that is out of bounds.
func (c Config) Validate() error {
	if c.MaxLetters < 0 {
		return fmt.Errorf("MaxLetters: %d is negative", c.MaxLetters)
	}
	return nil
}

// DB holds one store for each engine.
type DB struct {
	ledger *ledgerStore
	queue  *queueStore
	quota  *quotaStore
	live   *settingsStore
	flow   *flowStore
}

// Open returns an empty DB.
func Open(c Config) (*DB, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("open the memory store: %w", err)
	}
	c.MaxLetters = cmp.Or(c.MaxLetters, ledger.DefaultMaxLetters)
	return &DB{ledger: newLedgerStore(c.MaxLetters), queue: newQueueStore(), quota: newQuotaStore(), live: newSettingsStore(), flow: newFlowStore()}, nil
}

// Ledger returns the ledger's store.
func (db *DB) Ledger() ledger.Store { return db.ledger }

// Queue returns the queue engine's store.
func (db *DB) Queue() queue.Store { return db.queue }

// Live returns the store of live settings.
func (db *DB) Live() live.Store { return db.live }

// Flow returns the store of flows.
func (db *DB) Flow() flow.Store { return db.flow }

// Quota returns the store of quotas.
func (db *DB) Quota() quota.Store { return db.quota }

// Close does nothing: what is held goes with the last reference to db.
func (db *DB) Close() error { return nil }

// lock guards a store.
type lock struct{ mu sync.Mutex }

// enter locks the store unless ctx is over.
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
