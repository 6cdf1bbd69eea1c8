package queuetest

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/queue"
)

func moveTests() map[string]func(*rig) {
	return map[string]func(*rig){
		"Move": testMove, "MoveElsewhere": testMoveElsewhere, "MoveRate": testMoveRate, "MoveFails": testMoveFails,
		"MoveRefused": testMoveRefused, "MoveCancelled": testMoveCancelled, "MoveFrozen": testMoveFrozen, "MoveFIFO": testMoveFIFO,
		"MoveHistory": testMoveHistory, "MovePurged": testMovePurged,
	}
}

// bury sends n messages to jobs and all of them to dead.
func (r *rig) bury(n int) {
	r.Helper()
	for i := range n {
		r.send("jobs", text(fmt.Sprint("m", i)))
	}
	for _, m := range r.receive("jobs", n) {
		r.must(r.Reject(r.ctx(), "jobs", m.Receipt, queue.Outcome{Class: bezoar.Bug}))
	}
	r.wantCounts("dead", int64(n), 0, 0)
}

func (r *rig) pair() {
	r.create("dead", nil)
	r.create("jobs", deadLetter("dead", 5))
}

// step makes the task's next step, when its rate allows it.
func (r *rig) step(id string) queue.Step {
	r.Helper()
	step, err := r.store.StepMove(r.ctx(), id, 100)
	r.must(err)
	return step
}

// finish lets a task go on until it is over, or has nothing left to move.
func (r *rig) finish(id string) queue.MoveTask {
	r.Helper()
	for range 1000 {
		step := r.step(id)
		if step.Task.State != queue.MoveRunning || step.Task.Drained {
			return step.Task
		}
		r.age(step.Next)
	}
	r.Fatal("the task does not end")
	return queue.MoveTask{}
}

func (r *rig) startMove(in queue.MoveInput) queue.MoveTask {
	r.Helper()
	t, err := r.StartMove(r.ctx(), in)
	r.must(err)
	return t
}

func testMove(r *rig) {
	r.pair()
	r.bury(3)
	r.age(time.Hour)
	before, err := r.Peek(r.ctx(), "dead", 0, 10)
	r.must(err)
	t := r.startMove(queue.MoveInput{Source: "dead"})
	r.errorIf(t.State != queue.MoveRunning || t.ToMove != 3 || t.Rate != queue.MaxMoveRate || t.Started.IsZero() || t.ID == "", "started %+v", t)
	r.wantEnd(t.ID, queue.MoveCompleted, 3)
	r.wantCounts("dead", 0, 0, 0)
	for i, m := range r.wantBodies("jobs", 10, "m0", "m1", "m2") {
		r.errorIf(m.ID == before[i].ID || m.Receives != 1 || m.Letter != nil || !m.Sent.After(before[i].Sent.Add(30*time.Minute)), "moved %+v", m)
	}
}

func testMoveElsewhere(r *rig) {
	r.pair()
	r.create("other", nil)
	r.bury(2)
	r.send("dead", text("sent there"))
	r.wantEnd(r.startMove(queue.MoveInput{Source: "dead", Destination: "other"}).ID, queue.MoveCompleted, 3)
	r.wantBodies("other", 10, "m0", "m1", "sent there")
}

func testMoveRate(r *rig) {
	r.pair()
	r.bury(5)
	t := r.startMove(queue.MoveInput{Source: "dead", Rate: 1})
	for i := range 3 {
		step := r.step(t.ID)
		r.fatalIf(step.Task.Moved != int64(i)+1 || step.Next < 900*time.Millisecond || step.Next > time.Second, "step %d: %+v", i+1, step)
		if early := r.step(t.ID); early.Task.Moved != int64(i)+1 || len(early.Queues) > 0 || early.Next <= 0 {
			r.Fatalf("a step too early: %+v", early)
		}
		r.age(time.Second)
	}
	r.wantCounts("dead", 2, 0, 0)
	r.wantCounts("jobs", 3, 0, 0)
}

func testMoveFails(r *rig) {
	r.pair()
	r.create("other", nil)
	r.bury(1)
	t := r.startMove(queue.MoveInput{Source: "dead", Destination: "other"})
	r.must(r.DeleteQueue(r.ctx(), "other"))
	if t := r.finish(t.ID); t.State != queue.MoveFailed || t.Failure == "" || t.Moved != 0 {
		r.Errorf("without its destination it ended as %+v", t)
	}
	r.wantCounts("dead", 1, 0, 0)
	r.must(r.Purge(r.ctx(), "dead"))
	r.send("dead", text("from nowhere"))
	if t := r.finish(r.startMove(queue.MoveInput{Source: "dead"}).ID); t.State != queue.MoveFailed || t.Failure == "" {
		r.Errorf("a message from nowhere: %+v", t)
	}
	r.wantCounts("dead", 1, 0, 0)
}

