package queue

import (
	"context"
	"errors"
	"time"
)

// How much one step of upkeep does, so that it never holds a store for long.
const (
	sweepLimit = 100
	cleanLimit = 500
	moveLimit  = 100
)

// Run does what time brings about, until ctx is over: sets messages aside whose
// receives are used up, expires old ones, and works on move tasks. Any number
// of processes may run engines on one store. A store that fails is asked again.
func (e *Engine) Run(ctx context.Context) error {
	var expired time.Time
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-e.kick:
		}
		next := min(e.sweep(ctx), e.move(ctx))
		if now := time.Now(); now.Sub(expired) >= e.config.ExpireEvery {
			expired = now
			e.expire(ctx)
		}
		timer.Reset(next)
	}
}

// complain logs what went wrong; the next round tries again.
func (e *Engine) complain(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		e.config.Log.Error("queue upkeep failed", "doing", what, "err", err)
	}
}

// sweep returns when it should be called again.
func (e *Engine) sweep(ctx context.Context) time.Duration {
	for ctx.Err() == nil {
		swept, err := e.store.Sweep(ctx, sweepLimit)
		if err != nil {
			e.complain(ctx, "set messages aside", err)
			return e.config.SweepEvery
		}
		e.wakeAll(swept.Queues)
		if swept.Moved < sweepLimit {
			return e.soon(swept.Next)
		}
	}
	return e.config.SweepEvery
}

// move gives each running task one step.
func (e *Engine) move(ctx context.Context) time.Duration {
	next := e.config.SweepEvery
	tasks, err := e.store.Moves(ctx, MoveQuery{Live: true})
	if err != nil {
		e.complain(ctx, "list move tasks", err)
		return next
	}
	for _, t := range tasks {
		if t.State != MoveRunning {
			continue
		}
		step, err := e.store.StepMove(ctx, t.ID, moveLimit)
		if errors.Is(err, ErrMoveNotRunning) || errors.Is(err, ErrMoveNotFound) {
			continue // somebody else ended it
		}
		if err != nil {
			e.complain(ctx, "move from "+t.Source, err)
			continue
		}
		e.wakeAll(step.Queues)
		if step.Task.State == MoveRunning {
			next = min(next, e.soon(step.Next))
		}
	}
	return next
}

func (e *Engine) soon(next time.Duration) time.Duration {
	if next < 0 {
		return e.config.SweepEvery
	}
	return min(max(next, time.Millisecond), e.config.SweepEvery)
}

func (e *Engine) wakeAll(queues []string) {
	for _, name := range queues {
		e.hub.wake(name)
	}
}

// expire goes through all queues; of each it removes what it can in 20 steps,
// and the rest in the next rounds.
func (e *Engine) expire(ctx context.Context) {
	const steps = 20
	for after := ""; ctx.Err() == nil; {
		queues, err := e.store.Queues(ctx, ListQuery{After: after})
		if err != nil {
			e.complain(ctx, "list queues", err)
			return
		}
		if len(queues) == 0 {
			break
		}
		for _, q := range queues {
			after = q.Name
			for range steps {
				n, err := e.expireSome(ctx, q)
				if err != nil && !errors.Is(err, ErrQueueNotFound) {
					e.complain(ctx, "expire messages of "+q.Name, err)
				}
				if n < cleanLimit {
					break
				}
			}
		}
	}
	for range steps {
		n, err := e.store.Clean(ctx, cleanLimit)
		e.complain(ctx, "remove leftovers", err)
		if n < cleanLimit {
			break
		}
	}
}

func (e *Engine) expireSome(ctx context.Context, q Queue) (int, error) {
	p, err := e.policy(ctx, q)
	if err != nil {
		return 0, err
	}
	return e.store.Expire(ctx, q.ID, p, q.Settings.Retention, cleanLimit)
}
