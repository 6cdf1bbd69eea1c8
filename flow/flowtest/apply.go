package flowtest

import (
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/policy/task"
)

func applyTests() map[string]func(*rig) {
	return map[string]func(*rig){
		"ApplyWritesAll": testApplyWritesAll, "ApplyIsFenced": testApplyIsFenced, "ApplyTwice": testApplyTwice, "EveryState": testEveryState,
		"Pools": testPools, "Keys": testKeys, "RunsKeepWhatIsFixed": testRunsKeepWhatIsFixed,
	}
}

func fullEnding() flow.Ending {
	return flow.Ending{
		Class: bezoar.OOM, Reason: "out of memory", Fingerprint: "f", Group: "g", Quality: "B", Downstream: "db", RetryAfter: time.Second,
		NotYet: true, Free: true, Lost: true, ExitCode: 137, Output: []byte{0, 255}, Rows: []flow.Row{{Index: 3, Reason: "no date", Body: []byte("a,b")}},
		Elapsed: time.Minute, CPU: time.Second, MaxRSS: 1 << 33, LogBytes: 1 << 34,
	}
}

func testApplyWritesAll(r *rig) {
	run := r.run(2, nil)
	h := r.take(r.node("n1"))
	one := r.begin(h, run.ID, "a", func(a *flow.Attempt) {
		a.Pool, a.Slots, a.PoolSize, a.Key, a.Limit, a.Labels = "db", 2, 3, "k", 1, []string{"eu"}
	})
	inst := fullInstance(run.ID)
	run.State, run.Why, run.Ended, run.Version = flow.RunHeld, "one waits", at(9), 7
	run.Pages, run.Deadline = []flow.Page{{Group: "g", Kind: flow.KindDeadline, At: at(9)}}, at(99)
	added := flow.Instance{Run: run.ID, Task: "b", Index: 1, Item: "new", State: task.Held, Since: at(9)}
	end := ended(one, fullEnding())
	if got := r.apply(h, flow.Batch{Runs: []flow.Run{run}, Instances: []flow.Instance{inst, added}, End: []flow.Attempt{end}}); len(got.Begun) != 0 {
		r.Errorf("begun %+v, want nothing", got.Begun)
	}
	got, err := r.Run(r.ctx(), run.ID)
	r.must(err)
	run.Owner, run.Epoch = "n1", h.Runs[run.ID]
	same(r, "the run", got, run)
	all, err := r.Instances(r.ctx(), run.ID)
	r.must(err)
	same(r, "the instances", all, []flow.Instance{inst, {Run: run.ID, Task: "b", State: task.Pending, Since: at(4)}, added})
	same(r, "the attempt", r.attempts(flow.AttemptQuery{Run: run.ID}), []flow.Attempt{end})
	r.apply(h, flow.Batch{End: []flow.Attempt{ended(one, flow.Ending{Reason: "again"})}})
	same(r, "the attempt, which was over", r.attempts(flow.AttemptQuery{Run: run.ID}), []flow.Attempt{end})
	next := r.begin(h, run.ID, "a", func(a *flow.Attempt) { a.N = 2 })
	r.errorIf(next.Token <= one.Token, "token %d after %d, want it to grow", next.Token, one.Token)
}

