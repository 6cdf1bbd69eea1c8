package flowapi

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// usuals returns how long each task took in the last successful run before a given one. It caches the answer for one run:
// people watch one at a time.
type usuals struct {
	mu  sync.Mutex // guards the fields below
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
		return nil, fmt.Errorf("find the last successful run of %s: %w", r.Flow, err)
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

// took returns how long each task took, from the start of its first instance to the end of its last one.
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

// left returns the duration of the longest path through the tasks that are not over; 0 if a task on it has no usual
// duration, or if no task runs.
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
		ends[name] = 0 // validation excludes cycles; this would end one
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
