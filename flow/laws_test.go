package flow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/policy/task"
)

func one(t flow.Task) flow.Definition { return flow.Definition{Name: "d", Tasks: []flow.Task{t}} }

// takes is a function that takes d, unless it is stopped.
func takes(d time.Duration) flow.Func {
	return func(ctx context.Context, _ flow.Input) ([]byte, error) {
		select {
		case <-time.After(d):
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func TestTimeoutsHaveABudgetOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pager{}
		limit := 60 * time.Second
		f := func(ctx context.Context, in flow.Input) ([]byte, error) { return takes(20*time.Second)(ctx, in) }
		r := start(t, flow.Config{Functions: flow.Functions{"f": f}, Pager: p})
		for range 6 {
			if v := r.wait(r.start(one(flow.Task{Name: "a", Func: "f", Timeout: limit}))); v.Run.State != flow.RunSuccess {
				t.Fatalf("%s", v.Run.State)
			}
		}
		// The same task with a limit below its p99: the limit is wrong.
		v := r.wait(r.start(one(flow.Task{Name: "a", Func: "f", Timeout: 10 * time.Second})))
		time.Sleep(time.Second)
		synctest.Wait()
		if v.Run.State != flow.RunHeld || len(v.Attempts) != task.MaxOverdue || v.Attempts[0].Ending.Class != bezoar.Timeout {
			t.Errorf("%s after %d attempts", v.Run.State, len(v.Attempts))
		}
		if len(p.all) != 1 || p.all[0].Kind != flow.KindTimeout || !strings.Contains(p.all[0].Why, "the timeout is wrong, not the task") {
			t.Errorf("pages %+v, want one about the timeout", p.all)
		}
		r.stop()
	})
}

func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pager{}
		broken := false
		r := start(t, flow.Config{Pager: p, Functions: flow.Functions{"slow": takes(time.Hour), "a": takes(20 * time.Second), "b": func(ctx context.Context, in flow.Input) ([]byte, error) {
			if broken {
				return nil, flow.Fail(bezoar.Transient, errors.New("not now"))
			}
			return takes(40*time.Second)(ctx, in)
		}}})
		d := flow.Definition{Name: "d", Deadline: 100 * time.Second, Tasks: []flow.Task{
			{Name: "b", Func: "b", Retry: flow.Retry{Attempts: 5, Backoff: backoff.Config{Strategy: backoff.Fixed, Base: 50 * time.Second, Cap: time.Minute}}},
			{Name: "a", Func: "a", Needs: []string{"b"}},
		}}
		if v := r.wait(r.start(d)); v.Run.State != flow.RunSuccess {
			t.Fatalf("%s %v", v.Run.State, states(v))
		}
		broken = true
		began := time.Now()
		v := r.wait(r.start(d))
		time.Sleep(time.Second)
		synctest.Wait()
		if v.Run.State != flow.RunHeld || len(v.Attempts) != 1 || time.Since(began) > 10*time.Second {
			t.Errorf("%s after %d attempts and %v, want that no retry is tried", v.Run.State, len(v.Attempts), time.Since(began))
		}
		if want := "wait 50s + p95 of a run 40s + p95 of the tasks after it 20s = 1m50s, but 1m40s are left"; len(p.all) != 1 || !strings.Contains(p.all[0].Why, want) || p.all[0].Kind != flow.KindDeadline {
			t.Errorf("pages %+v, want one with %q", p.all, want)
		}
		// What still runs at the deadline is stopped.
		v = r.wait(r.start(flow.Definition{Name: "late", Deadline: time.Minute, Tasks: []flow.Task{
			{Name: "slow", Func: "slow"}, {Name: "after", Func: "a", Needs: []string{"slow"}}, {Name: "ready", Func: "a", RunsOn: []string{"nowhere"}},
		}}))
		if is := states(v); v.Run.State != flow.RunFailed || is["slow"] != task.Failed || is["after"] != task.UpstreamFailed || is["ready"] != task.Failed {
			t.Errorf("%s %v", v.Run.State, is)
		}
		if took := v.Run.Ended.Sub(v.Run.Created); took < time.Minute || took > time.Minute+time.Second {
			t.Errorf("the run took %v, want a minute", took)
		}
		r.stop()
	})
}

func TestPoolsKeysAndWhatHoldsNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, most := map[string]int{}, map[string]int{}
		in := func(name string, by int) {
			mu.Lock()
			defer mu.Unlock()
			now[name] += by
			most[name] = max(most[name], now[name])
		}
		f := func(ctx context.Context, i flow.Input) ([]byte, error) {
			name := i.Task
			if name == "key" {
				name = "key " + i.Item
			}
			in(name, 1)
			defer in(name, -1)
			return takes(time.Second)(ctx, i)
		}
		fails := func(context.Context, flow.Input) ([]byte, error) {
			return nil, flow.Fail(bezoar.Transient, errors.New("not now"))
		}
		r := start(t, flow.Config{Functions: flow.Functions{"f": f, "fails": fails}, Slots: 100, Pools: map[string]int{"other": 4}})
		each := &flow.Each{List: slices.Repeat([]string{"x", "y"}, 10)}
		id := r.start(flow.Definition{Name: "d", Pools: map[string]int{"db": 3}, Tasks: []flow.Task{
			{Name: "db", Func: "f", Each: each, Pool: "db"},
			{Name: "key", Func: "f", Each: each, Key: "k {{.item}}", Limit: 2},
			{Name: "two", Func: "f", Each: each, Pool: "other", Slots: 2},
			{Name: "retrying", Func: "fails", Pool: "db", Retry: flow.Retry{Backoff: backoff.Config{Strategy: backoff.Fixed, Base: time.Minute, Cap: time.Minute}}},
		}})
		v := r.wait(id)
		if most["db"] != 3 || most["key x"] != 2 || most["key y"] != 2 || most["two"] != 2 {
			t.Errorf("at once: %v", most)
		}
		if took := v.Attempts[len(v.Attempts)-1].Ended.Sub(v.Run.Created); took < 2*time.Minute {
			t.Errorf("took %v", took)
		}
		var last time.Time
		for _, a := range v.Attempts {
			if a.Task != "retrying" && a.Ended.After(last) {
				last = a.Ended
			}
		}
		if took := last.Sub(v.Run.Created); took > 12*time.Second {
			t.Errorf("all but what is tried again took %v: does it hold a slot?", took)
		}
		r.stop()
	})
}

func TestABreakerCostsNoAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		back := time.Now().Add(10 * time.Minute)
		f := func(context.Context, flow.Input) ([]byte, error) {
			calls.Add(1)
			if time.Now().Before(back) {
				return nil, flow.Fail(bezoar.Outage, errors.New("connection refused"))
			}
			return nil, nil
		}
		r := start(t, flow.Config{Functions: flow.Functions{"f": f}, Slots: 8})
		d := flow.Definition{Name: "d", Tasks: []flow.Task{{
			Name: "a", Func: "f", Downstream: "db", Each: &flow.Each{List: slices.Repeat([]string{"x"}, 200)},
			Retry: flow.Retry{Attempts: 40, Backoff: backoff.Config{Base: time.Second, Cap: time.Second}},
		}}}
		v := r.wait(r.start(d))
		if n := calls.Load(); v.Run.State != flow.RunSuccess || n > 200+60 {
			t.Errorf("%s after %d calls, want the 200, and few while it was down", v.Run.State, n)
		}
		if took := time.Since(back); took > 6*time.Minute {
			t.Errorf("it was back for %v before all was done", took)
		}
		r.stop()
	})
}

func TestSideEffectsHappenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := map[string]int{}
		fail := true
		f := func(_ context.Context, in flow.Input) ([]byte, error) {
			sent[in.Params["day"]]++
			if fail {
				return nil, errors.New("connection reset while the mail was sent")
			}
			return []byte("sent"), nil
		}
		r := start(t, flow.Config{Functions: flow.Functions{"mail": f}, Slots: 1})
		d := flow.Definition{Name: "d", Params: []flow.Param{{Name: "day", Default: "1"}}, Tasks: []flow.Task{
			{Name: "mail", Func: "mail", SideEffect: true, Idempotent: "report {{.params.day}}", Retry: flow.Retry{Attempts: 5}},
		}}
		first := r.start(d)
		v := r.wait(first)
		if v.Run.State != flow.RunHeld || len(v.Attempts) != 1 || !strings.Contains(v.Instances[0].Why, "may have happened") {
			t.Errorf("%s after %d attempts: %s", v.Run.State, len(v.Attempts), v.Instances[0].Why)
		}
		second := r.start(d)
		if v := r.wait(second); v.Run.State != flow.RunHeld || len(v.Attempts) != 0 || sent["1"] != 1 {
			t.Errorf("%s: the second run began %d attempts, %d were sent", v.Run.State, len(v.Attempts), sent["1"])
		}
		fail = false
		if err := r.Retry(t.Context(), flow.Order{Run: first, Who: "me"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if v := r.wait(first); v.Run.State != flow.RunSuccess || sent["1"] != 2 {
			t.Errorf("%s, sent %v, want it once more because a person says so", v.Run.State, sent)
		}
		if v := r.wait(r.start(d)); v.Run.State != flow.RunSuccess || len(v.Attempts) != 0 || string(v.Instances[0].Output) != "sent" || sent["1"] != 2 {
			t.Errorf("%s, %+v, sent %v, want the output of the first run", v.Run.State, v.Instances[0], sent)
		}
		r.stop()
	})
}

func TestOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := func(ctx context.Context, in flow.Input) ([]byte, error) {
			if in.Params["file"] == "bad.csv" {
				return zero(ctx, in)
			}
			return []byte(in.Params["file"]), nil
		}
		r := start(t, flow.Config{Functions: flow.Functions{"bad": bad, "fine": fine, "slow": takes(time.Hour)}})
		d := flow.Definition{Name: "d", Params: []flow.Param{{Name: "file", Default: "bad.csv"}}, Tasks: []flow.Task{
			{Name: "load", Func: "bad"}, {Name: "after", Func: "fine", Needs: []string{"load"}},
		}}
		id := r.start(d)
		r.wait(id)
		if err := r.Retry(t.Context(), flow.Order{Run: id, Task: "load", Index: -1, Set: map[string]string{"file": "good.csv"}, Who: "me"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if v := r.wait(id); v.Run.State != flow.RunSuccess || string(v.Instances[1].Output) != "good.csv" {
			t.Errorf("%s %v, output %q", v.Run.State, states(v), v.Instances[1].Output)
		}
		slow := flow.Definition{Name: "s", Tasks: []flow.Task{
			{Name: "slow", Func: "slow"}, {Name: "after", Func: "fine", Needs: []string{"slow"}}, {Name: "beside", Func: "slow"},
		}}
		id = r.start(slow)
		time.Sleep(time.Second)
		synctest.Wait()
		for _, o := range []func() error{
			func() error { return r.Cancel(t.Context(), flow.Order{Run: id, Task: "slow", Index: -1}) },
			func() error { return r.Skip(t.Context(), flow.Order{Run: id, Task: "beside", Index: -1}) },
		} {
			if err := o(); err != nil {
				t.Fatal(err)
			}
		}
		v := r.wait(id)
		if is := states(v); v.Run.State != flow.RunFailed || is["slow"] != task.Cancelled || is["after"] != task.UpstreamFailed || is["beside"] != task.Skipped {
			t.Errorf("%s %v", v.Run.State, is)
		}
		id = r.start(slow)
		time.Sleep(time.Second)
		synctest.Wait()
		if err := r.Cancel(t.Context(), flow.Order{Run: id, Index: -1, Who: "me"}); err != nil {
			t.Fatal(err)
		}
		if v = r.wait(id); v.Run.State != flow.RunCancelled || v.Run.Ended.Sub(v.Run.Created) > 10*time.Second {
			t.Errorf("%s %v after %v", v.Run.State, states(v), v.Run.Ended.Sub(v.Run.Created))
		}
		// A run that was cancelled goes on when a person says so.
		if err := r.Retry(t.Context(), flow.Order{Run: id, Index: -1}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if v = r.wait(id); v.Run.State != flow.RunSuccess {
			t.Errorf("%s %v after a retry", v.Run.State, states(v))
		}
		r.stop()
	})
}

