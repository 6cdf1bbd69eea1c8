package queue_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

// asLife receives as one life of a worker.
func (r *rig) asLife(life string, n, limit int) []queue.Message {
	r.Helper()
	m, err := r.Receive(r.Context(), "jobs", queue.ReceiveInput{Max: limit, Worker: fmt.Sprint("host:1#", n), Life: life})
	r.must(err)
	return m
}

// Where a new life of a worker begins, what the one before it held has killed it,
// though no connection was seen to close.
func TestANewLifeOfAWorkerIsADeath(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", nil)
		r.company(3)
		r.send("jobs", `{"innocent": 1}`, `{"a pill": 2}`)
		if m := r.asLife("a", 1, 10); len(m) != 2 {
			r.Fatalf("received %d", len(m))
		}
		deaths := 0
		for life := 'b'; life < 'z' && len(r.cases("jobs", poison.Quarantined)) == 0; life++ {
			for n := range 3 {
				for i := range 3 {
					r.none("idle", fmt.Sprint("idle", i))
				}
				for _, m := range r.asLife(string(life), n, 10) {
					if string(m.Body) == `{"a pill": 2}` {
						deaths++
						n = 3
						break
					}
					r.delete("jobs", m)
				}
				if n == 3 {
					break
				}
				pass(11 * time.Second)
			}
			if deaths > 3 {
				r.Fatalf("the pill cost %d lives more", deaths)
			}
			pass(time.Second)
		}
		if deaths != 1 {
			r.Errorf("the pill cost %d lives more, want 1", deaths)
		}
		r.wantCounts("jobs-dlq", 1, 0, 0)
	})
}

// Two that live may have one name: then a new life means nothing.
func TestTwoWorkersOfOneNameLive(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", nil)
		r.company(3)
		r.sendMany("jobs", 8)
		for n := range 8 {
			m := r.asLife([]string{"a", "b"}[n%2], n, 1)
			if len(m) != 1 {
				r.Fatalf("received %d", len(m))
			}
			pass(10 * time.Second)
			r.must(r.ChangeVisibility(r.Context(), "jobs", m[0].Receipt, 30*time.Second))
		}
		pass(5 * time.Second)
		if s := r.Stats(); s.Vanished != 1 {
			r.Errorf("%d were taken for dead, want the first one", s.Vanished)
		}
		if c := r.cases("jobs", poison.Suspect); len(c) != 0 {
			r.Errorf("suspects are %+v", c)
		}
	})
}

// So may more, as containers with the host's network and the process id 1.
func TestManyWorkersOfOneNameLive(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", nil)
		r.company(3)
		r.sendMany("jobs", 20)
		for n := range 20 {
			m := r.asLife(string(rune('a'+n%5)), n, 1)
			if len(m) != 1 {
				r.Fatalf("received %d", len(m))
			}
			pass(time.Second)
		}
		if s := r.Stats(); s.Vanished != 4 {
			r.Errorf("%d were taken for dead, want the first 4", s.Vanished)
		}
	})
}

// A client whose idle connection closes, and whose handlers take longer than the
// lease, is done in the end each time. Even right after a true death nothing is
// convicted.
func TestAClientThatIsLateIsNeverConvicted(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", nil)
		r.company(3)
		r.sendMany("jobs", 1)
		r.one("jobs", "killed")
		r.Vanished("killed")
		pass(31 * time.Second)
		for round := range 6 {
			for i := range 3 {
				r.none("idle", fmt.Sprint("idle", i))
			}
			name := fmt.Sprint("late", round)
			all := []queue.Message{r.one("jobs", name)}
			pass(28 * time.Second)
			r.Vanished(name)
			pass(10 * time.Second) // its lease is over, unless it was a suspect
			again := r.receive("jobs", "other", 10)
			if suspect := all[0].Alone; suspect == (len(again) > 0) {
				r.Fatalf("round %d: a suspect is %v, and %d came again", round, suspect, len(again))
			}
			if c := r.cases("jobs", poison.Quarantined); len(c) != 0 {
				r.Fatalf("round %d: %+v is quarantined", round, c)
			}
			pass(17 * time.Second)
			for _, m := range append(all, again...) {
				if err := r.Delete(r.Context(), "jobs", m.Receipt); err != nil && queue.CodeOf(err) != queue.ErrReceiptStale {
					r.Fatal(err)
				}
			}
			r.sendMany("jobs", 1)
		}
		r.wantCounts("jobs", 1, 0, 0)
	})
}

// Who looks at messages and goes makes them suspects, as often as it likes.
func TestAViewerConvictsNothing(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", nil)
		r.company(3)
		r.sendMany("jobs", 2)
		for i := range 5 {
			w := fmt.Sprint("viewer", i)
			r.receive("jobs", w, 10)
			r.Viewed(w)
			pass(61 * time.Second)
		}
		if s, q := r.cases("jobs", poison.Suspect), r.cases("jobs", poison.Quarantined); len(s) != 2 || len(q) != 0 {
			r.Errorf("%d are suspects, %d are quarantined; want 2 and 0", len(s), len(q))
		}
	})
}

// The next life of Bezoar knows whom this one took for dead.
func TestALateDeleteComesToAnotherProcess(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", nil)
		r.sendMany("jobs", 1)
		var all []queue.Message
		for i := range 3 {
			w := fmt.Sprint("w", i)
			all = append(all, r.one("jobs", w))
			r.Vanished(w)
			pass(61 * time.Second)
		}
		r.none("jobs", "x")
		r.wantCounts("jobs-dlq", 1, 0, 0)
		other := r.node(queue.Config{}, r.store)
		pass(2 * time.Second)
		r.must(other.Delete(r.Context(), "jobs", all[0].Receipt))
		if c := r.cases("jobs", poison.Quarantined); len(c) != 0 {
			r.Errorf("%d payloads are quarantined, want none", len(c))
		}
		r.wantCounts("jobs-dlq", 0, 0, 0)
	})
}
