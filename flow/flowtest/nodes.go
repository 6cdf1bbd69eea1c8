package flowtest

import (
	"slices"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/policy/task"
)

func nodeTests() map[string]func(*rig) {
	return map[string]func(*rig){
		"Leases": testLeases, "NextLifeFences": testNextLifeFences, "TakeGivesWhatNobodyHolds": testTake, "LeaveFreesAtOnce": testLeave, "PagesThatWereNotSent": testUntold,
		"AttemptsOfLostNodes": testLostNodes, "Offers": testOffers, "Reports": testReports,
	}
}

func testLeases(r *rig) {
	n := r.node("n1", "gpu", "eu")
	r.fatalIf(n.Epoch == 0 || !n.Until.After(n.Seen), "%+v, want an epoch and a lease", n)
	again, err := r.Renew(r.ctx(), n, ttl)
	r.must(err)
	r.errorIf(again.Epoch != n.Epoch, "epoch %d after a renewal in time, want %d", again.Epoch, n.Epoch)
	r.harness.Age(r.T, r.Store, ttl+1)
	late, err := r.Renew(r.ctx(), n, ttl)
	r.must(err)
	r.errorIf(late.Epoch <= n.Epoch, "epoch %d after a lease was lost, want more than %d", late.Epoch, n.Epoch)
	all, err := r.ListNodes(r.ctx())
	r.must(err)
	r.errorIf(len(all) != 1 || all[0].Name != "n1" || !slices.Equal(all[0].Labels, []string{"gpu", "eu"}) || all[0].Slots != 4 || !all[0].Plans || all[0].Epoch != late.Epoch, "nodes %+v, want n1 as it is", all)
}

func testNextLifeFences(r *rig) {
	run := r.run(1, nil)
	first := r.node("n1")
	h := r.take(first)
	second := r.node("n1") // the same name: a restart
	r.fatalIf(second.Epoch <= first.Epoch, "epoch %d of the second life, want more than %d", second.Epoch, first.Epoch)
	_, err := r.Renew(r.ctx(), first, ttl)
	r.wantErr(err, flow.ErrFenced)
	_, err = r.Apply(r.ctx(), h, flow.Batch{Instances: []flow.Instance{{Run: run.ID, Task: "a", State: task.Success, Since: at(1)}}})
	r.wantErr(err, flow.ErrFenced)
	_, err = r.Take(r.ctx(), first, 1)
	r.wantErr(err, flow.ErrFenced)
	_, err = r.Offers(r.ctx(), first, 1)
	r.wantErr(err, flow.ErrFenced)
	r.wantErr(r.Report(r.ctx(), first, []flow.Attempt{{Token: 1}}), flow.ErrFenced)
	if again := r.take(second); again.Runs[run.ID] <= h.Runs[run.ID] {
		r.Errorf("the second life holds the run with epoch %d, want more than %d", again.Runs[run.ID], h.Runs[run.ID])
	}
}

func testTake(r *rig) {
	one, two, three := r.run(1, nil), r.run(1, nil), r.run(1, func(run *flow.Run) { run.State = flow.RunHeld })
	for _, over := range []flow.RunState{flow.RunSuccess, flow.RunFailed, flow.RunCancelled} {
		r.run(1, func(run *flow.Run) { run.State = over })
	}
	n1, n2 := r.node("n1"), r.node("n2")
	got, err := r.Take(r.ctx(), n1, 1)
	r.must(err)
	r.fatalIf(len(got) != 1 || got[0].ID != one.ID || got[0].Owner != "n1" || got[0].Epoch == 0 || got[0].Definition.Tasks[0].Name != "a", "taken %+v, want the oldest with its definition", got)
	if h := r.take(n2); len(h.Runs) != 2 || h.Runs[two.ID] == 0 || h.Runs[three.ID] == 0 {
		r.Errorf("the second node took %v, want the other two that are not over", h.Runs)
	}
	if h := r.take(n1); len(h.Runs) != 0 {
		r.Errorf("taken %v, want nothing", h.Runs)
	}
	// The lease of the first node ends; the second one's does not.
	r.harness.Age(r.T, r.Store, ttl/2+1)
	n2, err = r.Renew(r.ctx(), n2, ttl)
	r.must(err)
	r.harness.Age(r.T, r.Store, ttl/2+1)
	if h := r.take(n2); len(h.Runs) != 1 || h.Runs[one.ID] <= got[0].Epoch {
		r.Errorf("taken %v, want the first run with a new epoch", h.Runs)
	}
	back, err := r.Renew(r.ctx(), n1, ttl)
	r.must(err)
	r.errorIf(back.Epoch == n1.Epoch, "the node that was away has its epoch still")
	stale := flow.Hold{Node: "n1", Epoch: back.Epoch, Runs: map[string]int64{one.ID: got[0].Epoch}}
	_, err = r.Apply(r.ctx(), stale, flow.Batch{Runs: []flow.Run{got[0]}})
	r.wantErr(err, flow.ErrFenced)
}

