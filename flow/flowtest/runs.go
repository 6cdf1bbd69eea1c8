package flowtest

import (
	"context"
	"errors"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/policy/task"
)

func runTests() map[string]func(*rig) {
	return map[string]func(*rig){
		"RunsComeBack": testRunsComeBack, "KeysAreUnique": testKeysAreUnique, "ListRuns": testListRuns,
		"InstancesComeInOrder": testInstancesComeInOrder, "NothingIsShared": testNothingIsShared, "ContextsThatAreOver": testContextsThatAreOver,
		"ManyInstances": testManyInstances, "Forget": testForget,
	}
}

// fullRun has everything that a run can have.
func fullRun() flow.Run {
	return flow.Run{
		ID: "0000000000000000000000full", Flow: "daily", State: flow.RunRunning, Why: "by hand", Params: map[string]string{"day": "1"},
		Due: at(1), Created: at(2), Deadline: at(3), Key: "daily@1", Backfill: "spring", Version: 3,
		Pages: []flow.Page{{Group: "g1", Kind: flow.KindDeadLetter, At: at(5), Sent: true}},
		Definition: flow.Definition{
			Name: "daily", Params: []flow.Param{{Name: "day", Required: true}}, Env: map[string]flow.Value{"PW": {Secret: "env:PW"}},
			Tasks: []flow.Task{{
				Name: "a", Command: []string{"echo", "{{.params.day}}"}, Each: &flow.Each{List: []string{"x"}}, Timeout: time.Second,
				Retry: flow.Retry{Attempts: 4, Backoff: backoff.Config{Strategy: backoff.Decorrelated, Base: time.Second, Cap: time.Minute}},
			}},
			Schedule: &flow.Schedule{Cron: "0 4 * * *", Zone: "Europe/Vienna"}, Pools: map[string]int{"db": 3},
		},
	}
}

// fullInstance has everything that an instance can have.
func fullInstance(run string) flow.Instance {
	return flow.Instance{
		Run: run, Task: "a", Index: 0, Item: "x\n\u2603", State: task.Retrying, Why: "again in 3s",
		History: task.History{
			Attempts: 2, Own: 1, Killed: 2, Lost: 3, Overdue: 4, Unstarted: 5, Looks: 6, Wait: time.Second,
			Last: []task.Failure{{Class: "bug", Fingerprint: "f", Group: "g", Quality: "A", Build: "b", Reason: "no", At: at(8)}},
		},
		NextAt: at(9), Output: []byte{0, 1, 255}, Set: map[string]string{"day": "2"}, Letter: "l", Group: "g", Since: at(10), First: at(11), Canary: 7,
	}
}

func testRunsComeBack(r *rig) {
	want := fullRun()
	all := []flow.Instance{{Run: want.ID, Task: "a", Index: -1, State: task.Pending, Since: at(4)}, fullInstance(want.ID)}
	r.must(r.CreateRun(r.ctx(), want, all))
	got, err := r.Run(r.ctx(), want.ID)
	r.must(err)
	same(r, "the run", got, want)
	r.errorIf(got.Due.Location() != time.UTC || got.Due.Nanosecond()%1000 != 0, "a time comes back as %v, want it in UTC, at the microsecond", got.Due)
	insts, err := r.Instances(r.ctx(), want.ID)
	r.must(err)
	same(r, "its instances", insts, all)
	if _, err := r.Run(r.ctx(), "nobody"); true {
		r.wantErr(err, flow.ErrNotFound)
	}
	if _, err := r.Instances(r.ctx(), "nobody"); true {
		r.wantErr(err, flow.ErrNotFound)
	}
}

func testKeysAreUnique(r *rig) {
	one := r.run(1, func(run *flow.Run) { run.Key = "daily@1" })
	again := one
	again.ID = "zzz"
	r.wantErr(r.CreateRun(r.ctx(), again, []flow.Instance{{Run: "zzz", Task: "a", State: task.Pending, Since: at(1)}}), flow.ErrExists)
	_, err := r.Run(r.ctx(), "zzz")
	r.wantErr(err, flow.ErrNotFound)
	again.ID, again.Key = one.ID, "another"
	r.wantErr(r.CreateRun(r.ctx(), again, nil), flow.ErrExists)
	r.run(1, nil) // without a key: any number
	r.run(1, nil)
	r.run(1, func(run *flow.Run) { run.Key = "another" }) // what was refused has left nothing
}

