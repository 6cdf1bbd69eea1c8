package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/internal/judge"
	"github.com/bezoar-dev/bezoar/internal/sorted"
	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/policy/outage"
)

// Condition is a reason why a queue, or the queues of a group, deliver nothing or less.
type Condition struct {
	Queue   string    `json:"queue,omitempty"` // a condition has a Queue or a Group
	Group   string    `json:"group,omitempty"` // of Settings.Downstream
	State   string    `json:"state"`           // paused, trying (a canary is in flight), open, half-open; closed, if forced
	Why     string    `json:"why"`             // with the arithmetic
	Failure string    `json:"failure,omitempty"`
	Level   int       `json:"level"` // times in a row
	Until   time.Time `json:"until"`
	Forced  bool      `json:"forced,omitempty"` // by an operator
}

// Conditions lists the conditions that hold queues back: those of queues first, by name.
func (e *Engine) Conditions(ctx context.Context) []Condition {
	e.refresh(ctx)
	now := time.Now()
	var out []Condition
	for _, c := range e.judge.Conditions(now) {
		out = append(out, Condition(c))
	}
	e.pauses.mu.Lock()
	for name, p := range e.pauses.all {
		if _, on := p.on(now); on {
			out = append(out, Condition{Queue: name, State: outage.Paused.String(), Why: p.why(), Until: p.Until, Forced: true})
		}
	}
	e.pauses.mu.Unlock()
	sorted.Func(out, func(a, b Condition) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Queue, b.Queue))
	})
	return out
}

// Held returns why a queue delivers nothing now, or only a trial message: a pause, or the
// breaker of its group. "" means that it delivers.
func (e *Engine) Held(ctx context.Context, name string) (string, error) {
	q, err := e.find(ctx, name)
	if err != nil {
		return "", wrap(err, "ask what holds queue %.100q back", name)
	}
	for _, c := range e.Conditions(ctx) {
		switch {
		case c.Queue == name && c.Forced:
			return c.Why, nil
		case c.Queue == name:
			return fmt.Sprintf("it is paused until %s: %s", c.Until.Format(time.RFC3339), c.Why), nil
		case c.Group != "" && c.Group == q.Settings.Downstream && c.State != breaker.Closed.String():
			return fmt.Sprintf("the breaker of %s is %s until %s: %s", c.Group, c.State, c.Until.Format(time.RFC3339), c.Why), nil
		}
	}
	return "", nil
}

// Resume ends the pause of a queue, by a person or by an outage. It does nothing if the
// queue is not paused.
func (e *Engine) Resume(ctx context.Context, queue string) error {
	e.refresh(ctx)
	if err := e.letGo(ctx, queue); err != nil {
		return wrap(err, "resume queue %.100q", queue)
	}
	changed, err := e.judge.Resume(ctx, time.Now(), queue)
	if !changed {
		_, err := e.find(ctx, queue)
		return wrap(err, "resume queue %.100q", queue)
	}
	return wrap(err, "resume queue %.100q: tell the others", queue)
}

// ForceBreaker keeps the breaker of a group open or closed for a time, at most 24 hours; 0
// ends that. by names the person who wants it.
func (e *Engine) ForceBreaker(ctx context.Context, group string, state breaker.State, d time.Duration, by string) error {
	fail := func(err error) error { return wrap(err, "force the breaker of group %.100q", group) }
	switch {
	case group == "" || len(group) > maxGroupName || !plain(group):
		return fail(invalid("group: is not 1 to %d bytes of UTF-8", maxGroupName))
	case d < 0 || d > maxTrial:
		return fail(invalid("duration is %v, want 0 to %v", d, maxTrial))
	case len(by) > 256 || !plain(by):
		return fail(invalid("by: longer than 256 bytes, holds a NUL, or is no UTF-8"))
	}
	e.refresh(ctx)
	now := time.Now()
	if state != breaker.Open && state != breaker.Closed {
		return fail(invalid("state: a breaker can be forced open or closed, not %s", state))
	}
	err := e.judge.Force(ctx, now, group, state, now.Add(d), by)
	if errors.Is(err, judge.ErrFull) {
		err = fmt.Errorf("more than %d groups: %w", maxConditions, ErrOverLimit)
	}
	return fail(err)
}

// stats holds counters since the engine was created.
type stats struct{ vanished, mass atomic.Int64 }

// Stats holds counters since the engine was created, and its present holdings.
type Stats struct {
	Vanished int64 // workers that vanished while they held messages
	Mass     int64 // of these, workers that vanished together with many others
	Workers  int   // workers with a name that hold messages now
	Held     int   // messages that they hold
}

// Stats returns the counters of this engine.
func (e *Engine) Stats() Stats {
	h := e.holdings
	h.mu.Lock()
	defer h.mu.Unlock()
	return Stats{Vanished: e.stats.vanished.Load(), Mass: e.stats.mass.Load(), Workers: len(h.holders), Held: len(h.held)}
}
