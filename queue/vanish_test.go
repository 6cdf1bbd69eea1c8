package queue_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

func (r *rig) cases(name string, state poison.State) []queue.PayloadCase {
	r.Helper()
	c, err := r.Payloads(r.Context(), name, int(state), 0)
	r.must(err)
	return c
}

// A pill that kills whoever holds it costs two workers; what it was held with is
// tried alone and works.
func TestAVanishedWorkersMessagesAreTriedAlone(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", nil)
		r.company(2)
		r.send("jobs", `{"innocent": 1}`, `{"a pill": 2}`, `{"innocent": 3}`)
		if m := r.receive("jobs", "w1", 10); len(m) != 3 {
			r.Fatalf("received %d", len(m))
		}
		r.Vanished("w1")
		pass(30 * time.Second)
		deaths := 1
		for i := range 10 {
			w := fmt.Sprintf("w%d", i+2)
			r.none("idle", "idle0")
			r.none("idle", "idle1")
			m := r.receive("jobs", w, 10)
			if len(m) == 0 {
				break
			}
			if len(m) != 1 || !m[0].Alone {
				r.Fatalf("%d messages were received, alone: %v; want a suspect alone", len(m), m[0].Alone)
			}
			if string(m[0].Body) != `{"a pill": 2}` {
				r.delete("jobs", m[0])
				continue
			}
			deaths++
			r.Vanished(w)
			pass(61 * time.Second) // one that may live has another lease to delete in
		}
		if deaths != 2 {
			r.Errorf("the pill cost %d workers, want 2", deaths)
		}
		if l := r.one("jobs-dlq", "").Letter; l.Class != bezoar.Crash {
			r.Errorf("its letter is %+v", l)
		}
		if c := r.cases("jobs", poison.Quarantined); len(c) != 1 {
			r.Errorf("%d payloads are quarantined, want 1", len(c))
		}
		r.send("jobs", `{ "a pill":2 }`) // a copy, written otherwise
		r.none("jobs", "w")
		r.wantCounts("jobs-dlq", 1, 1, 0)
	})
}

// company is workers that ask for messages and get none.
func (r *rig) company(n int) {
	r.Helper()
	r.create("idle", nil)
	for i := range n {
		r.none("idle", fmt.Sprint("idle", i))
	}
}

// Somebody may have stopped the only worker on purpose, twice: then it takes one
// lease more.
func TestTheOnlyWorkerVanishes(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", nil)
		r.sendMany("jobs", 1)
		for n := 1; n <= 3; n++ {
			w := fmt.Sprint("w", n)
			r.one("jobs", w)
			r.Vanished(w)
			pass(61 * time.Second)
		}
		r.none("jobs", "w4")
		if c := r.cases("jobs", poison.Quarantined); len(c) != 1 {
			r.Errorf("%d payloads are quarantined after three deaths, want 1", len(c))
		}
	})
}

// A client may close a connection that is idle while it works. When it deletes
// at last, the verdict and the letter go.
func TestALateDeleteTakesBackVerdictAndLetter(t *testing.T) {
	for _, n := range []int{2, 3} { // leases that end before the first delete
		bubble(t, queue.Config{}, func(r *rig) {
			r.create("jobs", nil)
			r.sendMany("jobs", 1)
			var all []queue.Message
			for i := range n {
				w := fmt.Sprint("w", i)
				all = append(all, r.one("jobs", w))
				r.Vanished(w)
				pass(61 * time.Second)
			}
			if n == 3 {
				r.none("jobs", "x")
				r.wantCounts("jobs-dlq", 1, 0, 0)
			}
			err := r.Delete(r.Context(), "jobs", all[0].Receipt)
			if n == 2 && queue.CodeOf(err) != queue.ErrReceiptStale || n == 3 && err != nil {
				r.Errorf("the late delete: %v", err)
			}
			if c := r.cases("jobs", poison.Quarantined); len(c) != 0 {
				r.Errorf("%d payloads are quarantined, want none", len(c))
			}
			if n == 3 {
				r.wantCounts("jobs-dlq", 0, 0, 0)
			}
			r.must(r.Delete(r.Context(), "jobs", all[n-1].Receipt))
			r.none("jobs", "y")
		})
	}
}