func testListRuns(r *rig) {
	r.run(1, nil)
	r.run(1, func(run *flow.Run) { run.Flow, run.State = "weekly", flow.RunFailed })
	r.run(1, func(run *flow.Run) { run.Backfill = "spring" })
	r.run(1, func(run *flow.Run) { run.State, run.Key = flow.RunHeld, "rows of 1" })
	for name, tc := range map[string]struct {
		q    flow.RunQuery
		want []string
	}{
		"all":      {flow.RunQuery{}, []string{"4", "3", "2", "1"}},
		"limit":    {flow.RunQuery{Limit: 2}, []string{"4", "3"}},
		"before":   {flow.RunQuery{Before: "00000000000000000000000003"}, []string{"2", "1"}},
		"flow":     {flow.RunQuery{Flow: "weekly"}, []string{"2"}},
		"state":    {flow.RunQuery{State: flow.RunHeld}, []string{"4"}},
		"backfill": {flow.RunQuery{Backfill: "spring"}, []string{"3"}},
		"two":      {flow.RunQuery{Flow: "daily", State: flow.RunRunning, Limit: 1}, []string{"3"}},
		"key":      {flow.RunQuery{Key: "rows of 1"}, []string{"4"}},
		"no key":   {flow.RunQuery{Key: "rows of"}, nil},
		"none":     {flow.RunQuery{Flow: "none"}, nil},
	} {
		got, err := r.ListRuns(r.ctx(), tc.q)
		r.must(err)
		var ids []string
		for _, run := range got {
			ids = append(ids, run.ID[len(run.ID)-1:])
			r.errorIf(run.Definition.Name != "" || run.Definition.Tasks != nil, "%s: a run comes with its definition", name)
			r.errorIf(run.Params["day"] != "1" || run.Created.IsZero(), "%s: a run comes without its parameters, or its time: %+v", name, run)
		}
		same(r, name, ids, tc.want)
	}
}

func testInstancesComeInOrder(r *rig) {
	run := fullRun()
	var all []flow.Instance
	for _, k := range []struct {
		task  string
		index int
	}{{"A", 0}, {"a", -1}, {"a", 0}, {"a", 1}, {"a", 2}, {"a", 10}, {"a-b", 0}, {"a.b", 0}, {"aB", 0}, {"a_b", 0}, {"ab", 0}} {
		all = append(all, flow.Instance{Run: run.ID, Task: k.task, Index: k.index, State: task.Pending, Since: at(1)})
	}
	mixed := append([]flow.Instance{all[10], all[5]}, all[:5]...)
	r.must(r.CreateRun(r.ctx(), run, append(mixed, all[6:10]...)))
	got, err := r.Instances(r.ctx(), run.ID)
	r.must(err)
	same(r, "instances", got, all)
}

func testNothingIsShared(r *rig) {
	run := fullRun()
	inst := fullInstance(run.ID)
	r.must(r.CreateRun(r.ctx(), run, []flow.Instance{inst}))
	run.Params["day"], run.Pages[0].Group = "spoiled", "spoiled"
	inst.Output[0], inst.Set["day"], inst.History.Last[0].Class = 99, "spoiled", "spoiled"
	for range 2 {
		gotRun, err := r.Run(r.ctx(), run.ID)
		r.must(err)
		got, err := r.Instances(r.ctx(), run.ID)
		r.must(err)
		same(r, "the run", gotRun, fullRun())
		same(r, "the instance", got[0], fullInstance(run.ID))
		gotRun.Params["day"], gotRun.Pages[0].Group = "spoiled", "spoiled"
		got[0].Output[0], got[0].Set["day"], got[0].History.Last[0].Class = 99, "spoiled", "spoiled"
	}
}

func testContextsThatAreOver(r *rig) {
	run := r.run(1, nil)
	n := r.node("n1")
	h := r.take(n)
	ctx, cancel := context.WithCancel(r.ctx())
	cancel()
	other := fullRun()
	for name, call := range map[string]func() error{
		"CreateRun": func() error { return r.CreateRun(ctx, other, nil) },
		"Run":       func() error { _, err := r.Run(ctx, run.ID); return err },
		"ListRuns":  func() error { _, err := r.ListRuns(ctx, flow.RunQuery{}); return err },
		"Instances": func() error { _, err := r.Instances(ctx, run.ID); return err },
		"Apply": func() error {
			_, err := r.Apply(ctx, h, flow.Batch{Instances: []flow.Instance{{Run: run.ID, Task: "a", State: task.Success, Since: at(1)}}})
			return err
		},
		"Order":        func() error { return r.Order(ctx, flow.Order{Run: run.ID, Verb: flow.VerbCancel}) },
		"Orders":       func() error { _, err := r.Orders(ctx, "n1"); return err },
		"Renew":        func() error { _, err := r.Renew(ctx, n, ttl); return err },
		"Leave":        func() error { return r.Leave(ctx, n) },
		"ListNodes":    func() error { _, err := r.ListNodes(ctx); return err },
		"Take":         func() error { _, err := r.Take(ctx, n, 1); return err },
		"Offers":       func() error { _, err := r.Offers(ctx, n, 1); return err },
		"Report":       func() error { return r.Report(ctx, n, []flow.Attempt{{Token: 1}}) },
		"ListAttempts": func() error { _, err := r.ListAttempts(ctx, flow.AttemptQuery{}); return err },
	} {
		if err := call(); err == nil {
			r.Errorf("%s with a context that is over: no error", name)
		}
	}
	if got := r.state(run.ID, "a"); got != task.Pending {
		r.Errorf("the instance is %s, want PENDING", got)
	}
	if _, err := r.Run(r.ctx(), other.ID); err == nil {
		r.Error("a run was created although the context was over")
	}
	if all, err := r.Orders(r.ctx(), "n1"); err != nil || len(all) > 0 {
		r.Errorf("orders %v, %v, want none", all, err)
	}
}