func testLeave(r *rig) {
	run := r.run(1, nil)
	n1, n2 := r.node("n1"), r.node("n2")
	h := r.take(n1)
	r.must(r.Leave(r.ctx(), n1))
	if got := r.take(n2); got.Runs[run.ID] <= h.Runs[run.ID] {
		r.Errorf("taken %v, want the run of the node that left", got.Runs)
	}
	_, err := r.Apply(r.ctx(), h, flow.Batch{Runs: []flow.Run{run}})
	r.wantErr(err, flow.ErrFenced)
	r.node("n1") // its next life
	r.must(r.Leave(r.ctx(), n1))
	if got, err := r.Take(r.ctx(), flow.Node{Name: "n1", Epoch: n1.Epoch + 1}, 1); err != nil {
		r.Errorf("an earlier life left, and the next one lost its lease: %v %v", got, err)
	}
}

func testLostNodes(r *rig) {
	run := r.run(4, nil)
	n1, n2 := r.node("n1"), r.node("n2")
	h := r.take(n2)
	on1 := r.begin(h, run.ID, "a", func(a *flow.Attempt) { a.Node = "n1" })
	r.begin(h, run.ID, "b", nil) // on n2
	r.begin(h, run.ID, "c", func(a *flow.Attempt) { a.Node, a.Labels = "", []string{"gpu"} })
	over := r.begin(h, run.ID, "d", func(a *flow.Attempt) { a.Node = "n1" })
	r.must(r.Report(r.ctx(), n1, []flow.Attempt{ended(over, flow.Ending{})}))
	r.harness.Age(r.T, r.Store, ttl/2+1)
	n2, err := r.Renew(r.ctx(), n2, ttl)
	r.must(err)
	r.harness.Age(r.T, r.Store, ttl/2+1)
	r.take(n2)
	for _, a := range r.attempts(flow.AttemptQuery{Run: run.ID}) {
		want := map[string]flow.AttemptState{"a": flow.AttemptLost, "b": flow.AttemptIntended, "c": flow.AttemptIntended, "d": flow.AttemptEnded}[a.Task]
		r.errorIf(a.State != want, "the attempt of %s is %s, want %s", a.Task, a.State, want)
	}
	n1, err = r.Renew(r.ctx(), n1, ttl)
	r.must(err)
	r.must(r.Report(r.ctx(), n1, []flow.Attempt{ended(on1, flow.Ending{Reason: "too late"})}))
	if got := r.attempts(flow.AttemptQuery{Run: run.ID, Task: "a"})[0]; got.State != flow.AttemptLost {
		r.Errorf("a lost attempt is %s after a late report, want lost", got.State)
	}
	r.apply(h, flow.Batch{End: []flow.Attempt{ended(on1, flow.Ending{Reason: "lost"})}})
	if got := r.attempts(flow.AttemptQuery{Run: run.ID, Task: "a"})[0]; got.State != flow.AttemptEnded || got.Ending.Reason != "lost" {
		r.Errorf("the planner ended a lost attempt, and it is %+v", got)
	}
}

func testOffers(r *rig) {
	run := r.run(4, nil)
	planner, gpu := r.node("planner"), r.node("worker", "gpu", "eu")
	h := r.take(planner)
	spec := &flow.Spec{Run: run.ID, Task: "a", Command: []string{"train"}, Env: map[string]flow.Value{"K": {Secret: "env:K"}}}
	offer := func(name string, labels ...string) flow.Attempt {
		return r.begin(h, run.ID, name, func(a *flow.Attempt) { a.Node, a.Labels, a.Spec = "", labels, spec })
	}
	a := offer("a", "gpu")
	offer("b", "tpu")
	c := offer("c", "eu", "gpu")
	r.begin(h, run.ID, "d", nil)
	stopped := r.begin(h, run.ID, "d", func(a *flow.Attempt) { a.N, a.Node, a.Spec = 2, "", spec })
	r.apply(h, flow.Batch{Stop: []flow.Stop{{Token: stopped.Token, Why: "nobody wants it any more"}}})
	got, err := r.Offers(r.ctx(), gpu, 1)
	r.must(err)
	a.Node, c.Node = "worker", "worker"
	same(r, "the first offer", got, []flow.Attempt{a})
	if len(got) == 1 && (got[0].Spec == nil || got[0].Spec.Command[0] != "train") {
		r.Errorf("the offer says %+v, want what to run", got[0].Spec)
	}
	got, err = r.Offers(r.ctx(), gpu, 10)
	r.must(err)
	same(r, "the others", got, []flow.Attempt{c})
	got, err = r.Offers(r.ctx(), gpu, 10)
	r.must(err)
	same(r, "nothing is left", got, nil)
	r.harness.Age(r.T, r.Store, ttl+1)
	_, err = r.Offers(r.ctx(), gpu, 10)
	r.wantErr(err, flow.ErrFenced)
}