func TestItemsAndTemplates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		echo := func(_ context.Context, in flow.Input) ([]byte, error) {
			switch in.Task {
			case "list":
				return []byte(`["a", "b c", {"n": 1}]`), nil
			case "sum":
				var all []string
				for _, o := range in.Outputs["work"] {
					all = append(all, string(o))
				}
				return []byte(strings.Join(all, "+")), nil
			default:
				return []byte("<" + in.Item + ">"), nil
			}
		}
		r := start(t, flow.Config{Functions: flow.Functions{"f": echo}})
		v := r.wait(r.start(flow.Definition{Name: "d", Tasks: []flow.Task{
			{Name: "list", Func: "f"},
			{Name: "work", Func: "f", Needs: []string{"list"}, Each: &flow.Each{From: "list"}},
			{Name: "sum", Func: "f", Needs: []string{"work"}},
			{Name: "none", Func: "f", Each: &flow.Each{Glob: "/nowhere/*"}},
			{Name: "last", Func: "f", Needs: []string{"none", "sum"}, Each: &flow.Each{List: []string{"{{.tasks.sum.output}}"}}},
		}}))
		if v.Run.State != flow.RunSuccess {
			t.Fatalf("%s %v", v.Run.State, states(v))
		}
		for _, i := range v.Instances {
			if i.Task == "last" && i.Index == 0 && i.Item != `<a>+<b c>+<{"n": 1}>` {
				t.Errorf("item %q", i.Item)
			}
		}
		for name, tc := range map[string]struct {
			task flow.Task
			want string
		}{
			"a key that is not there": {flow.Task{Name: "a", Func: "f", Env: map[string]flow.Value{"X": {Text: "{{.params.nobody}}"}}}, "nobody"},
			"a list":                  {flow.Task{Name: "a", Func: "f", Each: &flow.Each{List: []string{"{{.nothing}}"}}}, "nothing"},
		} {
			v := r.wait(r.start(one(tc.task)))
			if i := v.Instances[0]; v.Run.State != flow.RunHeld || i.State != task.DeadLetter || !strings.Contains(i.Why, tc.want) || i.History.Last[0].Class != "invalid" {
				t.Errorf("%s: %s, %+v", name, v.Run.State, i)
			}
		}
		r.stop()
	})
}

func TestARestartCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, runs := newStore(t), 0
		f := func(ctx context.Context, in flow.Input) ([]byte, error) {
			runs++
			return takes(time.Minute)(ctx, in)
		}
		c := flow.Config{Store: s, Functions: flow.Functions{"f": f, "fine": fine}}
		r := start(t, c)
		id := r.start(flow.Definition{Name: "d", Tasks: []flow.Task{
			{Name: "a", Func: "f", Retry: flow.Retry{Attempts: 1}}, {Name: "b", Func: "fine", Needs: []string{"a"}},
		}})
		for range 8 {
			time.Sleep(10 * time.Second)
			r.stop()
			v, err := flow.Show(t.Context(), s, id)
			if err != nil || states(v)["a"] != task.Interrupted || len(v.Attempts) != runs {
				t.Fatalf("%v: %v, %d attempts, %d runs", err, states(v), len(v.Attempts), runs)
			}
			r = start(t, c)
		}
		v := r.wait(id)
		if v.Run.State != flow.RunSuccess || v.Instances[0].History.Killed+v.Instances[0].History.Own != 0 {
			t.Errorf("%s, %+v", v.Run.State, v.Instances[0].History)
		}
		r.stop()
	})
}

