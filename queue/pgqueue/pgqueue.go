// Package pgqueue sends messages to queues of Bezoar in the transactions of an
// application, if Bezoar's store is in the application's PostgreSQL database: a
// message is there if and only if the transaction commits, and exactly once.
//
//	tx: UPDATE orders … ; pgqueue.Send("invoices", …) ──commit──► both, or neither
//
// It is the shortest way from a row to a worker: no relay is in between. An outbox
// (package outbox) is for other places, for other databases, and for events that
// need their order by key.
package pgqueue

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/fingerprint"
	"github.com/bezoar-dev/bezoar/internal/store/postgres"
	"github.com/bezoar-dev/bezoar/queue"
)

// Config names Bezoar's store. Only URL is required.
type Config struct {
	URL    string // as in the setting store: postgres://user:password@host:port/database
	Schema string // of the store; default bezoar
	// Key is the deployment's secret. The zero Key stands for a random one: a case
	// that the queue knows of a payload does not apply to these messages then.
	Key fingerprint.Key
}

// Sender sends messages. Its methods are safe for concurrent use.
type Sender struct {
	db     *postgres.DB
	engine *queue.Engine
}

// Open connects to the store, and brings its schema up to date. It is for reading
// the settings of queues; messages go through the caller's transactions.
func Open(ctx context.Context, c Config) (*Sender, error) {
	db, err := postgres.Open(ctx, postgres.Config{URL: c.URL, Schema: c.Schema})
	if err != nil {
		return nil, fmt.Errorf("open queues: %w", err)
	}
	engine, err := queue.New(queue.Config{Key: c.Key}, db.Queue())
	if err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("open queues: %w", err)
	}
	return &Sender{db: db, engine: engine}, nil
}

// Close releases the connections. It waits for those in use.
func (s *Sender) Close() error { return s.db.Close() }

// Send sends messages to a queue in tx, which must be one of the same database. A
// message at fault is refused by itself, in its result. After an error tx is of no
// use any more. Receives that wait find the messages at their next look.
func (s *Sender) Send(ctx context.Context, tx pgx.Tx, name string, in ...queue.SendInput) ([]queue.SendResult, error) {
	return s.engine.SendTx(ctx, tx, name, in)
}
