package queuetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/queue"
)

// concurrentTests are those in which goroutines meet, together with waitTests.
func concurrentTests() map[string]func(*rig) {
	return map[string]func(*rig){
		"DeadByRun": testDeadByRun, "Retention": testRetention,
		"ChangeCaseTogether": testChangeCaseTogether, "MarksTogether": testMarksTogether, "AuditTogether": testAuditTogether,
		"Concurrent": testConcurrent, "ConcurrentFIFO": testConcurrentFIFO, "ConcurrentUpdates": testConcurrentUpdates,
		"ConcurrentCopies": func(r *rig) { testConcurrentCopies(r, false) }, "ConcurrentCopiesFIFO": func(r *rig) { testConcurrentCopies(r, true) },
	}
}

// No message is delivered twice while its lease holds, and none is lost.
func testConcurrent(r *rig) {
	const senders, consumers, each = 4, 4, 40
	r.create("jobs", nil)
	defer r.run()()
	var mu sync.Mutex // guards seen
	seen := map[string]int{}
	ctx, cancel := context.WithTimeout(r.ctx(), 30*time.Second)
	defer cancel()
	var sending, receiving sync.WaitGroup
	for range consumers {
		receiving.Go(func() {
			for ctx.Err() == nil {
				m, err := r.Receive(ctx, "jobs", queue.ReceiveInput{Max: 7, Wait: new(time.Second)})
				if err != nil {
					if !errors.Is(err, context.Canceled) {
						r.Error(err)
					}
					return
				}
				var receipts []queue.Receipt
				mu.Lock()
				for _, m := range m {
					seen[string(m.Body)]++
					receipts = append(receipts, m.Receipt)
				}
				over := len(seen) == senders*each
				mu.Unlock()
				if len(receipts) > 0 {
					r.check(one(r.Engine.DeleteBatch(r.ctx(), "jobs", receipts)))
				}
				if over {
					cancel()
				}
			}
		})
	}
	for s := range senders {
		sending.Go(func() {
			for i := range each {
				if _, err := r.Send(r.ctx(), "jobs", text(fmt.Sprint(s, "/", i))); err != nil {
					r.Error(err)
				}
			}
		})
	}
	sending.Wait()
	receiving.Wait()
	r.errorIf(len(seen) != senders*each, "%d of %d messages arrived", len(seen), senders*each)
	for body, n := range seen {
		r.errorIf(n != 1, "%s was delivered %d times", body, n)
	}
	r.wantCounts("jobs", 0, 0, 0)
}

// However many consume, each group's order holds, and no two have messages of
// one group at a time.
func testConcurrentFIFO(r *rig) {
	const groups, each, consumers = 3, 12, 4
	r.createFIFO("jobs.fifo", nil)
	for i := range each {
		for g := range groups {
			r.send("jobs.fifo", in(fmt.Sprint("g", g), fmt.Sprint(g, "/", i)))
		}
	}
	var mu sync.Mutex // guards next, busy and left
	next, busy, left := map[string]int{}, map[string]bool{}, groups*each
	var wg sync.WaitGroup
	for range consumers {
		wg.Go(func() {
			for {
				m, err := r.Receive(r.ctx(), "jobs.fifo", queue.ReceiveInput{Max: 2, Wait: new(100 * time.Millisecond)})
				if err != nil {
					r.Error(err)
					return
				}
				mu.Lock()
				mine := map[string]bool{}
				for _, m := range m {
					r.errorIf(busy[m.Group] && !mine[m.Group], "group %s is with two consumers", m.Group)
					busy[m.Group], mine[m.Group] = true, true
					if want := fmt.Sprint(m.Group[1:], "/", next[m.Group]); string(m.Body) != want {
						r.Errorf("received %s, want %s", m.Body, want)
					}
					next[m.Group]++
					left--
				}
				for g := range mine {
					busy[g] = false // before the deletions let the next one in
				}
				over := left == 0 || r.Failed()
				mu.Unlock()
				for _, m := range m {
					r.check(r.Delete(r.ctx(), "jobs.fifo", m.Receipt))
				}
				if over {
					return
				}
			}
		})
	}
	wg.Wait()
}

