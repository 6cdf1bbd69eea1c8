package queuetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/queue"
)

func triageTests() map[string]func(*rig) {
	return map[string]func(*rig){
		"Redrive": testRedrive, "RedriveInVain": testRedriveInVain, "RedriveElsewhere": testRedriveElsewhere, "RedriveAllQueues": testRedriveAll, "RedriveFrozen": testRedriveFrozen,
		"RedriveOutcomes": testOutcomes, "RedriveLost": testOutcomesLost, "Canary": testCanary, "CanaryHalts": testCanaryHalts,
		"CanarySmall": testCanarySmall, "Halt": testHalt, "PauseResume": testPause, "CancelRedrive": testCancelRedrive,
	}
}

// redrive starts a task of triage, a redrive unless it says otherwise.
func (r *rig) redrive(t queue.MoveTask) queue.MoveTask {
	r.Helper()
	if t.Kind == queue.MoveSQS {
		t.Kind = queue.MoveRedrive
	}
	if t.Rate == 0 {
		t.Rate = queue.MaxTriageRate
	}
	if t.HaltAbove == 0 {
		t.HaltAbove = 1
	}
	r.tasks++
	t.ID = fmt.Sprint("task-", r.tasks)
	t, err := r.store.StartMove(r.ctx(), t)
	r.must(err)
	return t
}

func (r *rig) wantTask(id string, state queue.MoveState, moved, done, dead int64) queue.MoveTask {
	r.Helper()
	all, err := r.store.Moves(r.ctx(), queue.MoveQuery{ID: id})
	r.must(err)
	r.fatalIf(len(all) != 1, "%d tasks have the id %s", len(all), id)
	t := all[0]
	r.fatalIf(t.State != state || t.Moved != moved || t.Done != done || t.Dead != dead, "the task is %s (%s), %d moved, %d done, %d dead; want %s, %d, %d, %d", t.State, t.Failure, t.Moved, t.Done, t.Dead, state, moved, done, dead)
	return t
}

// wantEnd finishes a task that is over then.
func (r *rig) wantEnd(id string, state queue.MoveState, moved int64) {
	r.Helper()
	t := r.finish(id)
	r.errorIf(t.State != state || t.Moved != moved, "ended as %+v, want it %s, and %d moved", t, state, moved)
}

// wantDrained finishes a task that moves no more.
func (r *rig) wantDrained(id string, moved int64) {
	r.Helper()
	t := r.finish(id)
	r.errorIf(!t.Drained || t.Moved != moved, "moved %+v, want all %d", t, moved)
}

func (r *rig) changeMove(id string, c queue.MoveChange) queue.MoveTask {
	r.Helper()
	t, err := r.store.ChangeMove(r.ctx(), id, c)
	r.must(err)
	return t
}

func names(prefix string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint(prefix, i))
	}
	return all
}

func testRedrive(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", "a", "b")
	d.die(bezoar.Bug, "g", "c")
	r.age(time.Hour)
	t := r.redrive(queue.MoveTask{
		Source: "jobs-dlq", Selection: queue.Selection{Queue: "jobs-dlq", Groups: []string{"bug:f"}},
		Actor: "ann", Reason: "fixed", Canary: 0, HaltAbove: 0.5,
	})
	r.errorIf(t.State != queue.MoveRunning || t.ToMove != 2 || t.Selection.Last == 0 || t.Started.IsZero() || !t.Ended.IsZero(), "started %+v", t)
	if stored := r.wantTask(t.ID, queue.MoveRunning, 0, 0, 0); cmp.Diff(t, stored) != "" {
		r.Errorf("stored differently: %s", cmp.Diff(t, stored))
	}
	step := r.step(t.ID)
	r.errorIf(step.Moved != 2 || !slices.Equal(step.Queues, []string{"jobs"}), "the first step: %+v", step)
	if t := r.finish2(t.ID); t.State != queue.MoveRunning || !t.Drained || t.Moved != 2 || !t.Ended.IsZero() || t.Waits() == "" {
		r.Errorf("while what it sent has not ended: %+v", t)
	}
	d.wantDead("c")
	sent := d.take("a", "b")
	for _, m := range sent {
		parent := string(m.Body)
		if l := m.Lineage; !descends(l, queue.Lineage{Parent: parent, Root: parent, Times: 1, Task: t.ID}, 1) {
			r.Errorf("%s descends as %+v", parent, l)
		}
		r.errorIf(m.ID == parent || m.Receives != 1 || m.Letter != nil || len(m.Attempts) > 0 || time.Since(m.Sent) > 30*time.Minute, "redriven as %+v", m)
	}
	d.done(sent...)
	if t := r.finish2(t.ID); t.State != queue.MoveCompleted || t.Ended.IsZero() || t.Actor != "ann" || t.Done != 2 || t.Waits() != "" {
		r.Errorf("ended as %+v", t)
	}
}