// The life of an engine ends without a word, again and again: no attempt begins
// before the one before it is proven to be gone.
func TestDeathsOfBezoar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, x := newStore(t), &elsewhere{}
		c := flow.Config{Store: s, Executor: x, Slots: 3, Lease: 3 * time.Second}
		r := start(t, c)
		d := flow.Definition{Name: "d"}
		for k := range 30 {
			tk := flow.Task{Name: fmt.Sprint("t", k), Func: "f"}
			if k >= 3 {
				tk.Needs = []string{fmt.Sprint("t", k-3)}
			}
			d.Tasks = append(d.Tasks, tk)
		}
		id := r.start(d)
		for range 20 {
			time.Sleep(2100 * time.Millisecond)
			x.dead.Add(1) // the next life begins while this one is still there: it is fenced
			next := start(t, c)
			r.cancel()
			<-r.done
			r = next
		}
		v := r.wait(id)
		if v.Run.State != flow.RunSuccess || x.twice.Load() > 0 {
			t.Errorf("%s %v; %d attempts ran beside another one of their task", v.Run.State, states(v), x.twice.Load())
		}
		for _, i := range v.Instances {
			if i.State != task.Success {
				t.Errorf("%s is %s", i.Task, i.State)
			}
		}
		r.stop()
	})
}

// elsewhere is an executor whose attempts go on when an engine dies: they take a
// second, and half a second to be stopped.
type elsewhere struct {
	flow.Executor
	mu          sync.Mutex
	running     map[string]int64
	ends        map[int64]chan struct{}
	stops       map[int64]chan struct{}
	dead, twice atomic.Int64
}

func (x *elsewhere) Start(_ context.Context, s flow.Spec) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ends == nil {
		x.running, x.ends, x.stops = map[string]int64{}, map[int64]chan struct{}{}, map[int64]chan struct{}{}
	}
	if x.ends[s.Token] != nil {
		return nil
	}
	if x.running[s.Task] != 0 {
		x.twice.Add(1)
	}
	x.running[s.Task] = s.Token
	end, stop := make(chan struct{}), make(chan struct{}, 10)
	x.ends[s.Token], x.stops[s.Token] = end, stop
	go func() {
		select {
		case <-time.After(time.Second):
		case <-stop:
			time.Sleep(500 * time.Millisecond)
		}
		x.mu.Lock()
		x.running[s.Task] = 0
		x.mu.Unlock()
		close(end)
	}()
	return nil
}

func (x *elsewhere) Wait(ctx context.Context, token int64) (flow.Ending, error) {
	x.mu.Lock()
	end := x.ends[token]
	x.mu.Unlock()
	select {
	case <-end:
		return flow.Ending{}, nil
	case <-ctx.Done():
		return flow.Ending{}, ctx.Err()
	}
}

func (x *elsewhere) Stop(_ context.Context, token int64, _ bezoar.Class, _ string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if c := x.stops[token]; c != nil {
		select {
		case c <- struct{}{}:
		default:
		}
	}
	return nil
}

func (x *elsewhere) Absent(ctx context.Context, token int64) error {
	x.mu.Lock()
	end := x.ends[token]
	x.mu.Unlock()
	if end == nil {
		return nil
	}
	if err := x.Stop(ctx, token, bezoar.Interrupted, ""); err != nil {
		return err
	}
	_, err := x.Wait(ctx, token)
	return err
}

func TestRunsOfOneFlowTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards the next two
		now, most := 0, 0
		f := func(ctx context.Context, in flow.Input) ([]byte, error) {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				now--
			}()
			return takes(time.Minute)(ctx, in)
		}
		s := newStore(t)
		c := flow.Config{Store: s, Functions: flow.Functions{"f": f, "zero": zero}}
		r := start(t, c)
		d := one(flow.Task{Name: "a", Func: "f"})
		d.MaxRuns = 2
		bad := d
		bad.Tasks = []flow.Task{{Name: "a", Func: "zero"}}
		held := r.start(bad)
		r.wait(held)
		var all []string
		for range 6 {
			all = append(all, r.start(d))
		}
		r.stop() // a run that waits for a person counts again when it goes on
		r = start(t, c)
		if err := r.Skip(t.Context(), flow.Order{Run: held}); err != nil {
			t.Fatal(err)
		}
		for _, id := range append(all, held) {
			if v := r.wait(id); v.Run.State == flow.RunHeld {
				time.Sleep(time.Second)
				if v = r.wait(id); v.Run.State != flow.RunSuccess {
					t.Errorf("%s", v.Run.State)
				}
			}
		}
		if most != 2 {
			t.Errorf("%d runs at once, want 2", most)
		}
		if err := r.Retry(t.Context(), flow.Order{Run: held, Task: "nobody"}); !errors.Is(err, flow.ErrNotFound) {
			t.Errorf("an order for no task: %v", err)
		}
		r.stop()
	})
}

func TestSensorsHoldNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		there := time.Now().Add(10 * time.Minute)
		x := sensing{flow.InProcess(flow.Functions{"": fine, "fine": fine}), there}
		r := start(t, flow.Config{Executor: x, Slots: 1})
		id := r.start(flow.Definition{Name: "d", Tasks: []flow.Task{
			{Name: "s", Sensor: &flow.Sensor{File: "x"}}, {Name: "after", Func: "fine", Needs: []string{"s"}}, {Name: "beside", Func: "fine"},
		}})
		time.Sleep(75 * time.Second) // between two looks
		synctest.Wait()
		v, err := r.Show(t.Context(), id)
		if is := states(v); err != nil || is["beside"] != task.Success || is["s"] != task.Sensing {
			t.Errorf("%v %v", err, is)
		}
		if v = r.wait(id); v.Run.State != flow.RunSuccess || len(v.Attempts) != 23 { // at 0 s, 30 s, … 600 s, and two others
			t.Errorf("%s after %d attempts", v.Run.State, len(v.Attempts))
		}
		r.stop()
	})
}

// sensing finds what it looks for from a time on.
type sensing struct {
	flow.Executor
	there time.Time
}

func (x sensing) Wait(ctx context.Context, token int64) (flow.Ending, error) {
	e, err := x.Executor.Wait(ctx, token)
	e.NotYet = time.Now().Before(x.there) // of a task that is no sensor, nobody cares
	return e, err
}

// A side effect is known for as long as Config.KeepKeys says, also when its run is
// forgotten earlier.
func TestSideEffectsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		f := func(context.Context, flow.Input) ([]byte, error) {
			sent++
			return nil, nil
		}
		r := start(t, flow.Config{Functions: flow.Functions{"mail": f}, Keep: 10 * time.Minute, KeepKeys: time.Hour, Poll: 4 * time.Second})
		d := one(flow.Task{Name: "mail", Func: "mail", SideEffect: true, Idempotent: "report"})
		first := r.start(d)
		for at, want := range []int{1, 1, 2} { // at once, after half an hour, after an hour and more
			if v := r.wait(r.start(d)); v.Run.State != flow.RunSuccess || sent != want {
				t.Errorf("%d: %s, sent %d times, want %d", at, v.Run.State, sent, want)
			}
			time.Sleep(35 * time.Minute)
			synctest.Wait()
		}
		if _, err := r.store.Run(t.Context(), first); !errors.Is(err, flow.ErrNotFound) {
			t.Errorf("the first run: %v, want it forgotten", err)
		}
		r.stop()
	})
}
