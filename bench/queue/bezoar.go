package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
	"github.com/bezoar-dev/bezoar/queue"
)

func bezoarSQLite() Subject {
	return Subject{
		Name:     "bezoar-sqlite",
		Settings: "journal_mode=WAL synchronous=FULL, fdatasync, group commit; one transaction for each batch or for several callers' batches",
		engine:   true,
		open:     openBezoarSQLite,
	}
}

func openBezoarSQLite(ctx context.Context, e *Env) (Queue, error) {
	dir, err := e.fresh()
	if err != nil {
		return nil, err
	}
	db, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(dir, "bezoar.db")})
	if err != nil {
		return nil, err
	}
	return openEngine(ctx, db.Queue(), db.Close)
}

// engine is Bezoar's, called in this process, with its upkeep running.
type engine struct {
	*queue.Engine
	bodies bodies
	stop   func() error
}

const engineQueue = "bench"

func openEngine(ctx context.Context, s queue.Store, done func() error) (*engine, error) {
	e, err := queue.New(queue.Config{}, s)
	if err == nil {
		_, err = e.CreateQueue(ctx, engineQueue, queue.DefaultSettings(), nil)
	}
	if err != nil {
		return nil, errors.Join(err, done())
	}
	upkeep, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- e.Run(upkeep) }()
	return &engine{Engine: e, stop: func() error {
		cancel()
		return errors.Join(<-ended, done())
	}}, nil
}

func (e *engine) Close() error { return e.stop() }

func (e *engine) Send(ctx context.Context, l Load) error {
	return share(ctx, l, batch, func(ctx context.Context, n int) error { return e.sendBatch(ctx, n) })
}

func (e *engine) sendBatch(ctx context.Context, n int) error { return e.sendTo(ctx, engineQueue, n) }

func (e *engine) sendTo(ctx context.Context, name string, n int) error {
	in := make([]queue.SendInput, n)
	for i := range in {
		in[i].Body = []byte(e.bodies.next())
	}
	results, err := e.SendBatch(ctx, name, in)
	if err != nil {
		return err
	}
	for _, r := range results {
		if r.Err != nil {
			return r.Err
		}
	}
	return nil
}

func (e *engine) Drain(ctx context.Context, l Load) error {
	return drain(ctx, l, func(ctx context.Context) (int, error) {
		m, err := e.Receive(ctx, engineQueue, queue.ReceiveInput{Max: batch})
		if err != nil || len(m) == 0 {
			return 0, err
		}
		return len(m), e.delete(ctx, m)
	})
}

func (e *engine) delete(ctx context.Context, m []queue.Message) error {
	receipts := make([]queue.Receipt, len(m))
	for i := range m {
		receipts[i] = m[i].Receipt
	}
	results, err := e.DeleteBatch(ctx, engineQueue, receipts)
	return errors.Join(append(results, err)...)
}
