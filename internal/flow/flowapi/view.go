package flowapi

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/sorted"
	"github.com/bezoar-dev/bezoar/policy/task"
)

func runOf(r flow.Run) Run {
	return Run{
		ID: r.ID, Flow: r.Flow, State: r.State, Why: r.Why, Params: r.Params, Due: r.Due, Created: r.Created,
		Deadline: r.Deadline, Ended: r.Ended, Backfill: r.Backfill, RowsOf: r.RowsOf(), Node: r.Owner, Version: r.Version,
	}
}

func instanceOf(in *flow.Instance) Instance {
	return Instance{
		Task: in.Task, Index: in.Index, Item: in.Item, State: in.State, Why: in.Why, Since: in.Since, First: in.First, NextAt: in.NextAt,
		Attempts: in.History.Attempts, Failures: in.History.Last, Output: strings.ToValidUTF8(string(in.Output), "\uFFFD"), Set: in.Set,
		Letter: in.Letter, Group: in.Group,
	}
}

func attemptOf(a flow.Attempt) Attempt {
	out := Attempt{
		Token: a.Token, Task: a.Task, Index: a.Index, N: a.N, Node: a.Node, State: a.State,
		Intended: a.Intended, Started: a.Started, Ended: a.Ended,
	}
	if a.State != flow.AttemptEnded {
		return out
	}
	e := &a.Ending
	out.Class, out.Reason, out.Fingerprint, out.Group, out.Quality = &e.Class, e.Reason, e.Fingerprint, e.Group, e.Quality
	out.ExitCode, out.Elapsed, out.CPU = e.ExitCode, adminapi.Duration(e.Elapsed), adminapi.Duration(e.CPU)
	out.MaxRSS, out.LogBytes, out.Rows = e.MaxRSS, e.LogBytes, len(e.Rows)
	return out
}

func taskOf(r *flow.Run, name string) *flow.Task {
	i := slices.IndexFunc(r.Definition.Tasks, func(t flow.Task) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Definition.Tasks[i]
}

// isParent reports whether an instance represents a task whose items have their own instances.
func isParent(in *flow.Instance) bool {
	return in.Index < 0
}

func kindOf(t *flow.Task) string {
	switch {
	case t.Func != "":
		return "function"
	case t.Sensor != nil:
		return "sensor"
	case t.Sift != nil:
		return "sift"
	default:
		return "command"
	}
}

// urgency orders the states of instances for the state of their task: running and later ones first, then those that wait
// for a person, then those that are over.
func urgency() []task.State {
	return []task.State{
		task.Running, task.Retrying, task.Interrupted, task.Sensing, task.Ready, task.DeadLetter, task.Held, task.Pending,
		task.Failed, task.UpstreamFailed, task.Cancelled, task.Skipped, task.Success,
	}
}

// attention orders states by how important their instances are to a person.
func attention(s task.State) int {
	order := []task.State{
		task.DeadLetter, task.Failed, task.Running, task.Retrying, task.Interrupted, task.Sensing, task.Ready, task.Held,
		task.UpstreamFailed, task.Cancelled, task.Pending, task.Skipped, task.Success,
	}
	return slices.Index(order, s)
}

// tasksOf groups instances by task, in the definition's order.
func (s *Service) tasksOf(r *flow.Run, all []flow.Instance) (map[task.State]int, []Task) {
	total := map[task.State]int{}
	by := make(map[string][]*flow.Instance, len(r.Definition.Tasks))
	for i := range all {
		by[all[i].Task] = append(by[all[i].Task], &all[i])
	}
	out := make([]Task, 0, len(r.Definition.Tasks))
	for i := range r.Definition.Tasks {
		t := sum(&r.Definition.Tasks[i], by[r.Definition.Tasks[i].Name])
		for state, n := range t.Counts {
			total[state] += n
		}
		out = append(out, t)
	}
	return total, out
}

func sum(d *flow.Task, all []*flow.Instance) Task {
	t := Task{Name: d.Name, Kind: kindOf(d), Needs: d.Needs, Each: d.Each != nil, Counts: map[task.State]int{}}
	shown := all
	if slices.ContainsFunc(all, func(in *flow.Instance) bool { return !isParent(in) }) {
		shown = slices.DeleteFunc(slices.Clone(all), func(in *flow.Instance) bool { return isParent(in) })
	}
	over := true
	for _, in := range shown {
		t.Counts[in.State]++
		over = over && in.State.Over()
		if !in.First.IsZero() && (t.First.IsZero() || in.First.Before(t.First)) {
			t.First = in.First
		}
		if in.Since.After(t.Ended) {
			t.Ended = in.Since
		}
	}
	if !over || len(shown) == 0 {
		t.Ended = time.Time{}
	}
	for _, state := range urgency() {
		if t.Counts[state] > 0 {
			t.State = state
			break
		}
	}
	shown = slices.Clone(shown)
	sorted.StableFunc(shown, func(a, b *flow.Instance) int { return cmp.Compare(attention(a.State), attention(b.State)) })
	for _, in := range shown[:min(len(shown), maxShown)] {
		t.Instances = append(t.Instances, instanceOf(in))
	}
	if len(shown) > 0 && shown[0].State == t.State {
		t.Why = shown[0].Why
	}
	return t
}
