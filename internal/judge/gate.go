package judge

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bezoar-dev/bezoar/internal/state/marks"
	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/policy/budget"
	"github.com/bezoar-dev/bezoar/policy/outage"
)

// Source describes where messages come from.
type Source struct {
	Queue  string        // "": none, as for a task of a flow
	Group  string        // the downstream that its messages depend on; "": none
	Budget budget.Config // of retries
}

// Trial is permission for one message, which shows whether a queue or a group works again.
type Trial struct {
	// Alone says that the message is suspect, or failed before, so that a failure says nothing. The code that delivers it
	// sets Alone.
	Alone bool

	queue  string
	canary uint64
	group  string
	ticket breaker.Ticket
	probe  bool // ticket is a probe
}

// Pass is the answer of a gate.
type Pass struct {
	Open  bool
	Trial *Trial        // with Open: permission for one message only; nil: for any number
	Wait  time.Duration // if not Open: when to ask again
	Why   string        // if not Open, for people
}

// Gate asks whether messages of src may be delivered: whether an outage pauses its queue, or the breaker of its group is
// open. If one of them is tried again, one message at a time may be delivered, for at least limit.
func (j *Judge) Gate(ctx context.Context, now time.Time, src Source, limit time.Duration) Pass {
	if j.Quiet() {
		return Pass{Open: true}
	}
	j.mu.Lock()
	qs, gs := j.queues[src.Queue], j.groups[src.Group]
	paused := qs != nil && qs.paused()
	open := gs != nil && gs.breaker.State(now) != breaker.Closed
	j.mu.Unlock()
	t := &Trial{queue: src.Queue}
	if open {
		if p := j.probe(ctx, now, gs, t, limit); !p.Open {
			return p
		}
	}
	if paused {
		if p := j.canary(ctx, now, qs, t, limit); !p.Open {
			j.Waste(ctx, now, t)
			return p
		}
	}
	if !t.probe && t.canary == 0 {
		return Pass{Open: true}
	}
	return Pass{Open: true, Trial: t}
}

// probe asks a group's breaker for permission, and the store if that needs a claim.
func (j *Judge) probe(ctx context.Context, now time.Time, s *groupState, t *Trial, limit time.Duration) Pass {
	var ticket breaker.Ticket
	var d breaker.Decision
	lost := j.claim(ctx, now, s, "claim a probe of group "+s.name, func(now time.Time) bool {
		s.breaker.Config.ProbeFor = max(j.cfg.Breaker.ProbeFor, limit)
		ticket, d = s.breaker.Allow(now)
		return d.Changed
	}, func(now time.Time, stored marks.Mark) {
		if was, ok := snapshot[breaker.Snapshot](stored); ok {
			s.breaker.Concede(now, ticket, was)
		}
	})
	switch {
	case lost:
		return Pass{Wait: askAgain, Why: "another process is testing whether " + s.name + " works"}
	case !d.Allowed:
		return Pass{Wait: d.RetryAfter, Why: "the breaker of " + s.name + " is open: " + d.Reason}
	}
	t.group, t.ticket, t.probe = s.name, ticket, d.Probe
	return Pass{Open: true}
}

// canary asks a paused queue's guard for permission, and the store.
func (j *Judge) canary(ctx context.Context, now time.Time, s *queueState, t *Trial, limit time.Duration) Pass {
	var granted uint64
	var pause outage.Pause
	refused := false
	lost := j.claim(ctx, now, s, "claim a canary of "+s.key, func(now time.Time) bool {
		s.guard.Config.CanaryFor = max(j.cfg.Outage.CanaryFor, limit)
		granted, refused = s.keeps(now), false
		s.unused = 0
		if granted != 0 || !s.paused() {
			return false
		}
		var ok bool
		granted, ok = s.guard.Canary(now)
		pause, _ = s.guard.Paused()
		refused = !ok
		return ok
	}, func(now time.Time, stored marks.Mark) {
		if was, ok := snapshot[outage.Snapshot](stored); ok {
			s.guard.Concede(now, granted, was)
		}
	})
	switch {
	case lost:
		return Pass{Wait: askAgain, Why: "another process is testing whether it works"}
	case refused:
		return Pass{Wait: max(pause.Until.Sub(now), time.Millisecond), Why: pause.Why}
	}
	t.canary = granted
	return Pass{Open: true}
}

// keeps returns the canary that has no message yet; 0 if there is none. The caller holds the lock.
func (s *queueState) keeps(now time.Time) uint64 {
	is := s.guard.Snapshot()
	pause, _ := s.guard.Paused()
	if s.unused == is.Generation && is.State == outage.Trying && pause.Until.After(now) {
		return s.unused
	}
	return 0
}

// snapshot decodes the content of a mark.
func snapshot[S any](m marks.Mark) (s S, ok bool) {
	return s, m.Version != 0 && json.Unmarshal(m.Doc, &s) == nil
}

// Waste gives back unused permission. A canary is kept for the next receive, so that an empty queue causes no writes.
func (j *Judge) Waste(ctx context.Context, now time.Time, t *Trial) {
	if t == nil {
		return
	}
	var changed []state
	j.mu.Lock()
	if s := j.groups[t.group]; s != nil && t.probe && s.breaker.Done(now, t.ticket, breaker.Result{Ignored: true}, 0) {
		changed = append(changed, s)
	}
	if s := j.queues[t.queue]; s != nil && t.canary != 0 {
		s.unused = t.canary
	}
	j.mu.Unlock()
	j.publish(ctx, now, changed...)
}

// Leave gives back canaries without a message, so that other processes need not wait until their time is over. It is for a
// process that receives nothing more.
func (j *Judge) Leave(ctx context.Context, now time.Time) {
	var changed []state
	j.mu.Lock()
	for _, s := range j.queues {
		if s.unused != 0 && s.guard.Returned(now, s.unused, outage.Lost, "") {
			changed = append(changed, s)
		}
		s.unused = 0
	}
	j.mu.Unlock()
	j.publish(ctx, now, changed...)
}