// All that a worker holds vanishes with it, whichever of its receives brought it.
func TestAWorkerVanishesWithAllItsReceives(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", nil)
		r.sendMany("jobs", 4)
		for i := range 3 {
			r.one("jobs", fmt.Sprint("host:1#", i))
		}
		r.one("jobs", "host:10#1")
		r.Vanished("host:1")
		pass(31 * time.Second)
		for range 5 {
			r.receive("jobs", "x", 10)
			pass(31 * time.Second)
		}
		c := r.cases("jobs", poison.Suspect)
		if len(c) != 3 || !strings.Contains(c[0].Reason, "held 3 messages") {
			r.Errorf("suspects are %+v, want three of one worker", c)
		}
		if s := r.Stats(); s.Vanished != 1 || s.Mass != 0 {
			r.Errorf("stats are %+v", s)
		}
	})
}

// Whoever settles over another connection has not crashed.
func TestWhatIsSettledWithinTheGraceIsNoCrash(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", nil)
		r.sendMany("jobs", 4)
		m := r.receive("jobs", "w1", 4)
		r.Vanished("w1")
		pass(900 * time.Millisecond)
		r.delete("jobs", m[0])
		r.must(r.ChangeVisibility(r.Context(), "jobs", m[1].Receipt, 0))
		r.must(r.ChangeVisibility(r.Context(), "jobs", m[3].Receipt, 20*time.Second))
		pass(time.Minute)
		again := r.receive("jobs", "w2", 10)
		if len(again) != 2 || again[0].ID != m[1].ID || again[1].ID != m[3].ID { // the third is to be alone
			r.Errorf("received %d, want the one that was given back and the one that took longer", len(again))
		}
		if c := r.cases("jobs", poison.Suspect); len(c) != 1 || c[0].Payload != m[2].Payload {
			r.Errorf("suspects are %+v, want the one that was held", c)
		}
		if s := r.Stats(); s.Vanished != 1 || s.Mass != 0 || s.Held > 3 {
			r.Errorf("stats are %+v", s)
		}
	})
}

// One who takes long, and deletes in the end, has not crashed either.
func TestALateDeleteOverAnotherConnectionIsNoCrash(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", nil)
		r.sendMany("jobs", 1)
		m := r.one("jobs", "w1")
		r.Vanished("w1")
		pass(20 * time.Second)
		r.delete("jobs", m)
		pass(time.Minute)
		r.none("jobs", "w2")
		if c, err := r.Payloads(r.Context(), "jobs", -1, 0); err != nil || len(c) != 0 {
			r.Errorf("cases are %+v, %v", c, err)
		}
	})
}

// Law 6: when half of all workers vanish at once, something else kills them.
// Nothing is convicted; what they held is tried alone.
func TestLaw6ManyWorkersThatVanishConvictNothing(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", func(s *queue.Settings) { s.Quarantine.After = 1 })
		r.sendMany("jobs", 6)
		for i := range 6 {
			r.one("jobs", fmt.Sprint("w", i))
		}
		for i := range 3 {
			r.Vanished(fmt.Sprint("w", i))
			pass(300 * time.Millisecond)
		}
		pass(time.Minute)
		for i := range 6 { // each lease is over: what becomes of them is decided when somebody receives
			for _, m := range r.receive("jobs", fmt.Sprint("x", i), 10) {
				r.delete("jobs", m)
			}
		}
		if c := r.cases("jobs", poison.Quarantined); len(c) != 0 {
			r.Errorf("%d payloads were convicted", len(c))
		}
		if s := r.Stats(); s.Vanished != 3 || s.Mass != 3 {
			r.Errorf("stats are %+v, want 3 of 3 at once", s)
		}
		r.wantCounts("jobs", 0, 0, 0)
	})
}

func TestTwoOfManyAreNotMany(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", func(s *queue.Settings) { s.Quarantine.After = 1 })
		r.sendMany("jobs", 6)
		for i := range 6 {
			r.one("jobs", fmt.Sprint("w", i))
		}
		r.Vanished("w0")
		r.Vanished("w1")
		pass(time.Minute)
		r.receive("jobs", "x", 10)
		if c := r.cases("jobs", poison.Quarantined); len(c) != 2 {
			r.Errorf("%d payloads were convicted, want 2", len(c))
		}
	})
}