func testConcurrentUpdates(r *rig) {
	r.create("jobs", nil)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 5 {
				if _, err := r.SetTags(r.ctx(), "jobs", map[string]string{fmt.Sprint(w, "/", i): "x"}, nil); err != nil {
					r.Error(err)
				}
			}
		})
	}
	wg.Wait()
	q, err := r.store.Queue(r.ctx(), "jobs")
	r.must(err)
	r.errorIf(len(q.Tags) != 20, "%d of 20 tags are there", len(q.Tags))
}

// What was acknowledged is there afterwards, as it was.
func testReopen(t *testing.T, h Harness) {
	r := newRig(t, h)
	r.pair()
	r.bury(3)
	r.createFIFO("jobs.fifo", nil)
	first := r.send("jobs.fifo", in("a", "x"))
	sent := r.send("jobs", full())
	held := r.one("jobs")
	r.send("jobs", text("waiting"))
	task := r.startMove(queue.MoveInput{Source: "dead", Rate: 1})
	r.step(task.ID)

	r = rigOver(t, h, h.Reopen(t, r.store))
	r.wantCounts("jobs", 2, 1, 0)
	r.must(r.Release(r.ctx(), "jobs", queue.ReleaseInput{Receipt: held.Receipt, Outcome: &queue.Outcome{Class: bezoar.Bug}}))
	if again := r.send("jobs.fifo", in("a", "x")); !again.Duplicate || again.ID != first.ID {
		r.Errorf("deduplication forgot %+v: %+v", first, again)
	}
	m := r.receive("jobs", 10)
	r.errorIf(len(m) != 3 || m[0].ID != sent.ID || m[0].Receives != 2 || len(m[0].Attempts) != 1, "received %+v", m)
	r.wantEnd(task.ID, queue.MoveCompleted, 3)
	if newest := r.send("jobs", text("new")); newest.Sequence <= m[0].Sequence {
		r.Errorf("sequence %d after %d", newest.Sequence, m[0].Sequence)
	}
}

// Law 3: however many receive at a time, of a payload that has never worked one
// of them has copies. In the end all can be worked, and all are there.
func testConcurrentCopies(r *rig, ordered bool) {
	const payloads, copies, consumers, rounds = 3, 6, 5, 12
	name := "jobs"
	if ordered {
		name = "jobs.fifo"
	}
	d := r.at(name, func(s *queue.Settings) { s.FIFO = ordered })
	for i := range copies {
		for n := range byte(payloads) {
			d.putIn(fmt.Sprint("g", (i+int(n))%4), fmt.Sprint(n, "/", i), n+1)
		}
	}
	var mu sync.Mutex // guards has
	has := map[bezoar.Fingerprint]int{}
	var wg sync.WaitGroup
	for w := range consumers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			for range rounds {
				got, err := d.store.Receive(d.ctx(), d.q.ID, queue.Claim{
					Policy: d.p, Max: 1 + random.IntN(4), Visibility: time.Hour, Retention: 24 * time.Hour, Worker: fmt.Sprint("w", w),
				})
				if err != nil {
					r.Error(err)
					return
				}
				mu.Lock()
				for _, m := range got.Messages {
					if other := has[m.Payload]; other > 0 && other != w+1 {
						r.Errorf("workers %d and %d have copies of one payload", other-1, w)
					}
					has[m.Payload] = w + 1
				}
				mu.Unlock()
				changes := make([]queue.Change, len(got.Messages))
				for i, m := range got.Messages {
					changes[i] = queue.Change{Receipt: m.Receipt, Release: random.IntN(2) == 0}
					if changes[i].Release && random.IntN(2) == 0 {
						changes[i].Outcome = &queue.Outcome{Class: bezoar.Bug, Failure: fmt.Sprint(random.Int()), Reason: "why"}
					}
				}
				mu.Lock()
				for _, m := range got.Messages {
					has[m.Payload] = 0
				}
				mu.Unlock()
				if len(changes) == 0 {
					continue
				}
				if err := one(d.store.Change(d.ctx(), d.q.ID, d.p, changes)); err != nil {
					r.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	worked := 0
	for {
		got := d.claim(10)
		d.done(got.Messages...)
		if worked += len(got.Messages); len(got.Messages) == 0 && got.Next != 0 {
			break
		}
	}
	r.errorIf(worked != payloads*copies, "%d of %d messages were worked", worked, payloads*copies)
}