func testManyInstances(r *rig) {
	run := r.run(1, nil)
	h := r.take(r.node("n1"))
	const n = 3000
	b := flow.Batch{Instances: make([]flow.Instance, n), Begin: make([]flow.Attempt, n)}
	for i := range n {
		b.Instances[i] = flow.Instance{Run: run.ID, Task: "many", Index: i, State: task.Running, Since: at(1)}
		b.Begin[i] = attempt(run.ID, "many", "n1")
		b.Begin[i].Index = i
	}
	begun := r.apply(h, b).Begun
	r.fatalIf(len(begun) != n, "%d attempts were begun, want %d", len(begun), n)
	for i, a := range begun {
		r.fatalIf(a.Index != i || i > 0 && a.Token <= begun[i-1].Token, "attempt %d is %+v, want it in its place with a growing token", i, a)
	}
	all, err := r.Instances(r.ctx(), run.ID)
	r.must(err)
	r.errorIf(len(all) != n+1 || all[n].Index != n-1, "%d instances, the last %+v", len(all), all[len(all)-1])
}

func testReopen(r *rig) {
	run := r.run(2, nil)
	n := r.node("n1")
	h := r.take(n)
	a := r.begin(h, run.ID, "a", func(a *flow.Attempt) { a.Effect = "mail 1" })
	r.must(r.Order(r.ctx(), flow.Order{Run: run.ID, Verb: flow.VerbCancel, Task: "b", Who: "me"}))
	r.Store = r.harness.Reopen(r.T, r.Store)
	if got := r.state(run.ID, "a"); got != task.Running {
		r.Errorf("the instance is %s, want RUNNING", got)
	}
	same(r, "attempts", r.attempts(flow.AttemptQuery{Node: "n1"}), []flow.Attempt{a})
	orders, err := r.Orders(r.ctx(), "n1")
	r.must(err)
	r.errorIf(len(orders) != 1 || orders[0].Task != "b" || orders[0].Who != "me", "orders %+v, want the one that was given", orders)
	again := r.node("n1")
	r.errorIf(again.Epoch <= n.Epoch, "epoch %d of the next life, want more than %d", again.Epoch, n.Epoch)
	h = r.take(again)
	if got := r.tryBegin(h, run.ID, "b", func(a *flow.Attempt) { a.Effect = "mail 1" }); len(got.Begun) != 0 || len(got.Taken) != 1 {
		r.Errorf("%+v, want that the side effect is taken", got)
	}
}

func testForget(r *rig) {
	n := r.node("n1")
	end := func(state flow.RunState, ended time.Time) flow.Run {
		run := r.run(1, nil)
		h := r.take(n)
		run.State, run.Ended, run.Version = state, ended, 5
		r.apply(h, flow.Batch{Runs: []flow.Run{run}})
		return run
	}
	long, now := time.Now().Add(-48*time.Hour), time.Now()
	old := []flow.Run{end(flow.RunSuccess, long), end(flow.RunFailed, long.Add(time.Hour)), end(flow.RunCancelled, long.Add(2*time.Hour))}
	kept := []flow.Run{end(flow.RunSuccess, now), end(flow.RunHeld, long), r.run(1, nil)}
	for _, want := range []int{2, 1, 0} {
		if got, err := r.Forget(r.ctx(), 24*time.Hour, 2); err != nil || got != want {
			r.Fatalf("forgot %d, %v, want %d", got, err, want)
		}
	}
	for _, run := range old {
		if _, err := r.Run(r.ctx(), run.ID); !errors.Is(err, flow.ErrNotFound) {
			r.Errorf("run %s: %v, want it forgotten", run.ID, err)
		}
		if all, err := r.ListAttempts(r.ctx(), flow.AttemptQuery{Run: run.ID}); err != nil || len(all) != 0 {
			r.Errorf("run %s has attempts %v, %v", run.ID, all, err)
		}
	}
	for _, run := range kept {
		if _, err := r.Run(r.ctx(), run.ID); err != nil {
			r.Errorf("run %s, %s: %v, want it kept", run.ID, run.State, err)
		}
	}
	if all, err := r.ListAttempts(r.ctx(), flow.AttemptQuery{}); err != nil {
		r.Errorf("list all attempts: %v, %v", all, err)
	}
}
