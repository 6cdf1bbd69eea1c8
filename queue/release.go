package queue

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/judge"
	"github.com/bezoar-dev/bezoar/policy/backoff"
)

// ReleaseInput ends a delivery that did not end well.
type ReleaseInput struct {
	Receipt    Receipt
	Delay      time.Duration // until the message may be received again, up to MaxVisibility
	RetryAfter time.Duration // the downstream asked for this wait: the next delivery comes no sooner
	Refund     bool          // do not count the receive
	Outcome    *Outcome      // stored as an attempt, and judged; nil: neither
	Downstream string        // the group that failed; "": that of the queue
	// Weak says that the cause of the death is unknown, so that the outcome counts half.
	Weak bool
	// Holding is how many messages the worker had when it died, including this one. At
	// most 1 means that it died of this one.
	Holding int
}

func (in *ReleaseInput) validate() error {
	switch {
	case in.Delay < 0 || in.Delay > MaxVisibility:
		return invalid("Delay is %v, want 0 to %v", in.Delay, MaxVisibility)
	case in.RetryAfter < 0:
		return invalid("RetryAfter: %v is less than 0", in.RetryAfter)
	case in.Outcome != nil && in.Outcome.Class == bezoar.Done:
		return invalid("Outcome: what is done is to be deleted")
	case len(in.Downstream) > maxGroupName || !plain(in.Downstream):
		return invalid("Downstream: longer than %d bytes, holds a NUL, or is no UTF-8", maxGroupName)
	}
	return nil
}

// Release ends a delivery that did not end well. Its receipt becomes void at once. In a
// FIFO queue the group stays locked until the delay is over.
//
// The engine judges an outcome in this order:
//
//   - An interruption, or a worker that could not start, costs the message nothing.
//   - If many different payloads fail in the same way, it is an outage. The queue is
//     paused for every process until a canary succeeds, and the receive does not count.
//   - Failures of the downstream count for the breaker of its group.
//   - Then the payload is judged (see package poison).
//   - A message that is to be tried again waits as Settings.Retry says, or for Retry.Cap
//     if the retry budget is used up.
func (e *Engine) Release(ctx context.Context, queue string, in ReleaseInput) error {
	return one(e.ReleaseBatch(ctx, queue, []ReleaseInput{in}))
}

// ReleaseBatch releases many deliveries. It returns one result for each entry.
func (e *Engine) ReleaseBatch(ctx context.Context, queue string, in []ReleaseInput) ([]error, error) {
	const doing = "release to"
	if len(in) == 0 || len(in) > MaxBatch {
		return nil, invalid("%s queue %.100q: %d entries are not 1 to %d", doing, queue, len(in), MaxBatch)
	}
	results := make([]error, len(in))
	var changes []Change
	var at []int
	var q Queue
	for i := range in {
		if err := in[i].validate(); err != nil {
			results[i] = wrap(err, "%s queue %.100q", doing, queue)
			continue
		}
		if in[i].Outcome != nil && q.ID == 0 {
			var err error
			if q, err = e.find(ctx, queue); err != nil {
				return nil, wrap(err, "%s queue %.100q", doing, queue)
			}
		}
		changes, at = append(changes, e.changeOf(ctx, &q, in[i])), append(at, i)
	}
	if len(changes) == 0 {
		return results, nil
	}
	changed, err := e.change(ctx, doing, queue, changes)
	for i, err := range changed {
		results[at[i]] = err
	}
	return results, err
}

// changeOf returns the change of a delivery that is given back.
func (e *Engine) changeOf(ctx context.Context, q *Queue, in ReleaseInput) Change {
	c := Change{Receipt: in.Receipt, For: max(in.Delay, min(in.RetryAfter, MaxVisibility)), Release: true, Refund: in.Refund}
	if in.Outcome == nil || in.Receipt.Queue != q.ID {
		return c // a receipt of another queue is refused later
	}
	c.Outcome, c.Holding, c.Weak = clean(*in.Outcome), max(in.Holding, 0), in.Weak
	ruling, tried := e.rule(ctx, q, in, *c.Outcome)
	c.Refund = c.Refund || ruling.Excused
	switch {
	case judge.Excused(c.Outcome.Class):
		c.For = in.Delay
		return c
	case ruling.Excused && tried: // the next canary is another message
		c.For = min(max(c.For, time.Until(ruling.Until)), MaxVisibility)
		return c
	case ruling.Excused:
		return c
	}
	c.For = in.Delay
	c.Backoff = waits(q.Settings.Retry.Backoff(), max(in.RetryAfter-in.Delay, 0), ruling.Broke, rand.Float64())
	c.Attempts, c.MaxAge = q.Settings.Retry.Attempts, q.Settings.Retry.Deadline
	return c
}

// waits returns how long a message waits before it is tried again. random is drawn beforehand, since a store may call the
// result twice.
func waits(b backoff.Config, floor time.Duration, broke bool, random float64) func(int, time.Duration) time.Duration {
	return func(receives int, last time.Duration) time.Duration {
		if broke {
			return max(b.Cap, floor)
		}
		return max(b.After(max(receives-1, 0), last, random), floor)
	}
}

// rule asks the judge whether everything fails, or the downstream. tried reports whether the delivery was a trial.
func (e *Engine) rule(ctx context.Context, q *Queue, in ReleaseInput, o Outcome) (r judge.Ruling, tried bool) {
	t := e.trials.take(in.Receipt)
	f := judge.Failure{Class: o.Class, Failure: o.Failure, ID: uint64(in.Receipt.Sequence), Group: in.Downstream, Trial: t}
	if !judge.Excused(o.Class) {
		var known bool
		f.Payload, f.Before, known = e.holdings.payload(in.Receipt)
		if !known && judge.Alike(o.Class, o.Failure) != "" {
			f.Payload, f.Before = e.peekPayload(ctx, q, in.Receipt)
		}
	}
	return e.judge.Failed(ctx, time.Now(), q.source(), f), t != nil
}

// peekPayload reads a message's payload from the store, and whether it was a dead letter before. It is for deliveries of
// other processes and nameless workers. Zero means unknown.
func (e *Engine) peekPayload(ctx context.Context, q *Queue, r Receipt) (payload bezoar.Fingerprint, redriven bool) {
	found, err := e.store.Peek(ctx, q.ID, r.Sequence-1, 1)
	if err != nil || len(found) == 0 || found[0].Sequence != r.Sequence {
		return payload, false // its sequence number identifies it
	}
	if !q.Settings.Quarantine.Off {
		payload = found[0].Payload
	}
	return payload, found[0].Lineage != nil
}