func testMoveRefused(r *rig) {
	r.pair()
	r.createFIFO("other.fifo", nil)
	r.bury(1)
	start := func(in queue.MoveInput) error { _, err := r.StartMove(r.ctx(), in); return err }
	r.wantErr(start(queue.MoveInput{Source: "jobs"}), queue.ErrNotDeadLetter)
	r.wantErr(start(queue.MoveInput{Source: "dead", Destination: "none"}), queue.ErrQueueNotFound)
	r.wantErr(start(queue.MoveInput{Source: "dead", Destination: "other.fifo"}), queue.ErrInvalid)
	r.wantErr(start(queue.MoveInput{Source: "dead", Destination: "dead"}), queue.ErrInvalid)
	r.wantErr(start(queue.MoveInput{Source: "dead", Rate: queue.MaxMoveRate + 1}), queue.ErrInvalid)
	t := r.startMove(queue.MoveInput{Source: "dead"})
	r.wantErr(start(queue.MoveInput{Source: "dead"}), queue.ErrMoveRunning)
	r.finish(t.ID)
	_, err := r.store.StepMove(r.ctx(), t.ID, 1)
	r.wantErr(err, queue.ErrMoveNotRunning)
	r.must(start(queue.MoveInput{Source: "dead"}))
}

func testMoveCancelled(r *rig) {
	r.pair()
	r.bury(3)
	t := r.startMove(queue.MoveInput{Source: "dead", Rate: 1})
	r.step(t.ID)
	cancelled, err := r.CancelMove(r.ctx(), t.ID)
	r.must(err)
	r.errorIf(cancelled.State != queue.MoveCancelled || cancelled.Moved != 1, "cancelled %+v", cancelled)
	_, err = r.CancelMove(r.ctx(), t.ID)
	r.wantErr(err, queue.ErrMoveNotRunning)
	r.wantCounts("dead", 2, 0, 0)
	r.wantCounts("jobs", 1, 0, 0)
}

// What came later and what is in flight stays.
func testMoveFrozen(r *rig) {
	r.pair()
	r.bury(3)
	held := r.wantBodies("dead", 1, "m0")[0]
	t := r.startMove(queue.MoveInput{Source: "dead", Destination: "jobs"})
	r.send("dead", text("later"))
	r.wantEnd(t.ID, queue.MoveCompleted, 2)
	r.must(r.Delete(r.ctx(), "dead", held.Receipt))
	r.wantBodies("dead", 10, "later")
}

func testMoveFIFO(r *rig) {
	r.createFIFO("dead.fifo", nil)
	r.createFIFO("jobs.fifo", deadLetter("dead.fifo", 1))
	for _, body := range []string{"a0", "a1"} {
		r.send("jobs.fifo", in("a", body))
	}
	for _, m := range r.receive("jobs.fifo", 2) {
		r.must(r.Reject(r.ctx(), "jobs.fifo", m.Receipt, queue.Outcome{Class: bezoar.Bug}))
	}
	r.finish(r.startMove(queue.MoveInput{Source: "dead.fifo"}).ID)
	for _, m := range r.wantBodies("jobs.fifo", 10, "a0", "a1") {
		r.errorIf(m.Group != "a" || m.Dedup != m.ID, "moved %+v", m)
	}
}

func testMoveHistory(r *rig) {
	r.pair()
	for range 12 {
		r.finish(r.startMove(queue.MoveInput{Source: "dead"}).ID)
	}
	last := r.startMove(queue.MoveInput{Source: "dead"})
	tasks, err := r.Moves(r.ctx(), "dead", 10)
	r.must(err)
	r.errorIf(len(tasks) != 10, "%d tasks are kept, want 10", len(tasks))
	r.same(last, tasks[0], "the newest is not the last one started")
	running, err := r.store.Moves(r.ctx(), queue.MoveQuery{Live: true})
	r.must(err)
	r.same([]queue.MoveTask{last}, running, "running are others")
}

func testMovePurged(r *rig) {
	r.pair()
	r.bury(3)
	t := r.startMove(queue.MoveInput{Source: "dead"})
	r.must(r.Purge(r.ctx(), "dead"))
	r.send("dead", text("later"))
	r.wantEnd(t.ID, queue.MoveCompleted, 0)
	r.wantBodies("dead", 10, "later")
}