// Suspects that run alone and kill are convicted, however many do so at once:
// that is what they were run alone for.
func TestSuspectsThatKillAtOnceAreConvicted(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", nil)
		r.company(2)
		r.sendMany("jobs", 4)
		r.receive("jobs", "w", 4)
		r.Vanished("w")
		pass(31 * time.Second)
		for i := range 4 {
			if m := r.one("jobs", fmt.Sprint("x", i)); !m.Alone {
				r.Fatal("a suspect was not received alone")
			}
		}
		for i := range 4 {
			r.Vanished(fmt.Sprint("x", i))
		}
		pass(61 * time.Second)
		r.none("jobs", "y")
		if c := r.cases("jobs", poison.Quarantined); len(c) != 4 {
			r.Errorf("%d payloads are quarantined, want 4", len(c))
		}
	})
}

// accused makes a queue with a suspect in front of another message.
func accused(r *rig) {
	r.Helper()
	r.create("jobs", func(s *queue.Settings) { s.SameAs, s.Retry.Strategy = "web", backoff.Immediate })
	n, err := r.Accuse(r.Context(), "web", []byte(`{"a": "suspect"}`), bezoar.Crash, "it killed workers of the fleet")
	r.must(err)
	if n != 1 {
		r.Fatalf("%d queues know it, want 1", n)
	}
	r.send("jobs", `{"a":"suspect"}`)
	pass(time.Millisecond)
	r.send("jobs", `{"an": "innocent"}`)
}

func TestWhoeverHoldsASuspectGetsNothingElse(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		accused(r)
		m := r.receive("jobs", "w1", 10)
		if len(m) != 1 || !m[0].Alone {
			r.Fatalf("received %d, alone: %v", len(m), m[0].Alone)
		}
		r.none("jobs", "w1")
		got := make(chan int)
		go func() { // waits, and does not stand in others' way
			m, _ := r.Receive(r.Context(), "jobs", queue.ReceiveInput{Worker: "w1", Wait: new(20 * time.Second)})
			got <- len(m)
		}()
		pass(time.Second)
		other, err := r.Receive(r.Context(), "jobs", queue.ReceiveInput{Worker: "w2", Wait: new(time.Second)})
		r.must(err)
		if len(other) != 1 {
			r.Fatalf("another worker received %d", len(other))
		}
		r.must(r.Release(r.Context(), "jobs", queue.ReleaseInput{Receipt: other[0].Receipt, Refund: true}))
		r.delete("jobs", m[0])
		if n := <-got; n != 1 {
			r.Errorf("the worker, free again, received %d, want 1", n)
		}
	})
}

// If a worker that holds something else died of a suspect, or the other way
// round, nobody could tell.
func TestASuspectGoesOnlyToAnIdleWorker(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("before", nil)
		r.send("before", "some body")
		held := r.one("before", "w1")
		accused(r)
		r.none("jobs", "w1")
		m := r.one("jobs", "w2")
		if !m.Alone || m.Receives != 1 {
			r.Fatalf("received %+v, want the suspect, its first receive", m)
		}
		r.delete("before", held)
		if m := r.one("jobs", "w1"); m.Alone {
			r.Error("received the suspect twice")
		}
	})
}

func TestPardonedPayloadsGoWithTheOthers(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		accused(r)
		c := r.cases("jobs", poison.Suspect)
		if len(c) != 1 || c[0].Class != bezoar.Crash || c[0].Reason != "it killed workers of the fleet" {
			r.Fatalf("suspects are %+v", c)
		}
		r.must(r.Pardon(r.Context(), "jobs", c[0].Payload))
		r.must(r.Pardon(r.Context(), "jobs", c[0].Payload))
		if m := r.receive("jobs", "w", 10); len(m) != 2 || m[0].Alone {
			r.Errorf("received %d", len(m))
		}
		if n, err := r.Accuse(r.Context(), "elsewhere", []byte(`{"a": "suspect"}`), bezoar.Crash, ""); n != 0 || err != nil {
			r.Errorf("accused in %d queues, %v", n, err)
		}
	})
}

func TestNamelessWorkersAreNeverMissed(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", nil)
		r.sendMany("jobs", 2)
		r.receive("jobs", "", 2)
		r.Vanished("")
		r.Vanished("nobody")
		pass(time.Minute)
		if s := r.Stats(); s != (queue.Stats{}) {
			r.Errorf("stats are %+v", s)
		}
	})
}
