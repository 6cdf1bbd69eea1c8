package queue

import (
	"context"
	"errors"
	"slices"
	"time"
)

// These constants bound one step of upkeep, so that it never blocks a store for long.
const (
	sweepLimit = 100
	cleanLimit = 500
	moveLimit  = 100
)

// Run does the upkeep until ctx is over: it sets messages aside whose receives are used
// up, records vanished workers, expires old messages, and works on move tasks. Any number
// of processes may run engines on one store. Run retries when the store fails.
func (e *Engine) Run(ctx context.Context) error {
	var expired time.Time
	tasks := pace{due: make(map[string]time.Time)}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			e.judge.Leave(ctx, time.Now())
			return nil
		case <-timer.C:
		case <-e.kick:
		}
		next := min(e.sweep(ctx), e.move(ctx, &tasks), e.vanish(ctx))
		e.refresh(ctx)
		e.follow(ctx)
		if now := time.Now(); now.Sub(expired) >= e.config.ExpireEvery {
			expired = now
			e.expire(ctx)
			e.holdings.expire(now)
		}
		if ctx.Err() == nil {
			e.errlog.Passed()
		}
		timer.Reset(next)
	}
}

// complain logs an error of upkeep; the next round tries again.
func (e *Engine) complain(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		e.errlog.Failed(what, err)
	}
}

// sweep sets messages aside whose receives are used up. It returns when to call it again.
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

// pace records when the next step of each task is due, so that a round asks the store only for due tasks, and where the
// last round stopped.
type pace struct {
	due   map[string]time.Time
	after string // the last task that had a step
}

// moveRound bounds one round of steps, unless one step takes longer.
const moveRound = 200 * time.Millisecond

// move gives each due task a step, one after the other. The next round continues where it had to stop.
func (e *Engine) move(ctx context.Context, p *pace) time.Duration {
	next := e.config.SweepEvery
	tasks, err := e.store.Moves(ctx, MoveQuery{Live: true})
	if err != nil {
		e.complain(ctx, "list move tasks", err)
		return next
	}
	tasks = p.order(tasks)
	began := time.Now()
	for _, t := range tasks {
		if t.Drained && t.Pending() > 0 {
			continue // it only waits for the messages that it sent
		}
		now := time.Now()
		if wait := p.due[t.ID].Sub(now); wait > 0 {
			next = min(next, e.soon(wait))
			continue
		}
		if now.Sub(began) >= moveRound {
			return e.soon(0) // the rest is due too
		}
		p.after = t.ID
		step, err := e.store.StepMove(ctx, t.ID, moveLimit)
		if errors.Is(err, ErrMoveNotRunning) || errors.Is(err, ErrMoveNotFound) {
			continue // somebody else ended it
		}
		if err != nil {
			e.complain(ctx, "move from "+t.Source, err)
			p.due[t.ID] = now.Add(e.config.SweepEvery)
			continue
		}
		e.wakeAll(step.Queues)
		if step.Task.State == MoveRunning {
			wait := e.soon(step.Next)
			p.due[t.ID] = now.Add(wait)
			next = min(next, wait)
		}
	}
	return next
}

// order returns the running tasks, beginning after the last one that had a step, and forgets the others.
func (p *pace) order(tasks []MoveTask) []MoveTask {
	due := make(map[string]time.Time, len(tasks))
	running, first := tasks[:0], 0
	for _, t := range tasks {
		if t.State != MoveRunning {
			continue
		}
		running = append(running, t)
		if at, ok := p.due[t.ID]; ok {
			due[t.ID] = at
		}
		if t.ID == p.after {
			first = len(running)
		}
	}
	p.due = due
	return append(slices.Clone(running[first:]), running[:first]...)
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

// expire goes through all queues. It removes what it can in 20 steps for each, and the rest in the next rounds.
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
