// Package outboxqueue delivers events of an outbox to a Bezoar queue. Delivery is exactly
// once if both are in one database.
//
//	outbox and queue in one database:  one transaction = message sent + event settled
//	otherwise:                         message sent, then event settled
package outboxqueue

import (
	"context"
	"errors"
	"fmt"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/outbox"
	"github.com/bezoar-dev/bezoar/queue"
)

// Queue is the part of a queue engine that a sink needs.
type Queue interface {
	Queue(ctx context.Context, name string) (queue.Queue, error)
	SendBatch(ctx context.Context, name string, in []queue.SendInput) ([]queue.SendResult, error)
}

// Engine is the part of [queue.Engine] that this package needs.
type Engine interface {
	Queue
	SendTx(ctx context.Context, tx any, name string, in []queue.SendInput) ([]queue.SendResult, error)
}

// Place identifies the database of an engine's store.
type Place interface {
	// In reports whether tx is a transaction of that database.
	In(ctx context.Context, tx any) (bool, error)
}

// Sink is an [outbox.TxSink] that delivers to a queue.
type Sink struct {
	outbox.Sink // sends through the engine
	engine      Engine
	place       Place
	open        func(q Queue) (outbox.Sink, error)
}

// New returns a sink for the engine e. It calls open once for the engine itself, and once
// for each transaction of p's database.
func New(e Engine, p Place, open func(q Queue) (outbox.Sink, error)) (*Sink, error) {
	plain, err := open(e)
	if err != nil {
		return nil, err
	}
	return &Sink{Sink: plain, engine: e, place: p, open: open}, nil
}

// In reports whether the queue is in the database of tx.
func (s *Sink) In(ctx context.Context, tx any) (bool, error) { return s.place.In(ctx, tx) }

// SendTx implements [outbox.TxSink].
func (s *Sink) SendTx(ctx context.Context, tx any, records []outbox.Record) ([]error, error) {
	q := &joined{engine: s.engine, tx: tx}
	sink, err := s.open(q)
	if err != nil {
		return nil, err
	}
	results := sink.Send(ctx, records)
	if err := sink.Close(); err != nil {
		return nil, err
	}
	if q.err != nil { // the transaction has failed, whatever the results say
		return nil, q.err
	}
	for i, err := range results {
		if err != nil && !errors.Is(err, outbox.ErrBehind) && !own(err) {
			return nil, fmt.Errorf("event %s: %w", records[i].ID, err)
		}
	}
	return results, nil
}

func own(err error) bool {
	f, ok := errors.AsType[*outbox.Failure](err)
	return ok && (f.Class == bezoar.Invalid || f.Class == bezoar.Bug)
}

// joined sends messages inside a transaction.
type joined struct {
	engine Engine
	tx     any
	err    error
}

func (j *joined) Queue(ctx context.Context, name string) (queue.Queue, error) {
	return j.engine.Queue(ctx, name)
}

func (j *joined) SendBatch(ctx context.Context, name string, in []queue.SendInput) ([]queue.SendResult, error) {
	if j.err != nil {
		return nil, j.err
	}
	results, err := j.engine.SendTx(ctx, j.tx, name, in)
	j.err = err
	return results, err
}
