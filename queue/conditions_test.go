package queue_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/queue"
)

// grouped makes two queues of one downstream group.
func grouped(r *rig) {
	r.Helper()
	for _, name := range []string{"a", "b"} {
		r.create(name, func(s *queue.Settings) { s.Downstream, s.Retry.Strategy = "db", backoff.Immediate })
		r.sendMany(name, 20)
	}
}

// breaks makes ten messages fail in ten ways, which is no outage of the queue.
func breaks(r *rig, name string) {
	r.Helper()
	for _, m := range r.receive(name, "w", 10) {
		r.fails(name, m, bezoar.Transient, m.ID)
	}
}

func TestABreakerHoldsAllQueuesOfItsGroup(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		grouped(r)
		r.create("other", nil)
		r.send("other", "some body")
		breaks(r, "a")
		open := r.wantStates(r.Engine, "db=open")[0]
		if !strings.Contains(open.Why, "10 calls in a row failed") {
			r.Errorf("why: %q", open.Why)
		}
		r.none("a", "w")
		r.none("b", "w")
		r.one("other", "w2")

		pass(5 * time.Second)
		first := r.receive("b", "w", 10)
		if len(first) != 1 {
			r.Fatalf("%d messages probe, want 1", len(first))
		}
		r.none("a", "w3") // the claim's probe goes alone
		r.delete("b", first[0])
		r.wantStates(r.Engine, "db=half-open")
		second, third := r.one("a", "w"), r.one("b", "w3")
		r.none("a", "w4") // three, no more
		r.delete("a", second)
		r.delete("b", third)
		r.wantStates(r.Engine)
		if m := r.receive("a", "w", 10); len(m) != 10 {
			r.Errorf("%d messages once it works, want 10", len(m))
		}
	})
}

func TestAProbeThatFailsOpensTheBreakerAgain(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		grouped(r)
		breaks(r, "a")
		pass(5 * time.Second)
		r.fails("b", r.one("b", "w"), bezoar.Timeout, "")
		if again := r.wantStates(r.Engine, "db=open")[0]; again.Level != 2 {
			r.Errorf("after a probe that failed: %+v", again)
		}
		pass(10 * time.Second)
		m := r.one("b", "w")
		r.fails("b", m, bezoar.Bug, "f1") // says nothing about the downstream
		r.wantStates(r.Engine, "db=half-open")
		r.one("b", "w")
	})
}

// A probe that nobody ends has failed when its lease is over.
func TestAProbeWhoseWorkerSaysNothingHasFailed(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		grouped(r)
		breaks(r, "a")
		pass(5 * time.Second)
		r.one("b", "w")
		pass(42 * time.Second)
		if again := r.wantStates(r.Engine, "db=open")[0]; again.Level != 2 {
			r.Errorf("after a probe that did not come back: %+v", again)
		}
	})
}

// An empty queue gives its leave to try back.
func TestAnEmptyQueueDoesNotUseProbesUp(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		grouped(r)
		r.create("empty", func(s *queue.Settings) { s.Downstream = "db" })
		breaks(r, "a")
		pass(5 * time.Second)
		for range 10 {
			r.none("empty", "w")
		}
		r.one("b", "w")
	})
}

func TestPoisonDoesNotOpenABreaker(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		grouped(r)
		for i, m := range r.receive("a", "w", 15) {
			class := []bezoar.Class{bezoar.Bug, bezoar.Crash, bezoar.Invalid, bezoar.OOM, bezoar.Interrupted}[i%5]
			r.fails("a", m, class, m.ID)
		}
		r.wantStates(r.Engine)
	})
}

// A worker may name the group that failed; its queue need not be in it.
func TestAnOutcomeMayNameAnotherGroup(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		grouped(r)
		r.create("other", nil)
		r.sendMany("other", 10)
		for _, m := range r.receive("other", "w", 10) {
			r.must(r.Release(r.Context(), "other", queue.ReleaseInput{
				Receipt: m.Receipt, Downstream: "db", Outcome: &queue.Outcome{Class: bezoar.Outage, Failure: m.ID},
			}))
		}
		r.wantStates(r.Engine, "db=open")
		r.none("a", "w")
		pass(time.Minute)
		r.one("other", "w")
	})
}

func TestOperatorsForceBreakers(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		grouped(r)
		r.must(r.ForceBreaker(r.Context(), "db", breaker.Open, time.Hour, "ann"))
		if c := r.wantStates(r.Engine, "db=open!")[0]; !strings.Contains(c.Why, "by ann") || time.Until(c.Until) != time.Hour {
			r.Errorf("the condition is %+v", c)
		}
		r.none("a", "w")
		r.must(r.ForceBreaker(r.Context(), "db", breaker.Closed, time.Hour, ""))
		breaks(r, "a") // counts for nothing
		r.wantStates(r.Engine, "db=closed!")
		r.must(r.ForceBreaker(r.Context(), "db", breaker.Closed, 0, ""))
		r.wantStates(r.Engine)
		for _, err := range []error{
			r.ForceBreaker(r.Context(), "", breaker.Open, time.Hour, ""),
			r.ForceBreaker(r.Context(), "db", breaker.HalfOpen, time.Hour, ""),
			r.ForceBreaker(r.Context(), "db", breaker.Open, 25*time.Hour, ""),
		} {
			if queue.CodeOf(err) != queue.ErrInvalid {
				r.Errorf("%v, want it refused", err)
			}
		}
	})
}

