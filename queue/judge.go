package queue

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/backoff"
)

// ReleaseInput gives a delivery back.
type ReleaseInput struct {
	Receipt    Receipt
	Delay      time.Duration // until the message may be received again, up to MaxVisibility
	RetryAfter time.Duration // the downstream asked for so much: whatever is judged, the wait is no shorter
	Refund     bool          // the receive does not count
	Outcome    *Outcome      // how it ended: recorded as an attempt, and judged; nil: neither
	Downstream string        // the group that failed; "": the queue's
	// Weak says that nobody knows what the worker died of, so that the outcome
	// proves only half as much.
	Weak bool
	// Holding is how many messages the worker had when it died, this one
	// included; at most 1: it died of this one.
	Holding int
}

func (in *ReleaseInput) validate() error {
	switch {
	case in.Delay < 0 || in.Delay > MaxVisibility:
		return invalid("Delay: %v is not within 0 to %v", in.Delay, MaxVisibility)
	case in.RetryAfter < 0:
		return invalid("RetryAfter: %v is less than 0", in.RetryAfter)
	case in.Outcome != nil && in.Outcome.Class == bezoar.Done:
		return invalid("Outcome: what is done is to be deleted")
	case len(in.Downstream) > maxGroupName || !plain(in.Downstream):
		return invalid("Downstream: longer than %d bytes, holds a NUL, or is no UTF-8", maxGroupName)
	}
	return nil
}

// Release ends a delivery that did not end well. Its receipt is void at once.
// In a FIFO queue the group stays locked until the delay is over.
//
// An outcome is judged, in this order: an interruption, or a worker that could
// not be started, costs the message nothing. When many different payloads fail
// alike it is an outage: the queue is paused, for every process, until a canary
// works, and the receive does not count. The failures that are the downstream's
// count for its group's breaker. Then the payload is judged (see package
// poison), and if the message is to be tried again it waits as Settings.Retry
// says, for Retry.Cap if the retry budget is used up.
func (e *Engine) Release(ctx context.Context, queue string, in ReleaseInput) error {
	return one(e.ReleaseBatch(ctx, queue, []ReleaseInput{in}))
}

// ReleaseBatch releases many. There is one result for each entry.
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
		changes, at = append(changes, e.judge(ctx, &q, in[i])), append(at, i)
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

// judge says what is to be done about a delivery that is given back.
func (e *Engine) judge(ctx context.Context, q *Queue, in ReleaseInput) Change {
	c := Change{Receipt: in.Receipt, For: max(in.Delay, min(in.RetryAfter, MaxVisibility)), Release: true, Refund: in.Refund}
	if in.Outcome == nil || in.Receipt.Queue != q.ID {
		return c // that of another queue is refused later
	}
	c.Outcome, c.Holding, c.Weak = clean(*in.Outcome), max(in.Holding, 0), in.Weak
	ruling := e.rule(ctx, q, in, *c.Outcome)
	c.Refund = c.Refund || ruling.refund
	if ruling.pause > 0 {
		c.For = min(max(c.For, ruling.pause), MaxVisibility)
	}
	if ruling.free {
		return c
	}
	if free(c.Outcome.Class) {
		c.For = in.Delay
		return c
	}
	c.For = in.Delay
	c.Backoff = waits(q.Settings.Retry.Backoff(), max(in.RetryAfter-in.Delay, 0), ruling.broke, rand.Float64())
	c.Attempts, c.MaxAge = q.Settings.Retry.Attempts, q.Settings.Retry.Deadline
	return c
}

// waits is how long a message waits before it is tried again. random is drawn
// beforehand, since a store may ask twice.
func waits(b backoff.Config, floor time.Duration, broke bool, random float64) func(int, time.Duration) time.Duration {
	return func(receives int, last time.Duration) time.Duration {
		if broke {
			return max(b.Cap, floor)
		}
		return max(b.After(max(receives-1, 0), last, random), floor)
	}
}

// ruling is what is thought of a failure beyond its payload.
type ruling struct {
	refund bool          // the receive does not count
	free   bool          // and nothing else is judged
	pause  time.Duration // the message waits at least so long
	broke  bool          // the retry budget is used up
}

// rule counts one failure.
func (e *Engine) rule(ctx context.Context, q *Queue, in ReleaseInput, o Outcome) ruling {
	if free(o.Class) {
		return ruling{refund: true}
	}
	payload, redriven, known := e.holdings.payload(in.Receipt)
	if !known && alike(o) != "" {
		payload, redriven = e.peekPayload(ctx, q, in.Receipt)
	}
	group := in.Downstream
	if group == "" {
		group = q.Settings.Downstream
	}
	c, now := e.conditions, time.Now()
	var r ruling
	var changed []state
	var told []warning
	c.mu.Lock()
	qs, gs := e.queueState(q.Name, true), e.groupState(group, true)
	t := c.trials[in.Receipt]
	if t != nil {
		delete(c.trials, in.Receipt)
		changed = append(changed, e.tried(now, t, false, &o)...)
	}
	switch {
	case qs == nil:
	case qs.guard.Excuses(alike(o)):
		r.refund, r.free = true, true
		if pause, _ := qs.guard.Paused(); t != nil {
			r.pause = max(pause.Until.Sub(now), 0) // another one is the next canary
		}
	case redriven: // that what failed before fails again says nothing about the rest
	default:
		if trip := qs.guard.Failed(now, alike(o), payload, uint64(in.Receipt.Sequence)); trip != nil {
			r.refund, r.free = true, true
			changed = append(changed, qs)
			told = append(told, warning{"queue paused: it looks like an outage", []any{"queue", q.Name, "until", trip.Until, "failure", trip.Failure, "why", trip.Why}})
		}
	}
	if (t == nil || !t.probe || t.group != group) && gs != nil && blamesDownstream(o.Class) && gs.count(now, true) {
		changed = append(changed, gs)
		told = append(told, warning{"breaker opened", []any{"group", gs.name, "why", gs.breaker.Snapshot().Reason}})
	}
	if !r.free {
		r.broke = !e.afford(now, q, qs, gs)
	}
	c.mu.Unlock()
	for _, w := range told {
		e.config.Log.Warn(w.text, w.args...)
	}
	e.publish(ctx, changed...)
	return r
}

// warning is for the log, once no lock is held: a log may block, or ask the
// engine how it is.
type warning struct {
	text string
	args []any
}

// afford takes one retry from the budgets of a queue and a group. The caller
// holds the lock.
func (e *Engine) afford(now time.Time, q *Queue, qs *queueState, gs *groupState) bool {
	ok := true
	if qs != nil {
		qs.budget.Config = q.Settings.Retry.Budget
		ok = qs.budget.Retry(now)
	}
	if ok && gs != nil {
		gs.budget.Config = q.Settings.Retry.Budget
		ok = gs.budget.Retry(now)
	}
	return ok
}

// peekPayload asks the store what a message's payload is, and whether it was a
// dead letter before, for deliveries of other processes and nameless workers.
// Zero is the answer when it does not know.
func (e *Engine) peekPayload(ctx context.Context, q *Queue, r Receipt) (payload bezoar.Fingerprint, redriven bool) {
	found, err := e.store.Peek(ctx, q.ID, r.Sequence-1, 1)
	if err != nil || len(found) == 0 || found[0].Sequence != r.Sequence {
		return payload, false // its sequence stands for it
	}
	if !q.Settings.Quarantine.Off {
		payload = found[0].Payload
	}
	return payload, found[0].Lineage != nil
}
