package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/queue"
)

// Direct returns a queue of an engine in this process. The caller must Run the engine.
func Direct(e *queue.Engine, name string) Source { return &direct{engine: e, name: name} }

type direct struct {
	engine *queue.Engine
	name   string
}

func (s *direct) Open(ctx context.Context) (About, error) {
	q, err := s.engine.Queue(ctx, s.name)
	if err != nil {
		return About{}, err
	}
	a := About{Queue: q.Name, FIFO: q.Settings.FIFO, Judges: true, Batch: queue.MaxBatch, DeadLetter: q.Settings.DeadLetter.Queue, MaxReceives: q.Settings.DeadLetter.MaxReceives}
	if a.DeadLetter == "" {
		a.DeadLetter = queue.ImplicitName(q.Name)
	}
	return a, nil
}

func (s *direct) Receive(ctx context.Context, in Receive) ([]Message, error) {
	got, err := s.engine.Receive(ctx, s.name, queue.ReceiveInput{Max: in.Max, Visibility: &in.Visibility, Wait: &in.Wait, Worker: in.Worker, Life: in.Life})
	if err != nil {
		if errors.Is(err, queue.ErrQueueNotFound) {
			err = &PermanentError{err}
		}
		return nil, err
	}
	out := make([]Message, len(got))
	for i := range got {
		m := &got[i]
		out[i] = Message{
			ID: m.ID, Body: m.Body, Attributes: m.Attributes, Group: m.Group, Receives: m.Receives, Sent: m.Sent,
			Receipt: m.Receipt.String(), Payload: m.Payload, Alone: m.Alone, native: m.Receipt,
		}
	}
	return out, nil
}

// receipt is that of a message, which after a restart is known by its text alone.
func receiptOf(m *Message) (queue.Receipt, error) {
	if m.native != (queue.Receipt{}) {
		return m.native, nil
	}
	return queue.ParseReceipt(m.Receipt)
}

// lost marks the errors that mean that a delivery is over.
func lost(err error) error {
	switch queue.CodeOf(err) {
	case queue.ErrReceiptStale, queue.ErrReceiptExpired, queue.ErrMessageGone, queue.ErrReceiptInvalid:
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	return err
}

func (s *direct) Extend(ctx context.Context, m Message, d time.Duration) error {
	r, err := receiptOf(&m)
	if err != nil {
		return lost(err)
	}
	return lost(s.engine.ChangeVisibility(ctx, s.name, r, d))
}

func (s *direct) Done(ctx context.Context, m Message) error {
	r, err := receiptOf(&m)
	if err != nil {
		return lost(err)
	}
	return lost(s.engine.Delete(ctx, s.name, r))
}

func (s *direct) Release(ctx context.Context, m Message, r Release) error {
	receipt, err := receiptOf(&m)
	if err != nil {
		return lost(err)
	}
	if r.Reject && r.Outcome != nil {
		err := s.engine.Reject(ctx, s.name, receipt, *r.Outcome)
		if !errors.Is(err, queue.ErrNoDeadLetter) {
			return lost(err)
		}
	}
	return lost(s.engine.Release(ctx, s.name, queue.ReleaseInput{
		Receipt: receipt, Delay: r.Delay, RetryAfter: r.RetryAfter, Refund: r.Refund, Outcome: r.Outcome,
		Downstream: r.Downstream, Holding: r.Holding, Weak: r.Weak,
	}))
}

func (s *direct) SetAside(ctx context.Context, m Message, l Letter) error {
	results, err := s.engine.SetAside(ctx, s.name, []queue.PartInput{{
		Body: l.Body, Attributes: m.Attributes, Group: m.Group, Outcome: l.Outcome, Once: l.Once,
	}})
	if err != nil {
		return err
	}
	return results[0].Err
}
