package queue

import (
	"cmp"
	"context"
	"fmt"
)

// MoveInput starts a move task.
type MoveInput struct {
	Source      string // a queue that others name as their dead-letter queue
	Destination string // "" means the queue each letter came from
	Rate        int    // messages each second; 0 means MaxMoveRate
}

// StartMove starts to send the dead letters of a queue to another one. Run does the work.
func (e *Engine) StartMove(ctx context.Context, in MoveInput) (MoveTask, error) {
	fail := func(err error) (MoveTask, error) {
		return MoveTask{}, wrap(err, "start to move from queue %.100q", in.Source)
	}
	in.Rate = cmp.Or(in.Rate, MaxMoveRate)
	if in.Rate < 0 || in.Rate > MaxMoveRate {
		return fail(invalid("Rate is %d, want 0 to %d", in.Rate, MaxMoveRate))
	}
	source, err := e.store.Queue(ctx, in.Source)
	if err != nil {
		return fail(err)
	}
	sources, err := e.store.Queues(ctx, ListQuery{DeadLetter: in.Source, Limit: 1})
	if err != nil {
		return fail(err)
	}
	if len(sources) == 0 {
		return fail(ErrNotDeadLetter)
	}
	if in.Destination == in.Source {
		return fail(invalid("Destination: is the source"))
	}
	if in.Destination != "" {
		d, err := e.store.Queue(ctx, in.Destination)
		if err != nil {
			return fail(fmt.Errorf("Destination: %w", err))
		}
		if d.Settings.FIFO != source.Settings.FIFO {
			return fail(invalid("Destination: %q and the source must both be FIFO queues, or neither", in.Destination))
		}
	}
	t, err := e.store.StartMove(ctx, MoveTask{ID: NewID(), Source: in.Source, Destination: in.Destination, Rate: in.Rate, HaltAbove: 1, Selection: Selection{Queue: in.Source}})
	if err != nil {
		return fail(err)
	}
	e.hurry()
	return t, nil
}

// CancelMove ends a running task. Messages that it has moved stay moved.
func (e *Engine) CancelMove(ctx context.Context, id string) (MoveTask, error) {
	t, err := e.store.ChangeMove(ctx, id, MoveChange{State: MoveCancelled})
	return t, wrap(err, "cancel move task %.64q", id)
}

// Moves lists the tasks of a source, the newest first. limit is 1 to 10; 0 means 1.
func (e *Engine) Moves(ctx context.Context, source string, limit int) ([]MoveTask, error) {
	if limit < 0 || limit > 10 {
		return nil, invalid("list move tasks of queue %.100q: limit is %d, want 0 to 10", source, limit)
	}
	if _, err := e.store.Queue(ctx, source); err != nil {
		return nil, wrap(err, "list move tasks of queue %.100q", source)
	}
	t, err := e.store.Moves(ctx, MoveQuery{Source: source, Limit: max(limit, 1)})
	return t, wrap(err, "list move tasks of queue %.100q", source)
}
