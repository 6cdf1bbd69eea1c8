package judge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/policy/outage"
)

// ErrFull says that the number of known groups has reached its limit.
var ErrFull = errors.New("the limit on groups is reached")

// Condition is a reason why a queue, or the queues of a group, deliver nothing or less.
type Condition struct {
	Queue   string // either Queue or Group is set
	Group   string
	State   string // paused, trying (a canary is out), open, half-open; closed, when forced
	Why     string // with the arithmetic
	Failure string
	Level   int // how often in a row
	Until   time.Time
	Forced  bool // by an operator
}

// Conditions lists what holds queues and groups back, in random order.
func (j *Judge) Conditions(now time.Time) (all []Condition) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for name, s := range j.queues {
		if p, paused := s.guard.Paused(); paused {
			state := outage.Paused
			if p.Trying {
				state = outage.Trying
			}
			all = append(all, Condition{
				Queue: name, State: state.String(), Why: p.Why, Failure: p.Failure, Level: int(p.Level), Until: p.Until.UTC(),
			})
		}
	}
	for name, s := range j.groups {
		if one := s.condition(now); one.State != breaker.Closed.String() || one.Forced {
			one.Group = name
			all = append(all, one)
		}
	}
	return all
}

func (s *groupState) condition(now time.Time) Condition {
	is := s.breaker.Snapshot()
	one := Condition{State: s.breaker.State(now).String(), Why: is.Reason, Level: int(is.Level), Until: is.Until}
	if f := is.Forced; now.Before(f.Until) {
		one.Forced, one.Until, one.Why = true, f.Until, "forced "+f.State.String()
		if f.By != "" {
			one.Why += " by " + f.By
		}
	}
	return one
}

// Resume ends the pause of a queue, and reports whether there was one.
func (j *Judge) Resume(ctx context.Context, now time.Time, queue string) (bool, error) {
	j.mu.Lock()
	s := j.queues[queue]
	changed := s != nil && s.guard.Resume(now)
	j.mu.Unlock()
	if !changed {
		return false, nil
	}
	defer j.cfg.Changed()
	return true, j.publishOne(ctx, now, s)
}

// Force holds the breaker of a group open or closed until a time. A time that is not after now ends that. by names the
// person who wants it.
func (j *Judge) Force(ctx context.Context, now time.Time, group string, state breaker.State, until time.Time, by string) error {
	j.mu.Lock()
	s := j.groupState(group, true)
	if s == nil {
		j.mu.Unlock()
		return fmt.Errorf("more than %d groups: %w", j.cfg.Max, ErrFull)
	}
	err := s.breaker.Force(now, state, until, by)
	j.mu.Unlock()
	if err != nil {
		return err
	}
	defer j.cfg.Changed()
	return j.publishOne(ctx, now, s)
}

// Forget drops the state of a deleted queue, here and in the store.
func (j *Judge) Forget(ctx context.Context, queue string) error {
	j.mu.Lock()
	s := j.queues[queue]
	delete(j.queues, queue)
	j.mu.Unlock()
	if s == nil {
		return nil
	}
	return j.cfg.Store.DeleteMark(ctx, s.key, 0)
}