// A redrive of which too much is dead again in the end has failed.
func testRedriveInVain(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", "a", "b")
	t := r.redrive(queue.MoveTask{Source: "jobs-dlq", HaltAbove: 0.5})
	r.finish(t.ID)
	m := d.take("a", "b")
	d.change(queue.Change{Receipt: m[0].Receipt, Release: true, Dead: true})
	if t := r.finish(t.ID); t.State != queue.MoveRunning || t.Pending() != 1 {
		r.Errorf("while one has not ended: %+v", t)
	}
	d.change(queue.Change{Receipt: m[1].Receipt, Release: true, Dead: true})
	if t := r.finish(t.ID); t.State != queue.MoveFailed || t.Ended.IsZero() || !strings.Contains(t.Failure, "2 of the 2") {
		r.Errorf("ended as %+v", t)
	}
}

// finish2 is finish for a task that may be over.
func (r *rig) finish2(id string) queue.MoveTask {
	r.Helper()
	all, err := r.store.Moves(r.ctx(), queue.MoveQuery{ID: id})
	r.must(err)
	if all[0].State != queue.MoveRunning {
		return all[0]
	}
	return r.finish(id)
}

func testRedriveElsewhere(r *rig) {
	d, other := r.at("jobs", nil), r.at("other", nil)
	d.die(bezoar.Bug, "f", "a")
	r.finish(r.redrive(queue.MoveTask{Source: "jobs-dlq", Destination: "other"}).ID)
	m := other.take("a")[0]
	other.change(queue.Change{Receipt: m.Receipt, Release: true, Dead: true, Outcome: &queue.Outcome{Class: bezoar.Bug}})
	r.finish(r.redrive(queue.MoveTask{Source: "other-dlq"}).ID)
	if l := other.take("a")[0].Lineage; l.Root != "a" || l.Parent != m.ID || l.Times != 2 {
		r.Errorf("descends as %+v", l)
	}
}

func testRedriveAll(r *rig) {
	d, other := r.at("jobs", nil), r.at("other", nil)
	d.die(bezoar.Bug, "f", "a", "b")
	other.die(bezoar.Bug, "f", "c")
	d.die(bezoar.Bug, "f", "d")
	r.discard("jobs-dlq", "b")
	t := r.redrive(queue.MoveTask{Selection: queue.Selection{Groups: []string{"bug:f"}}})
	if t := r.finish(t.ID); !t.Drained || t.ToMove != 3 || t.Moved != 3 {
		r.Errorf("moved %+v", t)
	}
	d.done(d.take("a", "d")...)
	other.done(other.take("c")...)
	if t := r.finish(t.ID); t.State != queue.MoveCompleted || t.Done != 3 {
		r.Errorf("ended as %+v", t)
	}
	if ids, _ := r.letters(queue.Selection{Queue: queue.TrashQueue}, 0, 10); !slices.Equal(ids, []string{"b"}) {
		r.Errorf("in the trash are %v", ids)
	}
}

// What died later, and what is in flight, stays.
func testRedriveFrozen(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", "a", "b", "c")
	_, last, err := r.store.CountLetters(r.ctx(), queue.Selection{IDs: []string{"a", "b"}})
	r.must(err)
	held := r.wantBodies("jobs-dlq", 1, "a")[0]
	planned := r.redrive(queue.MoveTask{Source: "jobs-dlq", Selection: queue.Selection{Last: last}})
	d.die(bezoar.Bug, "f", "later")
	if t := r.finish(planned.ID); !t.Drained || t.ToMove != 2 || t.Moved != 1 {
		r.Errorf("moved %+v", t)
	}
	d.done(d.take("b")...)
	if t := r.finish(planned.ID); t.State != queue.MoveCompleted {
		r.Errorf("ended as %+v", t)
	}
	d.wantDead("a", "c", "later")
	r.must(r.ChangeVisibility(r.ctx(), "jobs-dlq", held.Receipt, 0))
}

