package flowtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// Harness makes stores to test.
type Harness struct {
	// Open returns an empty store of the test's own.
	Open func(t *testing.T) flow.Store
	// Age makes all leases in the store older by d, as if its clock had gone on.
	Age func(t testing.TB, s flow.Store, d time.Duration)
	// Reopen closes the store and opens it again; nil if nothing is to outlive
	// it.
	Reopen func(t *testing.T, s flow.Store) flow.Store
	// Around runs one test; nil calls it.
	Around func(t *testing.T, test func(*testing.T))
}

// Run holds the stores that h makes to the contract.
func Run(t *testing.T, h Harness) {
	if h.Around == nil {
		h.Around = func(t *testing.T, test func(*testing.T)) { t.Helper(); test(t) }
	}
	for _, group := range []map[string]func(*rig){runTests(), nodeTests(), applyTests(), effectTests(), attemptTests(), orderTests(), concurrentTests()} {
		for name, test := range group {
			t.Run(name, func(t *testing.T) {
				h.Around(t, func(t *testing.T) { test(newRig(t, h)) })
			})
		}
	}
	if h.Reopen != nil {
		t.Run("Reopen", func(t *testing.T) { h.Around(t, func(t *testing.T) { testReopen(newRig(t, h)) }) })
	}
}

const ttl = time.Minute

// rig is a store, and nodes that hold runs in it.
type rig struct {
	*testing.T
	harness Harness
	flow.Store
	runs int
}

// errorIf is Errorf, if something is bad.
func (r *rig) errorIf(bad bool, format string, args ...any) {
	r.Helper()
	if bad {
		r.Errorf(format, args...)
	}
}

// fatalIf is Fatalf, if something is bad.
func (r *rig) fatalIf(bad bool, format string, args ...any) {
	r.Helper()
	if bad {
		r.Fatalf(format, args...)
	}
}

func newRig(t *testing.T, h Harness) *rig {
	t.Helper()
	return &rig{t, h, h.Open(t), 0}
}

// Run is the store's, not the test's.
func (r *rig) Run(ctx context.Context, id string) (flow.Run, error) { return r.Store.Run(ctx, id) }

func (r *rig) ctx() context.Context { return r.T.Context() }

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) wantErr(err, want error) {
	r.Helper()
	r.fatalIf(!errors.Is(err, want), "error %v, want %v", err, want)
}

// at is a time with more digits than a store keeps.
func at(seconds int) time.Time {
	return time.Date(2026, 3, 1, 0, 0, seconds, 123456789, time.FixedZone("here", 3600))
}

// run makes a run of tasks a, b, …, which is the newest.
func (r *rig) run(tasks int, edit func(*flow.Run)) flow.Run {
	r.Helper()
	r.runs++
	d := flow.Definition{Name: "daily", Labels: map[string]string{"team": "data"}}
	var all []flow.Instance
	run := flow.Run{
		ID: fmt.Sprintf("%026d", r.runs), Flow: "daily", Params: map[string]string{"day": "1"}, State: flow.RunRunning,
		Due: at(1), Created: at(2), Deadline: at(3), Version: 1,
	}
	for i := range tasks {
		name := string(rune('a' + i))
		d.Tasks = append(d.Tasks, flow.Task{Name: name, Command: []string{"true"}})
		all = append(all, flow.Instance{Run: run.ID, Task: name, State: task.Pending, Since: at(4)})
	}
	run.Definition = d
	if edit != nil {
		edit(&run)
	}
	r.must(r.CreateRun(r.ctx(), run, all))
	return run
}

// node begins a life.
func (r *rig) node(name string, labels ...string) flow.Node {
	r.Helper()
	n, err := r.Renew(r.ctx(), flow.Node{Name: name, Labels: labels, Slots: 4, Plans: true}, ttl)
	r.must(err)
	return n
}

func (r *rig) take(n flow.Node) flow.Hold {
	r.Helper()
	all, err := r.Take(r.ctx(), n, 1000)
	r.must(err)
	h := flow.Hold{Node: n.Name, Epoch: n.Epoch, Runs: map[string]int64{}}
	for _, run := range all {
		h.Runs[run.ID] = run.Epoch
	}
	return h
}

func (r *rig) apply(h flow.Hold, b flow.Batch) flow.Applied {
	r.Helper()
	a, err := r.Apply(r.ctx(), h, b)
	r.must(err)
	return a
}

func (r *rig) attempts(q flow.AttemptQuery) []flow.Attempt {
	r.Helper()
	all, err := r.ListAttempts(r.ctx(), q)
	r.must(err)
	return all
}

func (r *rig) begin(h flow.Hold, run, name string, edit func(*flow.Attempt)) flow.Attempt {
	r.Helper()
	got := r.tryBegin(h, run, name, edit).Begun
	r.fatalIf(len(got) != 1 || got[0].Token == 0, "begun %+v, want one attempt with a token", got)
	return got[0]
}

func (r *rig) tryBegin(h flow.Hold, run, name string, edit func(*flow.Attempt)) flow.Applied {
	r.Helper()
	a := attempt(run, name, h.Node)
	if edit != nil {
		edit(&a)
	}
	return r.apply(h, flow.Batch{
		Begin:     []flow.Attempt{a},
		Instances: []flow.Instance{{Run: run, Task: name, State: task.Running, Since: at(5), History: task.History{Attempts: a.N}}},
	})
}

func attempt(run, name, node string) flow.Attempt {
	return flow.Attempt{Run: run, Task: name, N: 1, Node: node, State: flow.AttemptIntended, Intended: at(5)}
}

// ended is an attempt at its end.
func ended(a flow.Attempt, e flow.Ending) flow.Attempt {
	a.State, a.Started, a.Ended, a.Ending = flow.AttemptEnded, at(6), at(7), e
	return a
}

func (r *rig) state(run, name string) task.State {
	r.Helper()
	all, err := r.Instances(r.ctx(), run)
	r.must(err)
	for _, i := range all {
		if i.Task == name {
			return i.State
		}
	}
	r.Fatalf("there is no instance of %s", name)
	return ""
}

// same compares what came back with what was given.
func same[T any](r *rig, what string, got, want T) {
	r.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.Comparer(func(a, b time.Time) bool {
		return a.Truncate(time.Microsecond).Equal(b.Truncate(time.Microsecond))
	})); d != "" {
		r.Errorf("%s (-want +got):\n%s", what, d)
	}
}