func testApplyIsFenced(r *rig) {
	run, other := r.run(2, nil), r.run(1, nil)
	n := r.node("n1")
	h := r.take(n)
	a := r.begin(h, run.ID, "a", nil)
	with := func(edit func(*flow.Hold)) flow.Hold {
		c := flow.Hold{Node: h.Node, Epoch: h.Epoch, Runs: map[string]int64{run.ID: h.Runs[run.ID], other.ID: h.Runs[other.ID]}}
		edit(&c)
		return c
	}
	set := func(id string) flow.Batch {
		return flow.Batch{
			Instances: []flow.Instance{{Run: id, Task: "a", State: task.Success, Since: at(1)}},
			End:       []flow.Attempt{ended(a, flow.Ending{})},
		}
	}
	r.node("n2")
	for name, tc := range map[string]struct {
		hold  flow.Hold
		batch flow.Batch
	}{
		"another life":   {with(func(h *flow.Hold) { h.Epoch++ }), set(run.ID)},
		"another node":   {with(func(h *flow.Hold) { h.Node = "n2" }), set(run.ID)},
		"no such node":   {with(func(h *flow.Hold) { h.Node = "n3" }), set(run.ID)},
		"another hold":   {with(func(h *flow.Hold) { h.Runs[run.ID]-- }), set(run.ID)},
		"no hold":        {with(func(h *flow.Hold) { delete(h.Runs, run.ID) }), flow.Batch{Runs: []flow.Run{{ID: run.ID, State: flow.RunFailed}}}},
		"one of two":     {with(func(h *flow.Hold) { delete(h.Runs, other.ID) }), flow.Batch{Instances: append(set(run.ID).Instances, set(other.ID).Instances...)}},
		"a begin":        {with(func(h *flow.Hold) { delete(h.Runs, run.ID) }), flow.Batch{Begin: []flow.Attempt{attempt(run.ID, "b", "n1")}}},
		"an end":         {with(func(h *flow.Hold) { delete(h.Runs, run.ID) }), flow.Batch{End: []flow.Attempt{ended(a, flow.Ending{})}}},
		"nothing at all": {with(func(h *flow.Hold) { h.Epoch-- }), flow.Batch{}},
	} {
		if _, err := r.Apply(r.ctx(), tc.hold, tc.batch); true {
			r.Log(name)
			r.wantErr(err, flow.ErrFenced)
		}
	}
	r.harness.Age(r.T, r.Store, ttl+1)
	_, err := r.Apply(r.ctx(), h, set(run.ID))
	r.wantErr(err, flow.ErrFenced)
	if got := r.state(run.ID, "a"); got != task.Running {
		r.Errorf("the instance is %s, want it as it was", got)
	}
	if got := r.attempts(flow.AttemptQuery{Open: true}); len(got) != 1 || got[0].Token != a.Token {
		r.Errorf("open attempts %+v, want the one", got)
	}
}

func testApplyTwice(r *rig) {
	run := r.run(2, nil)
	h := r.take(r.node("n1"))
	r.must(r.Order(r.ctx(), flow.Order{Run: run.ID, Verb: flow.VerbCancel, Task: "b"}))
	orders, err := r.Orders(r.ctx(), "n1")
	r.must(err)
	first := r.begin(h, run.ID, "a", nil)
	b := flow.Batch{
		Runs: []flow.Run{run}, End: []flow.Attempt{ended(first, flow.Ending{})}, Done: []int64{orders[0].ID},
		Begin:     []flow.Attempt{{Run: run.ID, Task: "b", N: 1, Node: "n1", Intended: at(5), Pool: "one", Slots: 1, PoolSize: 1, Key: "k", Limit: 1, Effect: "mail"}},
		Instances: []flow.Instance{{Run: run.ID, Task: "b", State: task.Running, Since: at(5)}},
	}
	got, again := r.apply(h, b), r.apply(h, b)
	same(r, "what the second time says", again, got)
	if all := r.attempts(flow.AttemptQuery{Run: run.ID}); len(all) != 2 {
		r.Errorf("%d attempts, want 2: %+v", len(all), all)
	}
	if got := r.state(run.ID, "b"); got != task.Running {
		r.Errorf("the instance is %s, want RUNNING", got)
	}
}

func testEveryState(r *rig) {
	run := r.run(1, nil)
	h := r.take(r.node("n1"))
	for i, s := range task.States() {
		r.apply(h, flow.Batch{Instances: []flow.Instance{{Run: run.ID, Task: "a", State: s, Since: at(i)}}})
		if got := r.state(run.ID, "a"); got != s {
			r.Errorf("state %s comes back as %s", s, got)
		}
	}
	before := r.state(run.ID, "a")
	for _, bad := range []task.State{"", "BOGUS", "running"} {
		if _, err := r.Apply(r.ctx(), h, flow.Batch{Instances: []flow.Instance{
			{Run: run.ID, Task: "a", State: task.Success, Since: at(1)}, {Run: run.ID, Task: "a", State: bad, Since: at(1)},
		}}); err == nil {
			r.Errorf("state %q was taken", bad)
		}
	}
	if got := r.state(run.ID, "a"); got != before {
		r.Errorf("a batch that was refused has made it %s", got)
	}
}

