package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
)

// CreateQueue creates a queue. If a queue with that name and the same settings exists, it
// returns that queue. If the settings differ, it returns that queue and ErrQueueExists.
func (e *Engine) CreateQueue(ctx context.Context, name string, s Settings, tags map[string]string) (Queue, error) {
	fail := func(err error) error { return fmt.Errorf("create queue %.100q: %w", name, err) }
	if err := errors.Join(validateName(name, s.FIFO), e.rules.validate(s), validateTags(tags)); err != nil {
		return Queue{}, fail(err)
	}
	existing, err := e.store.Queue(ctx, name)
	switch {
	case err == nil:
		return e.same(existing, s)
	case !errors.Is(err, ErrQueueNotFound):
		return Queue{}, fail(err)
	}
	if err := e.checkDeadLetter(ctx, name, s); err != nil {
		return Queue{}, fail(err)
	}
	q, err := e.store.CreateQueue(ctx, Queue{Name: name, Settings: s, Tags: tags})
	if errors.Is(err, ErrQueueExists) {
		return e.same(q, s)
	}
	if err != nil {
		return Queue{}, fail(err)
	}
	e.remember(q)
	return q, nil
}

func (e *Engine) same(q Queue, s Settings) (Queue, error) {
	e.remember(q)
	if !q.Settings.Equal(s) {
		return q, fmt.Errorf("create queue %q: %w with other settings", q.Name, ErrQueueExists)
	}
	return q, nil
}

// checkDeadLetter checks that the dead-letter queue exists, is of the same kind, is another queue, and allows this one.
func (e *Engine) checkDeadLetter(ctx context.Context, name string, s Settings) error {
	target := s.DeadLetter.Queue
	if target == "" {
		return nil
	}
	if target == name {
		return invalid("DeadLetter.Queue: %q cannot be its own", name)
	}
	d, err := e.store.Queue(ctx, target)
	if err != nil {
		return fmt.Errorf("DeadLetter.Queue: %w", err)
	}
	if d.Settings.FIFO != s.FIFO {
		return invalid("DeadLetter.Queue: %q and its source must both be FIFO queues, or neither", target)
	}
	if !d.Settings.Allow.permits(name) {
		return fmt.Errorf("DeadLetter.Queue: %q: %w", target, ErrDeadLetterRefuse)
	}
	return nil
}

// Queue returns a queue by its name, or ErrQueueNotFound. In a shared store, changes by
// other processes within the last second may be missing.
func (e *Engine) Queue(ctx context.Context, name string) (Queue, error) { return e.find(ctx, name) }

// Queues lists queues by name.
func (e *Engine) Queues(ctx context.Context, q ListQuery) ([]Queue, error) {
	if q.Limit < 0 || q.Limit > 1000 {
		return nil, invalid("Limit is %d, want 0 to 1000", q.Limit)
	}
	return e.store.Queues(ctx, q)
}

// SetSettings changes the settings of a queue by change. It calls change again if another
// process changes them at the same time.
func (e *Engine) SetSettings(ctx context.Context, name string, change func(*Settings) error) (Queue, error) {
	return e.update(ctx, name, func(q *Queue) error {
		fifo, dead := q.Settings.FIFO, q.Settings.DeadLetter
		if err := change(&q.Settings); err != nil {
			return err
		}
		if q.Settings.FIFO != fifo {
			return invalid("FIFO: is decided when the queue is made")
		}
		if err := e.rules.validate(q.Settings); err != nil {
			return err
		}
		if q.Settings.DeadLetter == dead {
			return nil // it may have been deleted meanwhile; that must not block other changes
		}
		return e.checkDeadLetter(ctx, name, q.Settings)
	})
}

// SetTags adds and replaces tags, and then removes others.
func (e *Engine) SetTags(ctx context.Context, name string, set map[string]string, remove []string) (Queue, error) {
	return e.update(ctx, name, func(q *Queue) error {
		tags := maps.Clone(q.Tags)
		if tags == nil {
			tags = make(map[string]string)
		}
		maps.Copy(tags, set)
		for _, key := range remove {
			delete(tags, key)
		}
		q.Tags = tags
		return validateTags(tags)
	})
}

// update repeats a change until no other change comes between its read and its write.
func (e *Engine) update(ctx context.Context, name string, change func(*Queue) error) (Queue, error) {
	for {
		q, err := e.store.Queue(ctx, name)
		if err != nil {
			return Queue{}, wrap(err, "change queue %.100q", name)
		}
		if err := change(&q); err != nil {
			return Queue{}, wrap(err, "change queue %q", name)
		}
		q, err = e.store.UpdateQueue(ctx, q)
		if errors.Is(err, ErrConflict) {
			continue
		}
		if err != nil {
			return Queue{}, wrap(err, "change queue %q", name)
		}
		e.remember(q)
		e.hub.wake(name) // new rules apply to waiting receives
		return q, nil
	}
}

// DeleteQueue removes a queue with all its messages and dead letters, without a check that
// it is empty. Queues that name it as their dead-letter queue use the implicit one from
// then on.
func (e *Engine) DeleteQueue(ctx context.Context, name string) error {
	err := e.in(ctx, name, func(q Queue) error { return e.store.DeleteQueue(ctx, q.ID) })
	if err == nil {
		e.unpause(ctx, name)
	}
	e.forget(name)
	e.hub.wake(name)
	return wrap(err, "delete queue %.100q", name)
}

// unpause forgets the state of a deleted queue.
func (e *Engine) unpause(ctx context.Context, name string) {
	e.complain(ctx, "end the pause of a queue that is gone", e.letGo(ctx, name))
	e.complain(ctx, "forget the outage of a queue that is gone", e.judge.Forget(ctx, name))
}

// Purge removes all messages that were sent before the call, including those in flight.
func (e *Engine) Purge(ctx context.Context, name string) error {
	return wrap(e.in(ctx, name, func(q Queue) error { return e.store.Purge(ctx, q.ID) }), "purge queue %.100q", name)
}

// Counts returns how many messages a queue has.
func (e *Engine) Counts(ctx context.Context, name string) (c Counts, err error) {
	err = e.in(ctx, name, func(q Queue) (err error) {
		c, err = e.store.Counts(ctx, q.ID)
		return err
	})
	return c, wrap(err, "count queue %.100q", name)
}

// Peek returns up to limit messages (0 means 10, at most MaxBatch) in the order of
// sending, with larger sequence numbers than after. It does not receive them: no count,
// lease or receipt changes.
func (e *Engine) Peek(ctx context.Context, name string, after int64, limit int) (m []Message, err error) {
	limit = cmp.Or(limit, 10)
	if limit < 0 || limit > MaxBatch {
		return nil, invalid("peek into queue %.100q: limit is %d, want 0 to %d", name, limit, MaxBatch)
	}
	err = e.in(ctx, name, func(q Queue) (err error) {
		m, err = e.store.Peek(ctx, q.ID, after, limit)
		return err
	})
	return m, wrap(err, "peek into queue %.100q", name)
}