func testOutcomes(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", names("m", 4)...)
	t := r.redrive(queue.MoveTask{Source: "jobs-dlq"})
	r.finish(t.ID)
	m := d.take(names("m", 4)...)
	d.done(m[0])
	r.wantTask(t.ID, queue.MoveRunning, 4, 1, 0)
	d.change(queue.Change{Receipt: m[1].Receipt, Release: true, Outcome: &queue.Outcome{Class: bezoar.Bug}}) // not yet
	r.wantTask(t.ID, queue.MoveRunning, 4, 1, 0)
	d.change(queue.Change{Receipt: m[2].Receipt, Release: true, Dead: true})
	r.wantTask(t.ID, queue.MoveRunning, 4, 1, 1)
	d.done(m[2]) // late: nothing of it is left here
	dead := r.one("jobs-dlq")
	r.must(r.Delete(r.ctx(), "jobs-dlq", dead.Receipt)) // a letter's end is no outcome
	r.wantTask(t.ID, queue.MoveRunning, 4, 1, 1)
	r.age(lease + time.Second)
	d.done(d.take(string(m[1].Body), string(m[3].Body))...)
	r.finish(t.ID)
	r.wantTask(t.ID, queue.MoveCompleted, 4, 3, 1)
}

// What nobody was done with counts as dead, also if nothing is left of it.
func testOutcomesLost(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", "a", "b")
	t := r.redrive(queue.MoveTask{Source: "jobs-dlq"})
	r.finish(t.ID)
	r.age(time.Hour)
	if n := d.expire(time.Hour); n != 2 {
		r.Errorf("%d expired, want 2", n)
	}
	r.finish(t.ID)
	r.wantTask(t.ID, queue.MoveCompleted, 2, 0, 2)
	d.die(bezoar.Bug, "f", "c")
	t = r.redrive(queue.MoveTask{Source: "jobs-dlq"})
	r.finish(t.ID)
	r.must(r.Purge(r.ctx(), "jobs"))
	r.clean()
	r.finish(t.ID)
	r.wantTask(t.ID, queue.MoveCompleted, 1, 0, 1)
}

// steps lets a task go on for some seconds.
func (r *rig) steps(id string) queue.Step {
	r.Helper()
	var step queue.Step
	for range 20 {
		if step = r.step(id); step.Task.State != queue.MoveRunning {
			return step
		}
		r.age(max(step.Next, 10*time.Millisecond))
	}
	return step
}

func testCanary(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", names("m", 8)...)
	t := r.redrive(queue.MoveTask{Source: "jobs-dlq", Canary: 3, HaltAbove: 0.4})
	if step := r.steps(t.ID); step.Task.Moved != 3 || step.Next <= 0 || step.Next > 5*time.Second {
		r.Fatalf("the canary: %+v", step)
	}
	m := d.take(names("m", 3)...)
	d.done(m[0], m[1])
	r.steps(t.ID)
	r.wantTask(t.ID, queue.MoveRunning, 3, 2, 0)
	d.change(queue.Change{Receipt: m[2].Receipt, Release: true, Dead: true})
	if step := r.steps(t.ID); !step.Task.Drained || step.Task.Moved != 8 {
		r.Errorf("after the canary: %+v", step.Task)
	}
	if n := len(d.claim(10).Messages); n != 5 {
		r.Errorf("%d messages were received, want 5", n)
	}
}

func testCanaryHalts(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", names("m", 8)...)
	t := r.redrive(queue.MoveTask{Source: "jobs-dlq", Canary: 2, HaltAbove: 0.4})
	r.steps(t.ID)
	m := d.take(names("m", 2)...)
	d.change(queue.Change{Receipt: m[0].Receipt, Release: true, Dead: true})
	d.done(m[1])
	step := r.steps(t.ID)
	r.fatalIf(step.Task.State != queue.MoveHalted || step.Task.Moved != 2 || step.Task.Failure == "" || !step.Task.Ended.IsZero(), "with half of the canary dead again: %+v", step.Task)
	_, err := r.store.StepMove(r.ctx(), t.ID, 10)
	r.wantErr(err, queue.ErrMoveNotRunning)
	if live, err := r.store.Moves(r.ctx(), queue.MoveQuery{Live: true}); err != nil || len(live) != 1 {
		r.Errorf("live are %+v: %v", live, err)
	}
	r.changeMove(t.ID, queue.MoveChange{State: queue.MovePaused}) // it stays halted
	resumed := r.changeMove(t.ID, queue.MoveChange{State: queue.MoveRunning})
	r.errorIf(resumed.State != queue.MoveRunning || resumed.Forgiven != 1 || resumed.Failure != "", "resumed %+v", resumed)
	r.wantDrained(t.ID, 8)
}

