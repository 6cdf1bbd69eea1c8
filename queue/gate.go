package queue

import (
	"context"
	"errors"
	"time"

	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/policy/outage"
)

// trialMargin is how much longer than its lease a trial may take, and leastTrial
// how long it may take in any case.
const (
	trialMargin = 10 * time.Second
	leastTrial  = time.Minute
	maxTrial    = 24 * time.Hour
)

// trial is a delivery that shows whether a queue, or a group, works again.
type trial struct {
	queue  string
	id     int64 // of the queue
	canary uint64
	group  string
	ticket breaker.Ticket
	probe  bool // ticket is one
	alone  bool // it was a suspect, or a dead letter before: that it failed says nothing
	began  time.Time
	until  time.Time // when somebody looks what has become of it
}

// pass is the leave to receive. Without a trial it is for any number.
type pass struct {
	trial *trial
	wait  time.Duration // when to ask again, if it is refused
	ok    bool
}

// admit asks whether a queue may be received from: whether it is paused, or its
// group's breaker open. Of what is tried again, one message at a time may be.
func (e *Engine) admit(ctx context.Context, q *Queue, lease time.Duration) pass {
	e.refresh(ctx)
	c := e.conditions
	if !c.some.Load() {
		return pass{ok: true}
	}
	now := time.Now()
	c.mu.Lock()
	qs, gs := c.queues[q.Name], c.groups[q.Settings.Downstream]
	left, held := time.Duration(0), false
	if p, ok := c.pauses[q.Name]; ok {
		left, held = p.on(now)
	}
	paused := qs != nil && isPaused(&qs.guard)
	open := gs != nil && gs.breaker.State(now) != breaker.Closed
	c.mu.Unlock()
	if held {
		return pass{wait: left}
	}
	if !paused && !open {
		return pass{ok: true}
	}
	t := &trial{queue: q.Name, id: q.ID, began: now, until: now.Add(lease + trialMargin)}
	limit := min(max(lease+trialMargin, leastTrial), maxTrial)
	if open {
		if wait, ok := e.probe(ctx, gs, t, limit); !ok {
			return pass{wait: wait}
		}
	}
	if paused {
		if wait, ok := e.canary(ctx, qs, t, limit); !ok {
			e.waste(ctx, t)
			return pass{wait: wait}
		}
	}
	return pass{trial: t, ok: true}
}

func isPaused(g *outage.Guard) bool {
	_, paused := g.Paused()
	return paused
}

// probe asks a group's breaker for leave, and the store if that takes a claim.
func (e *Engine) probe(ctx context.Context, s *groupState, t *trial, limit time.Duration) (wait time.Duration, ok bool) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return knowFor, false
	}
	defer func() { <-s.turn }()
	for range maxSwaps {
		now := time.Now()
		e.conditions.mu.Lock()
		s.breaker.Config.ProbeFor = max(e.config.Breaker.ProbeFor, limit)
		ticket, d := s.breaker.Allow(now)
		var claim draft
		if d.Changed {
			claim = newDraft(s)
		}
		e.conditions.mu.Unlock()
		if d.Allowed {
			t.group, t.ticket, t.probe = s.name, ticket, d.Probe
		}
		if !d.Changed {
			return d.RetryAfter, d.Allowed
		}
		stored, err := e.put(ctx, s, claim)
		switch {
		case err == nil:
			return d.RetryAfter, d.Allowed
		case !errors.Is(err, ErrConflict): // a store that is not there is no reason to stand still
			e.complain(ctx, "claim a probe of group "+s.name, err)
			return d.RetryAfter, d.Allowed
		}
		e.conditions.mu.Lock()
		s.version = stored.Version
		if was, ok := snapshot[breaker.Snapshot](stored); ok {
			s.breaker.Concede(now, ticket, was)
		}
		e.conditions.mu.Unlock()
	}
	return knowFor, false
}

// canary asks a paused queue's guard for leave, and the store.
func (e *Engine) canary(ctx context.Context, s *queueState, t *trial, limit time.Duration) (wait time.Duration, ok bool) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return knowFor, false
	}
	defer func() { <-s.turn }()
	for range maxSwaps {
		now := time.Now()
		e.conditions.mu.Lock()
		s.guard.Config.CanaryFor = max(e.config.Outage.CanaryFor, limit)
		pause, paused := s.guard.Paused()
		if kept := s.keeps(now); kept != 0 || !paused {
			t.canary, s.unused = kept, 0
			e.conditions.mu.Unlock()
			return 0, true
		}
		granted, ok := s.guard.Canary(now)
		claim := newDraft(s)
		e.conditions.mu.Unlock()
		if !ok {
			return max(pause.Until.Sub(now), time.Millisecond), false
		}
		stored, err := e.put(ctx, s, claim)
		switch {
		case err == nil:
			t.canary = granted
			return 0, true
		case !errors.Is(err, ErrConflict):
			e.complain(ctx, "claim a canary of queue "+s.name, err)
			t.canary = granted
			return 0, true
		}
		e.conditions.mu.Lock()
		s.version = stored.Version
		if was, ok := snapshot[outage.Snapshot](stored); ok {
			s.guard.Concede(now, granted, was)
		}
		e.conditions.mu.Unlock()
	}
	return knowFor, false
}

// keeps returns the canary that nothing has been found for yet, 0 if there is
// none. The caller holds the lock.
func (s *queueState) keeps(now time.Time) uint64 {
	is := s.guard.Snapshot()
	pause, _ := s.guard.Paused()
	if s.unused == is.Generation && is.State == outage.Trying && pause.Until.After(now) {
		return s.unused
	}
	return 0
}

// begin remembers the trial of a message that was received, or gives the leave
// back if there was none.
func (e *Engine) begin(ctx context.Context, t *trial, messages []Message) {
	if t == nil {
		return
	}
	if len(messages) == 0 {
		e.waste(ctx, t)
		return
	}
	t.alone = messages[0].Alone || messages[0].Lineage != nil
	e.conditions.mu.Lock()
	defer e.conditions.mu.Unlock()
	e.conditions.trials[messages[0].Receipt] = t
}

// waste gives back a leave that was not used. A canary is kept for the next
// receive, so that an empty queue does not write.
func (e *Engine) waste(ctx context.Context, t *trial) {
	c := e.conditions
	c.mu.Lock()
	var changed []state
	if s := c.groups[t.group]; s != nil && t.probe {
		if s.breaker.Done(time.Now(), t.ticket, breaker.Result{Ignored: true}, 0) {
			changed = append(changed, s)
		}
	}
	if s := c.queues[t.queue]; s != nil && t.canary != 0 {
		s.unused = t.canary
	}
	c.mu.Unlock()
	e.publish(ctx, changed...)
}
