package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/flow"
)

func (s *flowStore) Apply(ctx context.Context, h flow.Hold, b flow.Batch) (flow.Applied, error) {
	return within(ctx, &s.lock, func() (flow.Applied, error) {
		if err := s.holds(h, b); err != nil {
			return flow.Applied{}, err
		}
		for _, r := range b.Runs {
			was := s.runs[r.ID]
			was.State, was.Why, was.Deadline, was.Ended, was.Pages, was.Version = r.State, r.Why, r.Deadline, r.Ended, slices.Clone(r.Pages), r.Version
		}
		for _, a := range b.End {
			if was := s.open[a.Token]; was != nil {
				s.change(was, a)
			}
		}
		for _, stop := range b.Stop {
			if a := s.open[stop.Token]; a != nil && a.Stop == nil {
				a.Stop = &stop
			}
		}
		for _, key := range b.Free {
			delete(s.effects, key)
		}
		out, left := s.begin(b.Begin)
		for _, i := range b.Instances {
			if r := s.runs[i.Run]; !left[attemptOf(i.Run, i.Task, i.Index)] {
				r.all[instanceKey{i.Task, i.Index}] = flow.CloneInstance(i)
			}
		}
		s.orders = slices.DeleteFunc(s.orders, func(o flow.Order) bool { return slices.Contains(b.Done, o.ID) })
		return out, nil
	})
}

type fullKey struct {
	run string
	instanceKey
}

func attemptOf(run, task string, index int) fullKey { return fullKey{run, instanceKey{task, index}} }

// holds reports whether the node may write all of a batch.
func (s *flowStore) holds(h flow.Hold, b flow.Batch) error {
	if err := s.current(h.Node, h.Epoch); err != nil {
		return err
	}
	for _, i := range b.Instances {
		if !i.State.Known() {
			return fmt.Errorf("state %.40q of task %.80q is unknown", i.State, i.Task)
		}
	}
	for _, id := range b.Touches() {
		r, err := s.find(id)
		if err != nil {
			return err
		}
		if epoch, ok := h.Runs[id]; !ok || r.Owner != h.Node || r.Epoch != epoch {
			return fmt.Errorf("run %s, epoch %d: %w", id, epoch, flow.ErrFenced)
		}
	}
	return nil
}

// begin writes attempts down as far as slots are free.
func (s *flowStore) begin(all []flow.Attempt) (out flow.Applied, left map[fullKey]bool) {
	left = make(map[fullKey]bool)
	pools, keys := map[string]int{}, map[string]int{}
	for _, a := range s.open {
		pools[a.Pool] += a.Slots
		keys[a.Key]++
	}
	for _, a := range all {
		r, key := s.runs[a.Run], attemptKey{instanceKey{a.Task, a.Index}, a.N}
		if token := r.attempts[key]; token != 0 {
			out.Begun = append(out.Begun, flow.CloneAttempt(*s.attempts[token-1]))
			continue
		}
		taken, is := s.effects[a.Effect]
		if is && a.Effect != "" {
			out.Taken = append(out.Taken, taken.Effect)
		}
		if is && a.Effect != "" || a.Pool != "" && pools[a.Pool]+a.Slots > a.PoolSize || a.Key != "" && keys[a.Key] >= a.Limit {
			left[attemptOf(a.Run, a.Task, a.Index)] = true
			continue
		}
		pools[a.Pool] += a.Slots
		keys[a.Key]++
		a = flow.CloneAttempt(a)
		a.Token, a.State = int64(len(s.attempts))+1, flow.AttemptIntended
		s.attempts = append(s.attempts, &a)
		s.open[a.Token], r.attempts[key] = &a, a.Token
		if a.Effect != "" {
			s.effects[a.Effect] = flowEffect{flow.Effect{Key: a.Effect, Token: a.Token, Run: a.Run, Task: a.Task, Index: a.Index}, time.Now()}
		}
		out.Begun = append(out.Begun, flow.CloneAttempt(a))
	}
	return out, left
}

// change takes the start or the end of an attempt that is open.
func (s *flowStore) change(was *flow.Attempt, is flow.Attempt) {
	is = flow.CloneAttempt(is)
	was.State, was.Started, was.Ended, was.Ending = is.State, is.Started, is.Ended, is.Ending
	if was.State != flow.AttemptEnded {
		return
	}
	delete(s.open, was.Token)
	e, ok := s.effects[was.Effect]
	if !ok || e.Token != was.Token {
		return
	}
	switch was.Ending.Class {
	case bezoar.Done:
		e.Done, e.Output = true, slices.Clone(was.Ending.Output)
		s.effects[was.Effect] = e
	case bezoar.SpawnFailed:
		delete(s.effects, was.Effect)
	default: // nobody knows whether it happened
	}
}