// A canary that is larger than all there is waits for nobody.
func testCanarySmall(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", "a", "b")
	held := r.wantBodies("jobs-dlq", 1, "a")
	t := r.redrive(queue.MoveTask{Source: "jobs-dlq", Canary: 5, HaltAbove: 0.2})
	r.wantDrained(t.ID, 1)
	d.take("b")
	r.must(r.Delete(r.ctx(), "jobs-dlq", held[0].Receipt))
}

func testHalt(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", names("m", 30)...)
	t := r.redrive(queue.MoveTask{Source: "jobs-dlq", Rate: 10, HaltAbove: 0.5}) // one by one
	for range 4 {
		r.age(r.step(t.ID).Next)
		d.change(queue.Change{Receipt: d.only().Receipt, Release: true, Dead: true})
	}
	r.wantTask(t.ID, queue.MoveRunning, 4, 0, 4) // too few to judge
	r.age(r.step(t.ID).Next)
	d.change(queue.Change{Receipt: d.only().Receipt, Release: true, Dead: true})
	r.step(t.ID)
	r.wantTask(t.ID, queue.MoveHalted, 5, 0, 5)
	r.changeMove(t.ID, queue.MoveChange{State: queue.MoveRunning})
	for range 5 { // all well now
		r.age(r.step(t.ID).Next)
		d.done(d.only())
	}
	r.wantTask(t.ID, queue.MoveRunning, 10, 5, 5)
}

func testPause(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", names("m", 4)...)
	t := r.redrive(queue.MoveTask{Source: "jobs-dlq", Rate: 1})
	r.step(t.ID)
	if p := r.changeMove(t.ID, queue.MoveChange{State: queue.MovePaused}); p.State != queue.MovePaused || p.Moved != 1 || !p.Ended.IsZero() {
		r.Errorf("paused %+v", p)
	}
	r.age(time.Hour)
	_, err := r.store.StepMove(r.ctx(), t.ID, 10)
	r.wantErr(err, queue.ErrMoveNotRunning)
	r.wantTask(t.ID, queue.MovePaused, 1, 0, 0)
	r.changeMove(t.ID, queue.MoveChange{State: queue.MoveRunning})
	r.wantDrained(t.ID, 4)
	d.take(names("m", 4)...)
}

func testCancelRedrive(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", names("m", 4)...)
	t := r.redrive(queue.MoveTask{Source: "jobs-dlq", Rate: 1})
	r.step(t.ID)
	r.changeMove(t.ID, queue.MoveChange{State: queue.MovePaused})
	if c := r.changeMove(t.ID, queue.MoveChange{State: queue.MoveCancelled}); c.State != queue.MoveCancelled || c.Ended.IsZero() {
		r.Errorf("cancelled %+v", c)
	}
	_, err := r.store.ChangeMove(r.ctx(), t.ID, queue.MoveChange{State: queue.MoveRunning})
	r.wantErr(err, queue.ErrMoveNotRunning)
	r.age(time.Minute)
	d.done(d.take("m0")...) // it still counts
	r.wantTask(t.ID, queue.MoveCancelled, 1, 1, 0)
	d.wantDead("m1", "m2", "m3")
}

// What triage and poison were about goes on after a restart.
func testReopenWork(t *testing.T, h Harness) {
	r := newRig(t, h)
	d := r.at("jobs", nil)
	d.convict(1)
	d.die(bezoar.Bug, "f", names("m", 6)...)
	task := r.redrive(queue.MoveTask{Source: "jobs-dlq", Canary: 2, HaltAbove: 0.5, Selection: queue.Selection{Groups: []string{"bug:f"}}})
	r.steps(task.ID)
	canary := d.take("m0", "m1")
	d.put(2, "copy1", "copy2", "copy3")
	first := d.one("copy1")
	d.take()
	mark := r.mark("k", 0, `1`)

	r = rigOver(t, h, h.Reopen(t, r.store))
	d = &storeClient{rig: r, q: d.q, p: d.p}
	d.take() // the copies still wait
	d.put(1, "pill2")
	d.take() // and the convict is still refused
	d.wantDead("m2", "m3", "m4", "m5", "pill1", "pill2")
	d.done(canary...)
	if t := r.finish(task.ID); !t.Drained || t.Moved != 6 || t.Done != 2 || t.ToMove != 6 {
		r.Errorf("the redrive went on to %+v", t)
	}
	d.done(first...)
	d.take("copy2", "copy3", "m2", "m3", "m4", "m5")
	if m := r.wantMarks("", "k")[0]; m.Version != mark.Version {
		r.Errorf("the mark is %+v", m)
	}
}
