package flowtest

import (
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/policy/task"
)

func effectTests() map[string]func(*rig) {
	return map[string]func(*rig){"Effects": testEffects, "EffectsFromAfar": testEffectsFromAfar, "EffectsAreForgotten": testForgetEffects}
}

func mail(a *flow.Attempt) { a.Effect = "mail 1" }

func testEffects(r *rig) {
	run, other := r.run(2, nil), r.run(1, nil)
	h := r.take(r.node("n1"))
	one := r.begin(h, run.ID, "a", mail)
	taken := func(want flow.Effect) {
		r.Helper()
		got := r.tryBegin(h, other.ID, "a", mail)
		r.errorIf(len(got.Begun) != 0 || r.state(other.ID, "a") != task.Pending, "begun %+v, want nothing: the side effect is taken", got.Begun)
		same(r, "what has it", got.Taken, []flow.Effect{want})
	}
	is := flow.Effect{Key: "mail 1", Token: one.Token, Run: run.ID, Task: "a"}
	taken(is)
	// It was never started: the effect is free for the next attempt.
	r.apply(h, flow.Batch{End: []flow.Attempt{ended(one, flow.Ending{Class: bezoar.SpawnFailed})}})
	two := r.begin(h, run.ID, "a", func(a *flow.Attempt) { mail(a); a.N = 2 })
	// It failed somewhere: nobody knows whether it happened.
	r.apply(h, flow.Batch{End: []flow.Attempt{ended(two, flow.Ending{Class: bezoar.Crash})}})
	is.Token = two.Token
	taken(is)
	// A person says that it may happen again.
	a := attempt(run.ID, "a", "n1")
	mail(&a)
	a.N = 3
	got := r.apply(h, flow.Batch{Free: []string{"mail 1"}, Begin: []flow.Attempt{a}})
	r.fatalIf(len(got.Begun) != 1, "%+v, want the third attempt", got)
	r.apply(h, flow.Batch{End: []flow.Attempt{ended(got.Begun[0], flow.Ending{Output: []byte("sent")})}})
	is.Token, is.Done, is.Output = got.Begun[0].Token, true, []byte("sent")
	taken(is)
	r.begin(h, run.ID, "b", func(a *flow.Attempt) { a.Effect = "mail 2" })
}

func testEffectsFromAfar(r *rig) {
	run := r.run(2, nil)
	planner, n := r.node("planner"), r.node("worker")
	h := r.take(planner)
	r.begin(h, run.ID, "a", func(a *flow.Attempt) { mail(a); a.Node = "" })
	all, err := r.Offers(r.ctx(), n, 1)
	r.must(err)
	r.must(r.Report(r.ctx(), n, []flow.Attempt{ended(all[0], flow.Ending{Output: []byte("sent")})}))
	got := r.tryBegin(h, run.ID, "b", mail)
	same(r, "what has it", got.Taken, []flow.Effect{{Key: "mail 1", Token: all[0].Token, Run: run.ID, Task: "a", Done: true, Output: []byte("sent")}})
}

// A side effect is known after its run was forgotten, and is forgotten itself when it
// is old.
func testForgetEffects(r *rig) {
	run, other := r.run(2, nil), r.run(1, nil)
	h := r.take(r.node("n1"))
	a := r.begin(h, run.ID, "a", mail)
	r.begin(h, other.ID, "a", func(a *flow.Attempt) { a.Effect = "mail 2" })
	forget := func(age time.Duration, limit, want int) {
		r.Helper()
		if n, err := r.ForgetEffects(r.ctx(), age, limit); err != nil || n != want {
			r.Errorf("forgot %d, %v, want %d", n, err, want)
		}
	}
	forget(-time.Hour, 10, 0) // both runs are there
	run.State, run.Ended, run.Version = flow.RunSuccess, time.Now().Add(-48*time.Hour), 5
	r.apply(h, flow.Batch{Runs: []flow.Run{run}, End: []flow.Attempt{ended(a, flow.Ending{Output: []byte("sent")})}})
	if n, err := r.Forget(r.ctx(), time.Hour, 10); err != nil || n != 1 {
		r.Fatalf("forgot %d runs, %v", n, err)
	}
	taken := func() int { return len(r.tryBegin(h, other.ID, "b", mail).Taken) }
	r.errorIf(taken() != 1, "a side effect is not known any more although only its run was forgotten")
	forget(time.Hour, 10, 0) // it was taken just now
	forget(-time.Hour, 0, 0)
	forget(-time.Hour, 10, 1)
	r.errorIf(taken() != 0, "a side effect that was forgotten is known")
}
