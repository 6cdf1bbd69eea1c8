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
		"Redrive": testRedrive, "RedriveElsewhere": testRedriveElsewhere, "RedriveAllQueues": testRedriveAll, "RedriveFrozen": testRedriveFrozen,
		"RedriveOutcomes": testOutcomes, "RedriveLost": testOutcomesLost, "Canary": testCanary, "CanaryHalts": testCanaryHalts, "CanarySmall": testCanarySmall,
		"Halt": testHalt, "PauseResume": testPause, "CancelRedrive": testCancelRedrive, "ChangeRate": testChangeRate, "ChangeMoveRefused": testChangeRefused,
		"Discard": testDiscard, "TrashEmpties": testTrashEmpties, "Restore": testRestore, "RestoreNowhere": testRestoreNowhere, "RestoreFIFO": testRestoreFIFO,
		"MoveQueries": testMoveQueries, "TriageHistory": testTriageHistory, "RedriveFails": testRedriveFails,
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

// discard moves letters to the trash, all without ids.
func (r *rig) discard(source string, ids ...string) {
	r.Helper()
	t := r.finish(r.redrive(queue.MoveTask{Kind: queue.MoveDiscard, Source: source, Selection: queue.Selection{IDs: ids}}).ID)
	if t.State != queue.MoveCompleted || t.Moved == 0 {
		r.Fatalf("the discard ended as %+v", t)
	}
}