func testReports(r *rig) {
	run := r.run(2, nil)
	planner, n := r.node("planner"), r.node("worker", "gpu")
	h := r.take(planner)
	r.begin(h, run.ID, "a", func(a *flow.Attempt) { a.Node, a.Labels = "", []string{"gpu"} })
	other := r.begin(h, run.ID, "b", nil)
	all, err := r.Offers(r.ctx(), n, 10)
	r.must(err)
	a := all[0]
	a.State, a.Started = flow.AttemptRunning, at(6)
	a.Stop = &flow.Stop{Token: a.Token, Class: bezoar.Timeout, Why: "too late"}
	r.apply(h, flow.Batch{Stop: []flow.Stop{*a.Stop}})
	r.apply(h, flow.Batch{Stop: []flow.Stop{{Token: a.Token, Why: "the first one holds"}}})
	other.State = flow.AttemptRunning
	r.must(r.Report(r.ctx(), n, []flow.Attempt{a, other}))
	if got := r.attempts(flow.AttemptQuery{Run: run.ID, Task: "a"})[0]; got.State != flow.AttemptRunning || got.Started.IsZero() {
		r.Errorf("%+v, want it running", got)
	}
	if got := r.attempts(flow.AttemptQuery{Run: run.ID, Task: "b"})[0]; got.State != flow.AttemptIntended {
		r.Errorf("an attempt of another node is %s, want it as it was", got.State)
	}
	end := fullEnding()
	bad := ended(a, end)
	bad.Node, bad.Task, bad.N = "elsewhere", "b", 9
	r.must(r.Report(r.ctx(), n, []flow.Attempt{bad}))
	a = ended(a, end)
	same(r, "the attempt at its end", r.attempts(flow.AttemptQuery{Run: run.ID, Task: "a"}), []flow.Attempt{a})
	r.must(r.Report(r.ctx(), n, []flow.Attempt{ended(a, flow.Ending{Reason: "again"})}))
	same(r, "after a second end", r.attempts(flow.AttemptQuery{Run: run.ID, Task: "a"}), []flow.Attempt{a})
}

// A run that is over is taken as long as a page of it was not sent.
func testUntold(r *rig) {
	run := r.run(1, nil)
	n := r.node("n1")
	h := r.take(n)
	run.State, run.Ended, run.Version, run.Pages = flow.RunFailed, at(9), 7, []flow.Page{{Group: "run", Kind: flow.KindFailure, At: at(9)}}
	r.apply(h, flow.Batch{Runs: []flow.Run{run}})
	if all, err := r.Take(r.ctx(), n, 10); err != nil || len(all) != 0 {
		r.Errorf("took %+v, %v, and holds it", all, err)
	}
	n = r.node("n1") // its next life
	all, err := r.Take(r.ctx(), n, 10)
	r.fatalIf(err != nil || len(all) != 1 || all[0].ID != run.ID || all[0].State != flow.RunFailed || len(all[0].Pages) != 1 || all[0].Owner != "n1", "took %+v, %v, want the run whose page was not sent", all, err)
	run.Pages[0].Sent, run.Version = true, 9
	r.apply(flow.Hold{Node: n.Name, Epoch: n.Epoch, Runs: map[string]int64{run.ID: all[0].Epoch}}, flow.Batch{Runs: []flow.Run{run}})
	n = r.node("n1")
	if all, err := r.Take(r.ctx(), n, 10); err != nil || len(all) != 0 {
		r.Errorf("took %+v, %v, want nothing: the page was sent", all, err)
	}
	if got, err := r.Run(r.ctx(), run.ID); err != nil || got.State != flow.RunFailed || !got.Pages[0].Sent {
		r.Errorf("%+v, %v", got, err)
	}
}
