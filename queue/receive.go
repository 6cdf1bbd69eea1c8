package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// Receive leases up to in.Max messages.
//
// While the queue is paused, or the breaker of its group is open, it leases none, or one
// message as a trial. A worker that holds a message alone gets no other message. If there
// is no message, Receive waits until a send, the end of a delay or a lease, a release or a
// redrive. It never waits to fill a batch. No message and no error means that the wait is
// over.
func (e *Engine) Receive(ctx context.Context, queue string, in ReceiveInput) ([]Message, error) {
	fail := func(err error) ([]Message, error) { return nil, wrap(err, "receive from queue %.100q", queue) }
	in.Max = cmp.Or(in.Max, 1)
	if in.Max < 0 || in.Max > MaxBatch {
		return fail(invalid("Max is %d, want 0 to %d", in.Max, MaxBatch))
	}
	if v := or(in.Visibility, 0); v < 0 || v > MaxVisibility {
		return fail(invalid("Visibility is %v, want 0 to %v", v, MaxVisibility))
	}
	if w := or(in.Wait, 0); w < 0 || w > MaxWait {
		return fail(invalid("Wait is %v, want 0 to %v", w, MaxWait))
	}
	if len(in.Worker) > 256 || len(in.Attempt) > maxGroup || len(in.Life) > 64 || !plain(in.Worker, in.Attempt, in.Life) {
		return fail(invalid("Worker, Attempt, Life: longer than 256, %d or 64 bytes, holds a NUL, or is no UTF-8", maxGroup))
	}
	began := time.Now()
	e.arrives(in.Worker, in.Life, began)
	claimed, q, err := e.claim(ctx, queue, in)
	if err != nil && !errors.Is(err, errBusy) {
		return fail(err)
	}
	wait := or(in.Wait, q.Settings.Wait) - time.Since(began)
	if len(claimed.Messages) > 0 || wait <= 0 {
		return claimed.Messages, nil
	}
	messages, err := e.await(ctx, queue, in, wait)
	if err != nil {
		return fail(err)
	}
	return messages, nil
}

// errBusy says that a worker holds a message that it received alone, or that it holds any message when it was to receive
// one alone.
var errBusy = errors.New("the worker is busy")

// await waits for messages. A worker that may receive none does not stand in line before others.
func (e *Engine) await(ctx context.Context, queue string, in ReceiveInput, wait time.Duration) ([]Message, error) {
	over := time.NewTimer(wait)
	defer over.Stop()
	for {
		messages, err := e.inLine(ctx, queue, in, over)
		if !errors.Is(err, errBusy) {
			return messages, err
		}
		for busy := true; busy; _, busy = e.holdings.busy(in.Worker, time.Now()) {
			select {
			case <-over.C:
				return nil, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(e.config.PollEvery):
			}
		}
	}
}

// inLine waits in line. Only the first in line asks the store; when it leaves,
// with messages or without, the next one asks.
func (e *Engine) inLine(ctx context.Context, queue string, in ReceiveInput, over *time.Timer) ([]Message, error) {
	me := e.hub.join(queue)
	defer e.hub.leave(queue, me)
	again := time.NewTimer(MaxWait) // as long as this receive is not first
	defer again.Stop()
	for {
		select {
		case <-over.C:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-me.turn:
		case <-again.C:
		}
		claimed, _, err := e.claim(ctx, queue, in)
		if err != nil || len(claimed.Messages) > 0 {
			return claimed.Messages, err
		}
		next := MaxWait
		if claimed.Next >= 0 {
			next = min(next, max(claimed.Next, time.Millisecond))
		}
		if e.store.Shared() {
			next = min(next, e.config.PollEvery)
		}
		again.Reset(next)
	}
}

