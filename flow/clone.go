package flow

import (
	"bytes"
	"maps"
	"slices"
	"time"
)

// Most returns the limit of a query.
func (q RunQuery) Most() int {
	if q.Limit <= 0 {
		return 100
	}
	return min(q.Limit, 1000)
}

// Most returns the limit of a query.
func (q AttemptQuery) Most() int {
	if q.Limit <= 0 {
		return 10_000
	}
	return q.Limit
}

// Over reports whether a run has ended. Only a retry of a failed or cancelled run opens it again.
func (s RunState) Over() bool { return s != RunRunning && s != RunHeld }

// Reopens reports whether an order reopens a run in this state.
func (s RunState) Reopens(v Verb) bool {
	return v == VerbRetry && (s == RunFailed || s == RunCancelled)
}

// HasAll reports whether has contains every element of want.
func HasAll(has, want []string) bool {
	return !slices.ContainsFunc(want, func(l string) bool { return !slices.Contains(has, l) })
}

// Touches returns the runs that a batch changes.
func (b Batch) Touches() []string {
	seen, out := map[string]bool{}, []string(nil)
	add := func(id string) {
		if !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	for i := range b.Runs {
		add(b.Runs[i].ID)
	}
	for i := range b.Instances {
		add(b.Instances[i].Run)
	}
	for i := range b.Begin {
		add(b.Begin[i].Run)
	}
	for i := range b.End {
		add(b.End[i].Run)
	}
	return out
}

// micros returns a time in the form that stores keep.
func micros(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// CloneRun copies a run. The copies share the definition, which never changes. Times are in UTC and cut to microseconds, as
// in stores.
func CloneRun(r Run) Run {
	r.Params, r.Pages = maps.Clone(r.Params), slices.Clone(r.Pages)
	r.Due, r.Created, r.Deadline, r.Ended = micros(r.Due), micros(r.Created), micros(r.Deadline), micros(r.Ended)
	for i := range r.Pages {
		r.Pages[i].At = micros(r.Pages[i].At)
	}
	return r
}

// CloneInstance copies an instance, like [CloneRun].
func CloneInstance(i Instance) Instance {
	i.Output, i.Set, i.History.Last = bytes.Clone(i.Output), maps.Clone(i.Set), slices.Clone(i.History.Last)
	for k := range i.History.Last {
		i.History.Last[k].At = micros(i.History.Last[k].At)
	}
	i.NextAt, i.Since, i.First = micros(i.NextAt), micros(i.Since), micros(i.First)
	return i
}

// CloneAttempt copies an attempt, like CloneRun. The copies share the Spec, which never
// changes.
func CloneAttempt(a Attempt) Attempt {
	a.Labels = slices.Clone(a.Labels)
	a.Ending.Output, a.Ending.Rows = bytes.Clone(a.Ending.Output), slices.Clone(a.Ending.Rows)
	for i := range a.Ending.Rows {
		a.Ending.Rows[i].Body = bytes.Clone(a.Ending.Rows[i].Body)
	}
	a.Intended, a.Started, a.Ended = micros(a.Intended), micros(a.Started), micros(a.Ended)
	return a
}
