package queue

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/policy/outage"
)

// snapshot reads what a mark holds.
func snapshot[S any](m Mark) (s S, ok bool) {
	return s, m.Version != 0 && json.Unmarshal(m.Doc, &s) == nil
}

// blamesDownstream reports whether a failure counts for the breaker of a group.
// Poison does not: one bad message would stop all.
func blamesDownstream(c bezoar.Class) bool {
	switch c {
	case bezoar.Transient, bezoar.Throttled, bezoar.Outage, bezoar.Timeout:
		return true
	case bezoar.Done, bezoar.Invalid, bezoar.Bug, bezoar.Crash, bezoar.OOM, bezoar.Interrupted, bezoar.SpawnFailed:
	}
	return false
}

// free reports whether a delivery that ended so blames nothing and nobody.
func free(c bezoar.Class) bool { return c == bezoar.Interrupted || c == bezoar.SpawnFailed }

// alike is the failure of an outcome as the outage guard compares it; "" is like
// no other. Malformed messages fail alike without an outage, and whoever can
// send them could pause the queue.
func alike(o Outcome) string {
	switch {
	case o.Class == bezoar.Invalid:
		return ""
	case o.Failure == "" && o.Class == bezoar.Outage:
		return o.Class.String()
	}
	return o.Failure
}

// tried tells the trial that a delivery was how it ended. The caller holds the
// lock. outcome is nil for a delivery that was given back without a word.
func (e *Engine) tried(now time.Time, t *trial, done bool, outcome *Outcome) (changed []state) {
	r, end, failure := breaker.Result{Ignored: true}, outage.Lost, ""
	switch {
	case done:
		r.Ignored, end = false, outage.Worked
	case outcome == nil || free(outcome.Class):
	default:
		failure = outcome.Failure
		r = breaker.Result{Failed: true, Ignored: !blamesDownstream(outcome.Class)}
		if !t.alone && outcome.Class != bezoar.Invalid {
			end = outage.Failed
		}
	}
	if s := e.conditions.groups[t.group]; s != nil && t.probe && s.breaker.Done(now, t.ticket, r, rand.Float64()) {
		changed = append(changed, s)
	}
	if s := e.conditions.queues[t.queue]; s != nil && t.canary != 0 && s.guard.Returned(now, t.canary, end, failure) {
		changed = append(changed, s)
	}
	return changed
}

// count counts the result of a call to a group that was no probe. The caller
// holds the lock.
func (s *groupState) count(now time.Time, failed bool) (changed bool) {
	if s == nil || s.breaker.State(now) != breaker.Closed {
		return false // what was sent before says nothing now
	}
	ticket, _ := s.breaker.Allow(now)
	return s.breaker.Done(now, ticket, breaker.Result{Failed: failed}, rand.Float64())
}

// worked tells what is to be known of deliveries that ended in a deletion, or in
// being given back without a word.
func (e *Engine) worked(ctx context.Context, q *Queue, receipts []Receipt, results []error) {
	for i, r := range receipts {
		if results[i] != nil {
			continue
		}
		payload, _ := e.holdings.settle(r)
		if e.conditions.some.Load() {
			e.publish(ctx, e.done(q, r, payload)...)
		}
	}
}

// done counts one message that worked.
func (e *Engine) done(q *Queue, r Receipt, payload bezoar.Fingerprint) (changed []state) {
	c, now := e.conditions, time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.trials[r]; t != nil {
		delete(c.trials, r)
		changed = e.tried(now, t, true, nil)
		if t.probe {
			return changed
		}
	}
	if s := c.queues[q.Name]; s != nil {
		s.guard.Succeeded(now, payload, uint64(r.Sequence))
	}
	if s := c.groups[q.Settings.Downstream]; s.count(now, false) {
		changed = append(changed, s)
	}
	return changed
}

// gaveBack forgets deliveries that ended without a word about how.
func (e *Engine) gaveBack(ctx context.Context, changes []Change, results []error) {
	for i := range changes {
		c := &changes[i]
		if results[i] != nil {
			continue
		}
		if !c.Release && c.For > 0 {
			e.holdings.extend(c.Receipt, time.Now().Add(c.For))
			continue
		}
		e.holdings.settle(c.Receipt)
		if !e.conditions.some.Load() {
			continue
		}
		e.conditions.mu.Lock()
		t := e.conditions.trials[c.Receipt]
		var changed []state
		if t != nil {
			delete(e.conditions.trials, c.Receipt)
			changed = e.tried(time.Now(), t, false, c.Outcome)
		}
		e.conditions.mu.Unlock()
		e.publish(ctx, changed...)
	}
}

// first counts first deliveries, which retry budgets are a share of.
func (e *Engine) first(q *Queue, messages []Message) {
	if !e.conditions.some.Load() {
		return
	}
	c, now := e.conditions, time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	qs, gs := c.queues[q.Name], c.groups[q.Settings.Downstream]
	for i := range messages {
		if messages[i].Receives > 1 {
			continue
		}
		if qs != nil {
			qs.budget.First(now)
		}
		if gs != nil {
			gs.budget.First(now)
		}
	}
}

// follow looks what has become of trials whose time is over, or that another
// process may have ended: if the message is gone, it worked.
func (e *Engine) follow(ctx context.Context) {
	c, now := e.conditions, time.Now()
	if !c.some.Load() {
		return
	}
	open := make(map[Receipt]trial)
	c.mu.Lock()
	for r, t := range c.trials {
		if e.store.Shared() || !t.until.After(now) {
			open[r] = *t
		}
	}
	c.mu.Unlock()
	for r, t := range open {
		found, err := e.store.Peek(ctx, t.id, r.Sequence-1, 1)
		if err != nil && CodeOf(err) != ErrQueueNotFound {
			e.complain(ctx, "look for a trial of queue "+t.queue, err)
			continue
		}
		gone := len(found) == 0 || found[0].Sequence != r.Sequence
		if !gone && found[0].InFlight && t.until.Add(MaxVisibility).After(now) {
			continue
		}
		var outcome *Outcome
		if !gone {
			outcome = &Outcome{Class: bezoar.Timeout, Reason: "its lease ended"}
			if n := len(found[0].Attempts); n > 0 && found[0].Attempts[n-1].Ended.After(t.began) {
				outcome = &found[0].Attempts[n-1].Outcome
			}
		}
		c.mu.Lock()
		var changed []state
		if now := c.trials[r]; now != nil {
			delete(c.trials, r)
			changed = e.tried(time.Now(), now, gone && err == nil, outcome)
		}
		c.mu.Unlock()
		e.publish(ctx, changed...)
	}
}