func (r *rig) wantTask(id string, state queue.MoveState, moved, done, dead int64) queue.MoveTask {
	r.Helper()
	all, err := r.store.Moves(r.ctx(), queue.MoveQuery{ID: id})
	r.must(err)
	if len(all) != 1 {
		r.Fatalf("%d tasks have the id %s", len(all), id)
	}
	t := all[0]
	if t.State != state || t.Moved != moved || t.Done != done || t.Dead != dead {
		r.Fatalf("the task is %s (%s), %d moved, %d done, %d dead; want %s, %d, %d, %d", t.State, t.Failure, t.Moved, t.Done, t.Dead, state, moved, done, dead)
	}
	return t
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
	if t.State != queue.MoveRunning || t.ToMove != 2 || t.Selection.Last == 0 || t.Started.IsZero() || !t.Ended.IsZero() {
		r.Errorf("started %+v", t)
	}
	if stored := r.wantTask(t.ID, queue.MoveRunning, 0, 0, 0); cmp.Diff(t, stored) != "" {
		r.Errorf("stored differently: %s", cmp.Diff(t, stored))
	}
	step := r.step(t.ID)
	if step.Moved != 2 || !slices.Equal(step.Queues, []string{"jobs"}) {
		r.Errorf("the first step: %+v", step)
	}
	if t := r.finish2(t.ID); t.State != queue.MoveCompleted || t.Moved != 2 || t.Ended.IsZero() || t.Actor != "ann" {
		r.Errorf("ended as %+v", t)
	}
	d.wantDead("c")
	for _, m := range d.take("a", "b") {
		parent := string(m.Body)
		if l := m.Lineage; l == nil || *l != (queue.Lineage{Parent: parent, Root: parent, Times: 1, Task: t.ID}) {
			r.Errorf("%s descends as %+v", parent, l)
		}
		if m.ID == parent || m.Receives != 1 || m.Letter != nil || len(m.Attempts) > 0 || time.Since(m.Sent) > 30*time.Minute {
			r.Errorf("redriven as %+v", m)
		}
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
	if t := r.finish(t.ID); t.State != queue.MoveCompleted || t.ToMove != 3 || t.Moved != 3 {
		r.Errorf("ended as %+v", t)
	}
	d.take("a", "d")
	other.take("c")
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
	if t := r.finish(planned.ID); t.State != queue.MoveCompleted || t.ToMove != 2 || t.Moved != 1 {
		r.Errorf("ended as %+v", t)
	}
	d.done(d.take("b")...)
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
	r.wantTask(t.ID, queue.MoveCompleted, 4, 1, 0)
	d.change(queue.Change{Receipt: m[1].Receipt, Release: true, Outcome: &queue.Outcome{Class: bezoar.Bug}}) // not yet
	r.wantTask(t.ID, queue.MoveCompleted, 4, 1, 0)
	d.change(queue.Change{Receipt: m[2].Receipt, Release: true, Dead: true})
	r.wantTask(t.ID, queue.MoveCompleted, 4, 1, 1)
	d.done(m[2]) // late: nothing of it is left here
	dead := r.one("jobs-dlq")
	r.must(r.Delete(r.ctx(), "jobs-dlq", dead.Receipt)) // a letter's end is no outcome
	r.wantTask(t.ID, queue.MoveCompleted, 4, 1, 1)
	r.age(lease + time.Second)
	d.done(d.take(string(m[1].Body), string(m[3].Body))...)
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
	r.wantTask(t.ID, queue.MoveCompleted, 2, 0, 2)
	d.die(bezoar.Bug, "f", "c")
	t = r.redrive(queue.MoveTask{Source: "jobs-dlq"})
	r.finish(t.ID)
	r.must(r.Purge(r.ctx(), "jobs"))
	r.clean()
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
	if step := r.steps(t.ID); step.Task.State != queue.MoveCompleted || step.Task.Moved != 8 {
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
	if step.Task.State != queue.MoveHalted || step.Task.Moved != 2 || step.Task.Failure == "" || !step.Task.Ended.IsZero() {
		r.Fatalf("with half of the canary dead again: %+v", step.Task)
	}
	_, err := r.store.StepMove(r.ctx(), t.ID, 10)
	r.wantErr(err, queue.ErrMoveNotRunning)
	if live, err := r.store.Moves(r.ctx(), queue.MoveQuery{Live: true}); err != nil || len(live) != 1 {
		r.Errorf("live are %+v: %v", live, err)
	}
	r.changeMove(t.ID, queue.MoveChange{State: queue.MovePaused}) // it stays halted
	resumed := r.changeMove(t.ID, queue.MoveChange{State: queue.MoveRunning})
	if resumed.State != queue.MoveRunning || resumed.Forgiven != 1 || resumed.Failure != "" {
		r.Errorf("resumed %+v", resumed)
	}
	if t := r.finish(t.ID); t.State != queue.MoveCompleted || t.Moved != 8 {
		r.Errorf("in the end %+v", t)
	}
}

// A canary that is larger than all there is waits for nobody.
func testCanarySmall(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", "a", "b")
	held := r.wantBodies("jobs-dlq", 1, "a")
	t := r.redrive(queue.MoveTask{Source: "jobs-dlq", Canary: 5, HaltAbove: 0.2})
	if t := r.finish(t.ID); t.State != queue.MoveCompleted || t.Moved != 1 {
		r.Errorf("ended as %+v", t)
	}
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
	if t := r.finish(t.ID); t.State != queue.MoveCompleted || t.Moved != 4 {
		r.Errorf("ended as %+v", t)
	}
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

func testChangeRate(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", names("m", 40)...)
	t := r.redrive(queue.MoveTask{Source: "jobs-dlq", Rate: 1})
	r.age(r.step(t.ID).Next)
	if c := r.changeMove(t.ID, queue.MoveChange{Rate: 300}); c.State != queue.MoveRunning || c.Rate != 300 {
		r.Errorf("changed %+v", c)
	}
	if step := r.step(t.ID); step.Moved != 30 {
		r.Errorf("at the new rate a step moves %d, want 30", step.Moved)
	}
	r.finish2(t.ID)
}

func testChangeRefused(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", "a")
	t := r.redrive(queue.MoveTask{Source: "jobs-dlq", Rate: 1})
	for _, c := range []queue.MoveChange{{State: queue.MoveCompleted}, {State: "odd"}, {Rate: -1}, {Rate: queue.MaxTriageRate + 1}} {
		_, err := r.store.ChangeMove(r.ctx(), t.ID, c)
		r.wantErr(err, queue.ErrInvalid)
	}
	r.wantTask(t.ID, queue.MoveRunning, 0, 0, 0)
	_, err := r.store.ChangeMove(r.ctx(), "none", queue.MoveChange{Rate: 1})
	r.wantErr(err, queue.ErrMoveNotFound)
	_, err = r.store.StepMove(r.ctx(), "none", 1)
	r.wantErr(err, queue.ErrMoveNotFound)
}

func testDiscard(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", "a", "b")
	before, err := r.store.Letter(r.ctx(), "a")
	r.must(err)
	r.discard("jobs-dlq", "a")
	d.wantDead("b")
	l, err := r.store.Letter(r.ctx(), "a")
	r.must(err)
	x := l.Letter.Discarded
	if l.Queue != queue.TrashQueue || x == nil || x.From != "jobs-dlq" || x.Into != "" || time.Since(x.At) > time.Minute {
		r.Fatalf("in %s, discarded as %+v", l.Queue, x)
	}
	l.Letter.Discarded = nil
	if diff := cmp.Diff(before.Letter, l.Letter); diff != "" || string(l.Body) != "a" || !l.Sent.Equal(before.Sent) {
		r.Errorf("the letter changed: %s", diff)
	}
	if g := r.groups(queue.Selection{}, 10); len(g) != 1 || g[0].Count != 1 {
		r.Errorf("the groups are %+v", g)
	}
	if g := r.groups(queue.Selection{Queue: queue.TrashQueue}, 10); len(g) != 1 || g[0].Count != 1 || g[0].Queue != queue.TrashQueue {
		r.Errorf("those of the trash are %+v", g)
	}
}

func testTrashEmpties(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", "a", "b")
	r.discard("jobs-dlq", "a")
	r.age(queue.TrashFor - time.Hour)
	r.discard("jobs-dlq", "b")
	r.clean()
	if ids, _ := r.letters(queue.Selection{Queue: queue.TrashQueue}, 0, 10); len(ids) != 2 {
		r.Errorf("in the trash are %v, want both", ids)
	}
	r.age(2 * time.Hour)
	r.clean()
	if ids, _ := r.letters(queue.Selection{Queue: queue.TrashQueue}, 0, 10); !slices.Equal(ids, []string{"b"}) {
		r.Errorf("in the trash are %v, want b", ids)
	}
	_, err := r.store.Letter(r.ctx(), "a")
	r.wantErr(err, queue.ErrLetterNotFound)
}

func testRestore(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", "a", "b")
	r.discard("jobs-dlq")
	r.age(time.Hour)
	t := r.redrive(queue.MoveTask{Kind: queue.MoveRestore, Source: queue.TrashQueue, Selection: queue.Selection{IDs: []string{"b"}}})
	if t := r.finish(t.ID); t.State != queue.MoveCompleted || t.Moved != 1 || t.ToMove != 1 {
		r.Errorf("ended as %+v", t)
	}
	l, err := r.store.Letter(r.ctx(), "b")
	r.must(err)
	if l.Queue != "jobs-dlq" || l.Letter.Discarded != nil || l.Letter.Reason != "why b" {
		r.Errorf("restored to %s as %+v", l.Queue, l.Letter)
	}
	r.finish(r.redrive(queue.MoveTask{Source: "jobs-dlq"}).ID)
	d.take("b")
}

func testRestoreNowhere(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", "a")
	r.discard("jobs-dlq")
	r.must(r.DeleteQueue(r.ctx(), "jobs-dlq"))
	t := r.finish(r.redrive(queue.MoveTask{Kind: queue.MoveRestore, Source: queue.TrashQueue}).ID)
	if t.State != queue.MoveFailed || !strings.Contains(t.Failure, "jobs-dlq") || t.Moved != 0 || t.Ended.IsZero() {
		r.Errorf("without its queue it ended as %+v", t)
	}
	if l, err := r.store.Letter(r.ctx(), "a"); err != nil || l.Queue != queue.TrashQueue {
		r.Errorf("the letter is in %q: %v", l.Queue, err)
	}
}

func testRestoreFIFO(r *rig) {
	d := r.at("jobs.fifo", fifo)
	d.send(queue.Entry{SendInput: queue.SendInput{Body: []byte("a"), Group: "g"}})
	d.change(queue.Change{Receipt: d.only().Receipt, Release: true, Dead: true})
	r.discard("jobs-dlq.fifo")
	if t := r.finish(r.redrive(queue.MoveTask{Kind: queue.MoveRestore, Source: queue.TrashQueue}).ID); t.State != queue.MoveCompleted {
		r.Errorf("ended as %+v", t)
	}
	if m := r.one("jobs-dlq.fifo"); m.Group != "g" || m.Dedup != m.ID || m.Letter == nil {
		r.Errorf("restored as %+v", m)
	}
}

func testMoveQueries(r *rig) {
	d := r.at("jobs", nil)
	r.at("other", nil).die(bezoar.Bug, "f", "x")
	d.die(bezoar.Bug, "f", "a", "b")
	over := r.redrive(queue.MoveTask{Source: "other-dlq"})
	r.finish(over.ID)
	live := r.redrive(queue.MoveTask{Source: "jobs-dlq", Rate: 1})
	sqs, err := r.store.StartMove(r.ctx(), queue.MoveTask{ID: "sqs", Source: "jobs-dlq", Rate: 1, HaltAbove: 1})
	r.must(err)
	for _, c := range []struct {
		q    queue.MoveQuery
		want []string
	}{
		{queue.MoveQuery{}, []string{sqs.ID, live.ID, over.ID}},
		{queue.MoveQuery{Limit: 1}, []string{sqs.ID}},
		{queue.MoveQuery{Live: true}, []string{sqs.ID, live.ID}},
		{queue.MoveQuery{Triage: true}, []string{live.ID, over.ID}},
		{queue.MoveQuery{Source: "jobs-dlq", Triage: true}, []string{live.ID}},
		{queue.MoveQuery{ID: over.ID}, []string{over.ID}},
		{queue.MoveQuery{ID: "none"}, nil},
	} {
		found, err := r.store.Moves(r.ctx(), c.q)
		r.must(err)
		var got []string
		for _, t := range found {
			got = append(got, t.ID)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			r.Errorf("%+v: %s", c.q, diff)
		}
	}
}

// Tasks of one kind do not displace those of the other.
func testTriageHistory(r *rig) {
	r.pair()
	first := r.redrive(queue.MoveTask{Source: "dead"})
	r.finish(first.ID)
	sqs := r.startMove(queue.MoveInput{Source: "dead"})
	for range 15 {
		r.finish(r.redrive(queue.MoveTask{Source: "dead"}).ID)
	}
	r.finish(sqs.ID)
	for range 12 {
		r.finish(r.startMove(queue.MoveInput{Source: "dead"}).ID)
	}
	r.wantTask(first.ID, queue.MoveCompleted, 0, 0, 0)
	all, err := r.store.Moves(r.ctx(), queue.MoveQuery{Source: "dead"})
	r.must(err)
	if len(all) != 16+10 {
		r.Errorf("%d tasks are kept, want 16 and 10", len(all))
	}
}

func testRedriveFails(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", "a")
	r.must(r.DeleteQueue(r.ctx(), "jobs"))
	t := r.finish(r.redrive(queue.MoveTask{Source: "jobs-dlq"}).ID)
	if t.State != queue.MoveFailed || !strings.Contains(t.Failure, `"jobs"`) || t.Moved != 0 {
		r.Errorf("without the origin it ended as %+v", t)
	}
	d.wantDead("a")
	_, err := r.store.StartMove(r.ctx(), queue.MoveTask{ID: "x", Kind: queue.MoveRedrive, Source: "nowhere", Rate: 1})
	r.wantErr(err, queue.ErrQueueNotFound)
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
	first := d.take("copy1")
	d.take()
	mark := r.mark("k", 0, `1`)

	r = rigOver(t, h, h.Reopen(t, r.store))
	d = &desk{r, d.q, d.p}
	d.take() // the copies still wait
	d.put(1, "pill2")
	d.take() // and the convict is still refused
	d.wantDead("m2", "m3", "m4", "m5", "pill1", "pill2")
	d.done(canary...)
	if t := r.finish(task.ID); t.State != queue.MoveCompleted || t.Moved != 6 || t.Done != 2 || t.ToMove != 6 {
		r.Errorf("the redrive went on to %+v", t)
	}
	d.done(first...)
	d.take("copy2", "copy3", "m2", "m3", "m4", "m5")
	if m := r.wantMarks("", "k")[0]; m.Version != mark.Version {
		r.Errorf("the mark is %+v", m)
	}
}