func testPools(r *rig) {
	run, other := r.run(4, nil), r.run(1, nil)
	h := r.take(r.node("n1"))
	in := func(slots int) func(*flow.Attempt) {
		return func(a *flow.Attempt) { a.Pool, a.Slots, a.PoolSize = "db", slots, 3 }
	}
	two := r.begin(h, run.ID, "a", in(2))
	var b flow.Batch
	for _, name := range []string{"b", "c", "d"} { // 2, 1 and 1 of one that is free
		a := attempt(run.ID, name, "n1")
		in(1)(&a)
		if name == "b" {
			a.Slots = 2
		}
		b.Begin = append(b.Begin, a)
		b.Instances = append(b.Instances, flow.Instance{Run: run.ID, Task: name, State: task.Running, Why: "begun", Since: at(5)})
	}
	got := r.apply(h, b)
	r.fatalIf(len(got.Begun) != 1 || got.Begun[0].Task != "c", "begun %+v, want c alone", got.Begun)
	for name, want := range map[string]task.State{"b": task.Pending, "c": task.Running, "d": task.Pending} {
		if is := r.state(run.ID, name); is != want {
			r.Errorf("%s is %s, want %s", name, is, want)
		}
	}
	if got := r.tryBegin(h, other.ID, "a", in(1)); len(got.Begun) != 0 || r.state(other.ID, "a") != task.Pending {
		r.Errorf("another run began %+v in a pool that is full", got.Begun)
	}
	// An attempt that is lost holds its slots; one that ends in the same batch does not.
	a := attempt(run.ID, "b", "n1")
	in(2)(&a)
	got = r.apply(h, flow.Batch{
		End: []flow.Attempt{ended(two, flow.Ending{})}, Begin: []flow.Attempt{a},
		Instances: []flow.Instance{{Run: run.ID, Task: "b", State: task.Running, Since: at(5)}},
	})
	r.errorIf(len(got.Begun) != 1 || r.state(run.ID, "b") != task.Running, "begun %+v, want b in the slots that the end left", got.Begun)
}

func testKeys(r *rig) {
	run, other := r.run(3, nil), r.run(2, nil)
	h := r.take(r.node("n1"))
	key := func(k string, limit int) func(*flow.Attempt) {
		return func(a *flow.Attempt) { a.Key, a.Limit = k, limit }
	}
	one := r.begin(h, run.ID, "a", key("customer 7", 1))
	if got := r.tryBegin(h, other.ID, "a", key("customer 7", 1)); len(got.Begun) != 0 {
		r.Errorf("begun %+v, want nothing: the key is taken by another run", got.Begun)
	}
	r.begin(h, run.ID, "b", key("customer 8", 1))
	r.begin(h, other.ID, "a", key("customer 7", 2))
	if got := r.tryBegin(h, other.ID, "b", key("customer 7", 2)); len(got.Begun) != 0 {
		r.Errorf("begun %+v, want nothing: there are two", got.Begun)
	}
	r.apply(h, flow.Batch{End: []flow.Attempt{ended(one, flow.Ending{})}})
	r.begin(h, other.ID, "b", key("customer 7", 2))
}

func testRunsKeepWhatIsFixed(r *rig) {
	run := r.run(1, func(run *flow.Run) { run.Key = "k" })
	h := r.take(r.node("n1"))
	r.apply(h, flow.Batch{Runs: []flow.Run{{ID: run.ID, Flow: "x", State: flow.RunSuccess, Version: 9, Ended: at(8), Owner: "n9", Epoch: 99, Key: "z"}}})
	got, err := r.Run(r.ctx(), run.ID)
	r.must(err)
	run.State, run.Version, run.Ended, run.Deadline = flow.RunSuccess, 9, at(8), time.Time{}
	run.Owner, run.Epoch = "n1", h.Runs[run.ID]
	same(r, "the run", got, run)
}
