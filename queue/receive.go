package queue

import (
	"context"
	"time"
)

// Receive leases up to in.Max messages. When there is none it waits, woken by
// a send, the end of a delay or lease, a release or a redrive; it never waits
// to fill a batch. No message and no error means that the wait is over.
func (e *Engine) Receive(ctx context.Context, queue string, in ReceiveInput) ([]Message, error) {
	fail := func(err error) ([]Message, error) { return nil, wrap(err, "receive from queue %.100q", queue) }
	if in.Max == 0 {
		in.Max = 1
	}
	if in.Max < 0 || in.Max > MaxBatch {
		return fail(invalid("Max: %d is not within 0 to %d", in.Max, MaxBatch))
	}
	if v := or(in.Visibility, 0); v < 0 || v > MaxVisibility {
		return fail(invalid("Visibility: %v is not within 0 to %v", v, MaxVisibility))
	}
	if w := or(in.Wait, 0); w < 0 || w > MaxWait {
		return fail(invalid("Wait: %v is not within 0 to %v", w, MaxWait))
	}
	if len(in.Worker) > 256 || !plain(in.Worker) {
		return fail(invalid("Worker: longer than 256 bytes, holds a NUL, or is no UTF-8"))
	}
	began := time.Now()
	claimed, q, err := e.claim(ctx, queue, in)
	if err != nil {
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

// await waits in line. Only the first in line asks the store; when it leaves,
// with messages or without, the next one asks.
func (e *Engine) await(ctx context.Context, queue string, in ReceiveInput, wait time.Duration) ([]Message, error) {
	over := time.NewTimer(wait)
	defer over.Stop()
	me := e.hub.join(queue)
	defer e.hub.leave(queue, me)
	again := time.NewTimer(wait) // as long as it is not my turn
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
		next := wait
		if claimed.Next >= 0 {
			next = min(next, max(claimed.Next, time.Millisecond))
		}
		if e.store.Shared() {
			next = min(next, e.config.PollEvery)
		}
		again.Reset(next)
	}
}

func (e *Engine) claim(ctx context.Context, queue string, in ReceiveInput) (claimed Claimed, of Queue, err error) {
	err = e.in(ctx, queue, func(q Queue) error {
		of = q
		policy, err := e.policy(ctx, q)
		if err != nil {
			return err
		}
		claimed, err = e.store.Receive(ctx, q.ID, Claim{
			Policy: policy, Max: in.Max, Visibility: or(in.Visibility, q.Settings.Visibility),
			Retention: q.Settings.Retention, Worker: in.Worker,
		})
		if err != nil {
			return err
		}
		if claimed.Due {
			e.hurry()
		}
		e.wakeAll(claimed.Queues)
		e.hub.hold(queue, claimed.Held)
		for i := range claimed.Messages {
			claimed.Messages[i].Receipt.Queue = q.ID
		}
		return nil
	})
	return claimed, of, err
}
