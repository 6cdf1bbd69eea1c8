package flow_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/judge"
	"github.com/bezoar-dev/bezoar/internal/store/memory"
	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// frozen is a store that does not answer while its node is stopped.
type frozen struct {
	flow.Store
	mu sync.Mutex
	on chan struct{} // closed when the node goes on
}

func (f *frozen) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.on = make(chan struct{})
}

func (f *frozen) resume() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.on)
	f.on = nil
}

func (f *frozen) wait() {
	f.mu.Lock()
	on := f.on
	f.mu.Unlock()
	if on != nil {
		<-on
	}
}

func (f *frozen) Renew(ctx context.Context, n flow.Node, ttl time.Duration) (flow.Node, error) {
	f.wait()
	return f.Store.Renew(ctx, n, ttl)
}

func (f *frozen) Apply(ctx context.Context, h flow.Hold, b flow.Batch) (flow.Applied, error) {
	f.wait()
	return f.Store.Apply(ctx, h, b)
}

func (f *frozen) Take(ctx context.Context, n flow.Node, most int) ([]flow.Run, error) {
	f.wait()
	return f.Store.Take(ctx, n, most)
}

func (f *frozen) Report(ctx context.Context, n flow.Node, all []flow.Attempt) error {
	f.wait()
	return f.Store.Report(ctx, n, all)
}

func (f *frozen) Offers(ctx context.Context, n flow.Node, most int) ([]flow.Attempt, error) {
	f.wait()
	return f.Store.Offers(ctx, n, most)
}

func TestTasksGoWhereTheirLabelsAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		fs := flow.Functions{"fine": fine, "slow": takes(time.Hour), "zero": zero}
		planner := start(t, flow.Config{Store: s, Functions: fs})
		worker := start(t, flow.Config{Store: s, Node: "n2", Works: true, Labels: []string{"gpu", "eu"}, Functions: fs, Slots: 2})
		id := planner.start(flow.Definition{Name: "d", Tasks: []flow.Task{
			{Name: "here", Func: "fine"},
			{Name: "there", Func: "fine", Needs: []string{"here"}, RunsOn: []string{"gpu"}, Each: &flow.Each{List: []string{"1", "2", "3", "4", "5"}}},
			{Name: "back", Func: "fine", Needs: []string{"there"}},
			{Name: "zero", Func: "zero", RunsOn: []string{"eu", "gpu"}},
		}})
		v := planner.wait(id)
		if is := states(v); v.Run.State != flow.RunHeld || is["back"] != task.Success || is["zero"] != task.DeadLetter {
			t.Errorf("%s %v", v.Run.State, is)
		}
		for _, a := range v.Attempts {
			want := map[string]string{"here": "n1", "back": "n1", "there": "n2", "zero": "n2"}[a.Task]
			if a.Node != want {
				t.Errorf("%s ran on %s, want %s", a.Task, a.Node, want)
			}
		}
		// A person stops what runs on another node, and what nobody has taken.
		id = planner.start(flow.Definition{Name: "d", Tasks: []flow.Task{
			{Name: "slow", Func: "slow", RunsOn: []string{"gpu"}}, {Name: "never", Func: "slow", RunsOn: []string{"tpu"}},
		}})
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if err := planner.Cancel(t.Context(), flow.Order{Run: id, Index: -1}); err != nil {
			t.Fatal(err)
		}
		if v = planner.wait(id); v.Run.State != flow.RunCancelled || v.Run.Ended.Sub(v.Run.Created) > 10*time.Second {
			t.Errorf("%s %v after %v", v.Run.State, states(v), v.Run.Ended.Sub(v.Run.Created))
		}
		planner.stop()
		worker.stop()
	})
}

func TestALostWorkersAttemptsBeginAgainAfterItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lease = 3 * time.Second
		s := newStore(t)
		fs := flow.Functions{"slow": takes(20 * time.Second)}
		planner := start(t, flow.Config{Store: s, Functions: fs, Lease: lease})
		cold := &frozen{Store: s}
		worker := start(t, flow.Config{Store: cold, Node: "n2", Works: true, Labels: []string{"gpu"}, Functions: fs, Lease: lease})
		id := planner.start(one(flow.Task{Name: "a", Func: "slow", RunsOn: []string{"gpu"}, Retry: flow.Retry{Attempts: 1}}))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		cold.stop()
		stopped := time.Now()
		other := start(t, flow.Config{Store: s, Node: "n3", Works: true, Labels: []string{"gpu"}, Functions: fs, Lease: lease})
		v := planner.wait(id)
		if len(v.Attempts) != 2 || v.Attempts[0].Node != "n2" || !v.Attempts[0].Ending.Lost || v.Attempts[1].Node != "n3" || v.Run.State != flow.RunSuccess {
			t.Fatalf("%s, attempts %+v", v.Run.State, v.Attempts)
		}
		if gap := v.Attempts[1].Intended.Sub(stopped); gap < lease+lease-lease/3 || gap > 4*lease {
			t.Errorf("the next attempt began %v after the node stopped, want a lease, and another one for its guardian", gap)
		}
		cold.resume()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		after, err := planner.Show(t.Context(), id)
		if err != nil || len(after.Attempts) != 2 || after.Attempts[0].Ending.Class != bezoar.Interrupted {
			t.Errorf("%v: after the node is back: %+v", err, after.Attempts)
		}
		planner.stop()
		worker.stop()
		other.stop()
	})
}

func TestALostPlannersRunsGoOnElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lease = 3 * time.Second
		s := newStore(t)
		var mu sync.Mutex
		running, twice := map[string]int{}, 0
		f := func(ctx context.Context, in flow.Input) ([]byte, error) {
			mu.Lock()
			if running[in.Task]++; running[in.Task] > 1 {
				twice++
			}
			mu.Unlock()
			defer func() { mu.Lock(); running[in.Task]--; mu.Unlock() }()
			return takes(10*time.Second)(ctx, in)
		}
		fs := flow.Functions{"f": f}
		cold := &frozen{Store: s}
		x := flow.InProcess(fs)
		first := start(t, flow.Config{Store: cold, Executor: x, Lease: lease})
		id := first.start(flow.Definition{Name: "d", Tasks: []flow.Task{
			{Name: "a", Func: "f"}, {Name: "b", Func: "f", Needs: []string{"a"}}, {Name: "c", Func: "f", Needs: []string{"b"}},
		}})
		time.Sleep(5 * time.Second)
		synctest.Wait()
		cold.stop()
		second := start(t, flow.Config{Store: s, Node: "n2", Functions: fs, Lease: lease})
		time.Sleep(lease)
		synctest.Wait()
		// The guardian of the stopped node ends its jobs.
		if err := x.Stop(t.Context(), 1, bezoar.Interrupted, "the guardian"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		cold.resume()
		v := second.wait(id)
		if v.Run.State != flow.RunSuccess || len(v.Attempts) != 4 || v.Run.Owner != "n2" || twice != 0 {
			t.Errorf("%s, %d attempts, by %s; %d beside another one", v.Run.State, len(v.Attempts), v.Run.Owner, twice)
		}
		first.stop()
		second.stop()
	})
}

// A person opens a run again before its engine has let go of it: nothing else
// is disturbed.
func TestARunThatIsOpenedAgainDisturbsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, broken := &pager{fail: 5}, true
		f := func(ctx context.Context, in flow.Input) ([]byte, error) {
			if broken {
				return takes(time.Hour)(ctx, in) // until the deadline
			}
			return nil, nil
		}
		r := start(t, flow.Config{Functions: flow.Functions{"f": f, "slow": takes(3 * time.Hour)}, Pager: p})
		other := r.start(one(flow.Task{Name: "slow", Func: "slow"}))
		d := one(flow.Task{Name: "a", Func: "f"})
		d.Deadline = time.Minute
		id := r.start(d)
		if v := r.wait(id); v.Run.State != flow.RunFailed {
			t.Fatalf("%s", v.Run.State)
		}
		broken = false
		if err := r.Retry(t.Context(), flow.Order{Run: id, Index: -1}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if v := r.wait(id); v.Run.State != flow.RunSuccess || !v.Run.Deadline.IsZero() {
			t.Errorf("%s %v after the retry, deadline %v", v.Run.State, states(v), v.Run.Deadline)
		}
		if v := r.wait(other); v.Run.State != flow.RunSuccess || len(v.Attempts) != 1 {
			t.Errorf("the other run: %s after %d attempts", v.Run.State, len(v.Attempts))
		}
		r.stop()
	})
}

// What another engine has found out about a downstream holds here too.
func TestDownstreamsAreSharedWithOtherEngines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, err := memory.Open(memory.Config{})
		if err != nil {
			t.Fatal(err)
		}
		knows := func(node string) *judge.Judge {
			return judge.New(judge.Config{Store: db.Queue(), Shared: true, Trust: time.Second, Breaker: breaker.Config{Probes: 1, Node: node}})
		}
		there, calls := knows("there"), 0
		for range 10 { // in a row, which is enough
			there.Failed(t.Context(), time.Now(), judge.Source{Queue: "orders", Group: "db"}, judge.Failure{Class: bezoar.Outage})
		}
		r := start(t, flow.Config{Store: db.Flow(), Judge: knows("here"), Functions: flow.Functions{"f": func(context.Context, flow.Input) ([]byte, error) {
			calls++
			return nil, nil
		}}})
		d := flow.Definition{Name: "d", Tasks: []flow.Task{{Name: "a", Func: "f", Downstream: "db"}, {Name: "b", Func: "f"}}}
		id := r.start(d)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		v, err := r.Show(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if is := states(v); is["a"] != task.Ready || is["b"] != task.Success || calls != 1 || !strings.Contains(v.Instances[0].Why, "the breaker of db is open") {
			t.Errorf("%v after %d calls, %q: want that a waits for db", is, calls, v.Instances[0].Why)
		}
		if v = r.wait(id); v.Run.State != flow.RunSuccess || calls != 2 {
			t.Errorf("%s after %d calls", v.Run.State, calls)
		}
		time.Sleep(2 * time.Second)
		there.Refresh(t.Context(), time.Now())
		if p := there.Gate(t.Context(), time.Now(), judge.Source{Group: "db"}, 0); !p.Open || p.Trial != nil {
			t.Errorf("%+v there, want that the task's success has closed the breaker", p)
		}
		r.stop()
	})
}