// Nodes on one store agree within a second, and one of them tries.
func TestNodesAgreeAndOneTries(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		common := shared{r.store, make(chan error)}
		one, two := r.node(queue.Config{}, common), r.node(queue.Config{}, common)
		r.Engine = one
		grouped(r)
		r.create("jobs", nil)
		r.sendMany("jobs", 6)
		outage(r, "jobs")
		breaks(r, "a")
		pass(time.Second)
		r.wantStates(two, "jobs=paused", "db=open")
		for _, tc := range []struct {
			queue string
			after time.Duration
		}{{"b", 4 * time.Second}, {"jobs", 25 * time.Second}} {
			pass(tc.after)
			var got []*queue.Engine
			var m queue.Message
			for _, e := range []*queue.Engine{two, one, two, one} {
				some, err := e.Receive(r.Context(), tc.queue, queue.ReceiveInput{Max: 5})
				r.must(err)
				if len(some) > 0 {
					got, m = append(got, e), some[0]
				}
			}
			if len(got) != 1 || got[0] != two {
				r.Fatalf("%d nodes try whether %s works, want the first that asks", len(got), tc.queue)
			}
			// Its message is deleted through the other node: whoever tries finds out.
			r.must(one.Delete(r.Context(), tc.queue, m.Receipt))
			pass(2 * time.Second)
		}
		r.wantStates(one, "db=half-open")
		some, err := one.Receive(r.Context(), "jobs", queue.ReceiveInput{Max: 5})
		r.must(err)
		if len(some) == 0 {
			r.Error("the queue is still held back")
		}
	})
}

func TestAPauseOutlivesTheProcess(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", nil)
		r.sendMany("jobs", 6)
		outage(r, "jobs")
		r.Engine = r.node(queue.Config{}, r.store)
		r.none("jobs", "w")
		r.wantStates(r.Engine, "jobs=paused")
		r.must(r.DeleteQueue(r.Context(), "jobs"))
		r.wantStates(r.Engine)
	})
}

// A node that stops gives back the canary that it keeps for the next message: with a
// long lease the others would wait for hours.
func TestWhoStopsGivesTheCanaryBack(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", nil)
		r.sendMany("jobs", 6)
		outage(r, "jobs")
		r.must(r.Purge(r.Context(), "jobs"))
		ctx, stop := context.WithCancel(r.Context())
		defer stop()
		one, stopped := engine(r.T, queue.Config{}, r.store), make(chan error)
		go func() { stopped <- one.Run(ctx) }()
		pass(time.Minute)
		if some, err := one.Receive(ctx, "jobs", queue.ReceiveInput{Visibility: new(time.Hour)}); err != nil || len(some) > 0 {
			r.Fatalf("received %d, %v", len(some), err)
		}
		stop()
		r.must(<-stopped)
		r.Engine = r.node(queue.Config{}, r.store)
		r.send("jobs", "tries whether it works")
		r.one("jobs", "w")
	})
}

// blind is a store whose marks cannot be reached.
type blind struct {
	queue.Store
	off *atomic.Bool
}

var errBlind = errors.New("the marks are not there")

func (blind) Shared() bool { return true }

func (b blind) Marks(ctx context.Context, prefix string) ([]queue.Mark, error) {
	if b.off.Load() {
		return nil, errBlind
	}
	return b.Store.Marks(ctx, prefix)
}

func (b blind) PutMark(ctx context.Context, m queue.Mark) (queue.Mark, error) {
	if b.off.Load() {
		return queue.Mark{}, errBlind
	}
	return b.Store.PutMark(ctx, m)
}

// Law 11: a store that does not answer is no reason to stop, nor to forget.
func TestLaw11WithoutMarksTheLastKnownStateHolds(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		off := new(atomic.Bool)
		off.Store(true)
		r.Engine = r.node(queue.Config{}, blind{r.store, off})
		r.create("jobs", nil)
		r.create("other", nil)
		r.sendMany("jobs", 6)
		r.send("other", "some body")
		outage(r, "jobs")
		r.wantStates(r.Engine, "jobs=paused")
		r.one("other", "w") // nothing is known of it: it goes on
		r.none("jobs", "w")
		pass(30 * time.Second)
		r.delete("jobs", r.one("jobs", "w")) // tries by itself
		r.wantStates(r.Engine)
		off.Store(false)
		r.sendMany("jobs", 6)
		outage(r, "jobs")
		r.wantStates(r.Engine, "jobs=paused")
		marks, err := r.store.Marks(r.Context(), "outage/")
		r.must(err)
		if len(marks) != 1 || marks[0].Key != "outage/jobs" {
			r.Errorf("marks are %+v", marks)
		}
	})
}
