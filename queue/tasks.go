package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// DefaultRate is the default rate of a task, in letters per second.
const DefaultRate = 100

// maxCanary bounds the canary of a task.
const maxCanary = 10_000

// StartTask starts to redrive, discard or restore the letters of t.Source that t.Selection
// picks. MoveTask explains what Run does then. t.Rate 0 means DefaultRate.
func (e *Engine) StartTask(ctx context.Context, t MoveTask) (MoveTask, error) {
	fail := func(err error) (MoveTask, error) {
		return MoveTask{}, wrap(err, "start to %s from queue %.100q", t.Kind, t.Source)
	}
	if t.Kind == MoveRestore && t.Source == "" {
		t.Source = TrashQueue
	}
	t.Selection.Queue = cmp.Or(t.Selection.Queue, t.Source)
	t.Rate = cmp.Or(t.Rate, DefaultRate)
	if err := t.validate(); err != nil {
		return fail(err)
	}
	if err := e.checkEnds(ctx, &t); err != nil {
		return fail(err)
	}
	started, err := e.store.StartMove(ctx, MoveTask{
		ID: NewID(), Kind: t.Kind, Source: t.Source, Destination: t.Destination, Selection: t.Selection,
		Rate: t.Rate, Canary: t.Canary, HaltAbove: t.HaltAbove, Actor: t.Actor, Reason: t.Reason,
	})
	if err != nil {
		return fail(err)
	}
	e.hurry()
	return started, nil
}

func (t *MoveTask) validate() error {
	var faults []error
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, invalid(format, args...))
		}
	}
	redrive := t.Kind == MoveRedrive
	fault(!redrive && t.Kind != MoveDiscard && t.Kind != MoveRestore, "Kind: %.40q is none of %s, %s and %s", string(t.Kind), MoveRedrive, MoveDiscard, MoveRestore)
	fault((t.Kind == MoveRestore) != (t.Source == TrashQueue), "Source: %.100q: restoring is from the trash, all else is not", t.Source)
	fault(t.Selection.Queue != t.Source, "Selection.Queue: %.100q is not the source", t.Selection.Queue)
	fault(t.Rate < 1 || t.Rate > MaxTriageRate, "Rate is %d, want 1 to %d", t.Rate, MaxTriageRate)
	fault(t.Canary < 0 || t.Canary > maxCanary, "Canary is %d, want 0 to %d", t.Canary, maxCanary)
	fault(!(t.HaltAbove >= 0 && t.HaltAbove <= 1), "HaltAbove is %g, want 0 to 1", t.HaltAbove)
	fault(!redrive && t.Canary != 0, "Canary: only a redrive has one")
	fault(!redrive && t.Destination != "", "Destination: only a redrive has one")
	fault(redrive && t.Destination == t.Source, "Destination: is the source")
	fault(len(t.Actor) > 256 || len(t.Reason) > maxReason || !plain(t.Actor, t.Reason),
		"Actor, Reason: longer than 256 or %d bytes, holds a NUL, or is no UTF-8", maxReason)
	return errors.Join(append(faults, t.Selection.validate())...)
}

// checkEnds checks that source and destination exist and are of one kind.
func (e *Engine) checkEnds(ctx context.Context, t *MoveTask) error {
	if t.Source == TrashQueue {
		return nil
	}
	source, err := e.store.Queue(ctx, t.Source)
	if err != nil {
		return fmt.Errorf("Source: %w", err)
	}
	if t.Destination == "" {
		return nil
	}
	d, err := e.store.Queue(ctx, t.Destination)
	if err != nil {
		return fmt.Errorf("Destination: %w", err)
	}
	if d.Settings.FIFO != source.Settings.FIFO {
		return invalid("Destination: %q and the source must both be FIFO queues, or neither", t.Destination)
	}
	return nil
}

// ChangeTask pauses, resumes or cancels a task that is not over, or changes its rate.
func (e *Engine) ChangeTask(ctx context.Context, id string, c MoveChange) (MoveTask, error) {
	fail := func(err error) (MoveTask, error) { return MoveTask{}, wrap(err, "change task %.64q", id) }
	switch c.State {
	case "", MovePaused, MoveRunning, MoveCancelled:
	default:
		return fail(invalid("State: %.40q is none of %s, %s and %s", string(c.State), MovePaused, MoveRunning, MoveCancelled))
	}
	if c.Rate < 0 || c.Rate > MaxTriageRate {
		return fail(invalid("Rate is %d, want 0 to %d", c.Rate, MaxTriageRate))
	}
	if !plain(id) {
		return fail(ErrMoveNotFound)
	}
	t, err := e.store.ChangeMove(ctx, id, c)
	if err != nil {
		return fail(err)
	}
	e.hurry()
	return t, nil
}

// Tasks lists tasks, the newest first.
func (e *Engine) Tasks(ctx context.Context, q MoveQuery) ([]MoveTask, error) {
	if q.Limit < 0 || q.Limit > 1000 {
		return nil, invalid("list tasks: Limit is %d, want 0 to 1000", q.Limit)
	}
	t, err := e.store.Moves(ctx, q)
	return t, wrap(err, "list tasks")
}