// claim asks for messages once.
func (e *Engine) claim(ctx context.Context, queue string, in ReceiveInput) (claimed Claimed, of Queue, err error) {
	err = e.in(ctx, queue, func(q Queue) error {
		of = q
		policy, err := e.policy(ctx, q)
		if err != nil {
			return err
		}
		lease := or(in.Visibility, q.Settings.Visibility)
		if claimed.Messages, err = e.again(ctx, &q, policy, in.Attempt, lease); err != nil || len(claimed.Messages) > 0 {
			return err
		}
		now := time.Now()
		if _, busy := e.holdings.busy(in.Worker, now); busy {
			return errBusy
		}
		if err := e.roomIn(&q, now); err != nil {
			return err
		}
		leave := e.admit(ctx, &q, lease)
		if !leave.ok {
			claimed.Next = leave.wait
			return nil
		}
		limit := in.Max
		if leave.trial != nil {
			limit = 1
		}
		claimed, err = e.lease(ctx, &q, Claim{
			Policy: policy, Max: limit, Visibility: lease, Retention: q.Settings.Retention, Worker: in.Worker,
		})
		if err == nil {
			err = e.onlyIdle(ctx, &q, policy, in.Worker, &claimed)
		}
		e.begin(ctx, leave.trial, claimed.Messages)
		if err != nil {
			return err
		}
		e.holdings.add(in.Worker, q.ID, now.Add(lease), claimed.Messages)
		if in.Attempt != "" && len(claimed.Messages) > 0 {
			e.replays.keep(replayKey{q.ID, in.Attempt}, claimed.Messages, now)
		}
		return nil
	})
	return claimed, of, err
}

// lease claims messages until it has some that the queue's schema allows, or none are left.
func (e *Engine) lease(ctx context.Context, q *Queue, c Claim) (claimed Claimed, err error) {
	r, err := e.rules.of(q)
	if err != nil {
		e.complain(ctx, "compile the settings of queue "+q.Name, err)
	}
	for range schemaRounds {
		claimed, err = e.take(ctx, q, c)
		if err != nil {
			return Claimed{}, err
		}
		if claimed.Due {
			e.hurry()
		}
		e.wakeAll(claimed.Queues)
		e.hub.hold(q.Name, claimed.Held)
		for i := range claimed.Messages {
			claimed.Messages[i].Receipt.Queue = q.ID
		}
		if len(claimed.Messages) == 0 {
			return claimed, nil
		}
		if claimed.Messages, err = e.sift(ctx, q, &r, claimed.Messages); err != nil {
			return Claimed{}, err
		}
		if len(claimed.Messages) > 0 {
			e.first(q, claimed.Messages)
			return claimed, nil
		}
	}
	return Claimed{Held: claimed.Held}, nil // a waiting receive asks again at once
}

// takeFor bounds a claim whose caller may have gone.
const takeFor = 5 * time.Second

// take claims messages. If the caller leaves in the middle, the claim is completed and taken back, so that no messages stay
// leased to nobody.
func (e *Engine) take(ctx context.Context, q *Queue, c Claim) (Claimed, error) {
	if err := ctx.Err(); err != nil {
		return Claimed{}, err
	}
	through, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeFor)
	defer cancel()
	claimed, err := e.store.Receive(through, q.ID, c)
	if err != nil || ctx.Err() == nil || len(claimed.Messages) == 0 {
		return claimed, err
	}
	changes := make([]Change, len(claimed.Messages))
	for i, m := range claimed.Messages {
		changes[i] = Change{Receipt: m.Receipt, Release: true, Refund: true}
		changes[i].Receipt.Queue = q.ID
	}
	_, err = e.store.Change(through, q.ID, c.Policy, changes)
	e.hub.wake(q.Name)
	return Claimed{}, errors.Join(ctx.Err(), err)
}

// onlyIdle gives a suspect back if its worker holds another message: if the worker died, the cause would be unclear.
func (e *Engine) onlyIdle(ctx context.Context, q *Queue, p Policy, worker string, claimed *Claimed) error {
	if len(claimed.Messages) != 1 || !claimed.Messages[0].Alone || !e.holdings.holds(worker, time.Now()) {
		return nil
	}
	c := Change{Receipt: claimed.Messages[0].Receipt, Release: true, Refund: true}
	claimed.Messages = nil
	if _, err := e.store.Change(ctx, q.ID, p, []Change{c}); err != nil {
		return err
	}
	e.hub.wake(q.Name)
	return errBusy
}

// roomIn returns an error if too many messages are in flight. It counts the messages of this engine's named workers.
func (e *Engine) roomIn(q *Queue, now time.Time) error {
	limit := MaxInFlight
	if q.Settings.FIFO {
		limit = MaxInFlightFIFO
	}
	if e.holdings.count(q.ID) < limit {
		return nil
	}
	e.holdings.expire(now)
	if n := e.holdings.count(q.ID); n >= limit {
		return fmt.Errorf("%d messages are in flight, %d may be: %w", n, limit, ErrOverLimit)
	}
	return nil
}
