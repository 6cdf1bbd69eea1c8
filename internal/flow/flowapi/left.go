package flowapi

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// usuals keeps how long each task took in the last run that worked before one
// run. It holds the answer for one run at a time: people watch one.
type usuals struct {
	mu  sync.Mutex // guards the rest
	run string
	dur map[string]time.Duration
}

func (u *usuals) of(ctx context.Context, s Store, r *flow.Run) (map[string]time.Duration, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.run == r.ID {
		return u.dur, nil
	}
	last, err := s.ListRuns(ctx, flow.RunQuery{Flow: r.Flow, State: flow.RunSuccess, Before: r.ID, Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("find the last run of %s that worked: %w", r.Flow, err)
	}
	dur := map[string]time.Duration{}
	if len(last) == 1 {
		all, err := s.Instances(ctx, last[0].ID)
		if err != nil {
			return nil, fmt.Errorf("list the tasks of run %s: %w", last[0].ID, err)
		}
		dur = took(all)
	}
	u.run, u.dur = r.ID, dur
	return dur, nil
}

// took says how long each task took, from its first instance's start to its
// last one's end.
func took(all []flow.Instance) map[string]time.Duration {
	type span struct{ from, to time.Time }
	spans := map[string]span{}
	for i := range all {
		in := &all[i]
		if in.First.IsZero() || in.State != task.Success {
			continue
		}
		s, ok := spans[in.Task]
		if !ok || in.First.Before(s.from) {
			s.from = in.First
		}
		if in.Since.After(s.to) {
			s.to = in.Since
		}
		spans[in.Task] = s
	}
	out := make(map[string]time.Duration, len(spans))
	for name, s := range spans {
		out[name] = max(s.to.Sub(s.from), time.Millisecond)
	}
	return out
}

// left is the longest way through what is not over; 0 when a task on it has no
// usual time, or when nothing goes on.
func left(tasks []Task, now time.Time) time.Duration {
	by := make(map[string]*Task, len(tasks))
	for i := range tasks {
		by[tasks[i].Name] = &tasks[i]
	}
	known, ends := true, make(map[string]time.Duration, len(tasks))
	longest := time.Duration(0)
	var end func(name string) time.Duration
	end = func(name string) time.Duration {
		t := by[name]
		if t == nil || t.State.Over() {
			return 0
		}
		if d, ok := ends[name]; ok {
			return d
		}
		ends[name] = 0 // a cycle cannot be, and would end here
		before := time.Duration(0)
		for _, n := range t.Needs {
			before = max(before, end(n))
		}
		rest := time.Duration(t.Usual)
		known = known && rest > 0
		if !t.First.IsZero() {
			rest = max(0, rest-now.Sub(t.First))
		}
		ends[name] = before + rest
		return before + rest
	}
	for i := range tasks {
		longest = max(longest, end(tasks[i].Name))
	}
	if !known {
		return 0
	}
	return longest
}
