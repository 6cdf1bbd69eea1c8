package flowtest

import (
	"github.com/bezoar-dev/bezoar/flow"
)

func orderTests() map[string]func(*rig) {
	return map[string]func(*rig){"Orders": testOrders, "OrdersOfRunsThatAreOver": testOrdersOver}
}

func testOrders(r *rig) {
	run, other := r.run(1, nil), r.run(1, nil)
	r.wantErr(r.Order(r.ctx(), flow.Order{Run: "nobody", Verb: flow.VerbSkip}), flow.ErrNotFound)
	one := flow.Order{
		Run: run.ID, Verb: flow.VerbRetry, Task: "a", Index: -1, Group: "g", Set: map[string]string{"day": "2"}, Who: "me", Reason: "fixed",
	}
	r.must(r.Order(r.ctx(), one))
	r.must(r.Order(r.ctx(), flow.Order{Run: other.ID, Verb: flow.VerbSkip, Task: "a"}))
	n := r.node("n1")
	if all, err := r.Orders(r.ctx(), "n1"); err != nil || len(all) != 0 {
		r.Errorf("orders %+v, %v of a node that holds nothing", all, err)
	}
	h := r.take(n)
	all, err := r.Orders(r.ctx(), "n1")
	r.must(err)
	r.fatalIf(len(all) != 2 || all[0].ID == 0 || all[1].ID <= all[0].ID || all[0].At.IsZero(), "orders %+v, want two with growing ids and a time", all)
	one.ID, one.At = all[0].ID, all[0].At
	same(r, "the first order", all[0], one)
	r.apply(h, flow.Batch{Done: []int64{one.ID}})
	all, err = r.Orders(r.ctx(), "n1")
	r.must(err)
	r.errorIf(len(all) != 1 || all[0].Run != other.ID, "orders %+v, want the other one", all)
}

func testOrdersOver(r *rig) {
	n := r.node("n1")
	for _, tc := range []struct {
		state flow.RunState
		verb  flow.Verb
		want  error
	}{
		{flow.RunSuccess, flow.VerbRetry, flow.ErrOver},
		{flow.RunFailed, flow.VerbSkip, flow.ErrOver},
		{flow.RunCancelled, flow.VerbCancel, flow.ErrOver},
		{flow.RunFailed, flow.VerbRetry, nil},
		{flow.RunCancelled, flow.VerbRetry, nil},
		{flow.RunHeld, flow.VerbRetry, nil},
	} {
		run := r.run(1, nil)
		h := r.take(n)
		run.State, run.Ended, run.Version = tc.state, at(9), 5
		r.apply(h, flow.Batch{Runs: []flow.Run{run}})
		r.wantErr(r.Order(r.ctx(), flow.Order{Run: run.ID, Verb: tc.verb}), tc.want)
		got, err := r.Run(r.ctx(), run.ID)
		r.must(err)
		switch again := r.take(n); {
		case tc.want != nil || tc.state == flow.RunHeld:
			r.errorIf(got.State != tc.state || len(again.Runs) != 0, "%s a run that is %s: it is %s now, and was taken: %v", tc.verb, tc.state, got.State, again.Runs)
		case got.State != flow.RunRunning || !got.Ended.IsZero() || got.Version <= 5 || again.Runs[run.ID] <= h.Runs[run.ID]:
			r.Errorf("%s a run that was %s: %+v, taken %v, want it running, for whoever takes it", tc.verb, tc.state, got, again.Runs)
		}
	}
}
