package queuetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
	"github.com/bezoar-dev/bezoar/queue"
)

func waitTests() map[string]func(*rig) {
	return map[string]func(*rig){
		"WaitInVain": testWaitInVain, "WokenBySend": testWokenBySend, "WokenByTime": testWokenByTime,
		"WokenByVisibilityZero": testWokenByZero, "WokenByDeath": testWokenByDeath, "WokenByUnlock": testWokenByUnlock,
		"WokenByMove": testWokenByMove, "ManyWait": testManyWait, "WaitCancelled": testWaitCancelled, "WaitDeleted": testWaitDeleted,
	}
}

// wait receives in the background, for as long as a wait may be.
func (r *rig) wait(name string, n int) (received func() []queue.Message) {
	out := make(chan []queue.Message, 1)
	go func() {
		m, err := r.Receive(r.ctx(), name, queue.ReceiveInput{Max: n, Wait: new(queue.MaxWait)})
		if err != nil {
			r.Error(err)
		}
		out <- m
	}()
	return func() []queue.Message { return <-out }
}

func (r *rig) wantWoken(began time.Time, m []queue.Message, want string) {
	r.Helper()
	r.fatalIf(len(m) != 1 || string(m[0].Body) != want, "the one who waited got %v, want %s", bodies(m), want)
	if waited := time.Since(began); waited > queue.MaxWait/2 {
		r.Fatalf("it waited for %v", waited)
	}
}

func testWaitInVain(r *rig) {
	r.create("jobs", func(s *queue.Settings) { s.Wait = 30 * time.Millisecond })
	began := time.Now()
	r.none("jobs")
	if waited := time.Since(began); waited < 30*time.Millisecond {
		r.Errorf("waited for %v, want the queue's 30 ms", waited)
	}
}

func testWokenBySend(r *rig) {
	r.create("jobs", nil)
	began, received := time.Now(), r.wait("jobs", 10)
	r.send("jobs", text("a"))
	r.wantWoken(began, received(), "a") // and does not wait for nine more
}

func testWokenByTime(r *rig) {
	r.create("jobs", nil)
	began, received := time.Now(), r.wait("jobs", 10)
	r.send("jobs", queue.SendInput{Body: []byte("late"), Delay: new(50 * time.Millisecond)})
	m := received()
	r.wantWoken(began, m, "late")
	r.must(r.ChangeVisibility(r.ctx(), "jobs", m[0].Receipt, 50*time.Millisecond))
	began, received = time.Now(), r.wait("jobs", 10)
	r.wantWoken(began, received(), "late") // its lease ended
}

func testWokenByZero(r *rig) {
	r.create("jobs", nil)
	r.send("jobs", text("a"))
	for range 2 {
		m := r.one("jobs")
		began, received := time.Now(), r.wait("jobs", 1)
		r.must(r.ChangeVisibility(r.ctx(), "jobs", m.Receipt, 0))
		again := received()
		r.wantWoken(began, again, "a")
		r.must(r.Release(r.ctx(), "jobs", queue.ReleaseInput{Receipt: again[0].Receipt}))
	}
}

func testWokenByDeath(r *rig) {
	r.create("dead", nil)
	r.create("jobs", deadLetter("dead", 1))
	defer r.run()()
	began, received := time.Now(), r.wait("dead", 1)
	r.send("jobs", text("expired"))
	r.must(r.ChangeVisibility(r.ctx(), "jobs", r.one("jobs").Receipt, 50*time.Millisecond))
	r.wantWoken(began, received(), "expired")
	began, received = time.Now(), r.wait("dead", 1)
	r.send("jobs", text("rejected"))
	r.must(r.Reject(r.ctx(), "jobs", r.one("jobs").Receipt, queue.Outcome{Class: bezoar.Bug}))
	r.wantWoken(began, received(), "rejected")
}

func testWokenByUnlock(r *rig) {
	r.createFIFO("jobs.fifo", nil)
	r.send("jobs.fifo", in("a", "a0"))
	r.send("jobs.fifo", in("a", "a1"))
	m := r.wantBodies("jobs.fifo", 1, "a0")[0]
	began, received := time.Now(), r.wait("jobs.fifo", 1)
	r.must(r.Delete(r.ctx(), "jobs.fifo", m.Receipt))
	r.wantWoken(began, received(), "a1")
}

func testWokenByMove(r *rig) {
	r.pair()
	r.bury(1)
	defer r.run()()
	began, received := time.Now(), r.wait("jobs", 1)
	t := r.startMove(queue.MoveInput{Source: "dead"})
	r.wantWoken(began, received(), "m0")
	r.until("the task is over", func() bool {
		tasks, err := r.Moves(r.ctx(), "dead", 1)
		return err == nil && tasks[0].ID == t.ID && tasks[0].State == queue.MoveCompleted
	})
}

// Each message wakes one, whoever sends them however.
func testManyWait(r *rig) {
	const n = 12
	r.create("jobs", nil)
	var all []func() []queue.Message
	for range n {
		all = append(all, r.wait("jobs", 1))
	}
	batch := make([]queue.SendInput, n/2)
	for i := range batch {
		batch[i] = text(fmt.Sprint("a", i))
	}
	r.must(second(r.SendBatch(r.ctx(), "jobs", batch)))
	for i := range n / 2 {
		r.send("jobs", text(fmt.Sprint("b", i)))
	}
	began := time.Now()
	seen := map[string]bool{}
	for _, received := range all {
		m := received()
		suite.FatalIf(r, len(m) == 0, "one waited in vain")
		r.wantWoken(began, m, string(m[0].Body))
		seen[m[0].ID] = true
	}
	r.errorIf(len(seen) != n, "%d messages went to %d receives", len(seen), n)
}

func testWaitCancelled(r *rig) {
	r.create("jobs", nil)
	ctx, cancel := context.WithCancel(r.ctx())
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			_, err := r.Receive(ctx, "jobs", queue.ReceiveInput{Wait: new(queue.MaxWait)})
			r.errorIf(!errors.Is(err, context.Canceled), "a cancelled receive = %v", err)
		})
	}
	began, received := time.Now(), r.wait("jobs", 1)
	cancel()
	wg.Wait()
	r.send("jobs", text("a")) // not for those who went
	r.wantWoken(began, received(), "a")
}

func testWaitDeleted(r *rig) {
	r.create("jobs", nil)
	done := make(chan error, 1)
	ready := make(chan struct{})
	go func() {
		close(ready)
		_, err := r.Receive(r.ctx(), "jobs", queue.ReceiveInput{Wait: new(queue.MaxWait)})
		done <- err
	}()
	<-ready
	r.must(r.DeleteQueue(r.ctx(), "jobs"))
	r.wantErr(<-done, queue.ErrQueueNotFound)
}
