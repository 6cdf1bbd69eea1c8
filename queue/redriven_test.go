package queue_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/queue"
)

// asideAndBack sets n rows aside that never ran, and sends them back.
func asideAndBack(r *rig, name string, n int) {
	r.Helper()
	parts := make([]queue.PartInput, n)
	for i := range parts {
		parts[i] = queue.PartInput{Body: fmt.Appendf(nil, `{"row": %d, "price": "none"}`, i), Outcome: queue.Outcome{Class: bezoar.Invalid, Reason: "no price"}}
	}
	results, err := r.SetAside(r.Context(), name, parts)
	r.must(err)
	for _, one := range results {
		r.must(one.Err)
	}
	_, err = r.StartTask(r.Context(), queue.MoveTask{Kind: queue.MoveRedrive, Source: name + "-dlq", Rate: 1000, HaltAbove: 1})
	r.must(err)
	pass(time.Second)
	r.wantCounts(name, int64(n), 0, 0)
}

func immediate(s *queue.Settings) { s.Retry.Strategy = backoff.Immediate }

// A letter that never ran, sent back, fails as any other message: three times
// the same is enough.
func TestRowsSentBackAreConvicted(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", immediate)
		asideAndBack(r, "jobs", 1)
		for range 3 {
			r.fails("jobs", r.one("jobs", ""), bezoar.Bug, "KeyError@rows.py:7")
			pass(time.Millisecond)
		}
		r.none("jobs", "")
		if d := r.letter("jobs-dlq"); d.Letter.Receives != 3 || d.Letter.Failure != "KeyError@rows.py:7" {
			r.Errorf("its letter is %+v", d.Letter)
		}
	})
}

// That letters fail again is no outage: fresh messages go on.
func TestLettersThatFailAgainAreNoOutage(t *testing.T) {
	for _, worker := range []string{"", "w"} {
		bubble(t, queue.Config{}, func(r *rig) {
			r.create("jobs", immediate)
			asideAndBack(r, "jobs", 20)
			for range 20 {
				r.fails("jobs", r.one("jobs", worker), bezoar.Bug, "KeyError@rows.py:7")
				pass(time.Millisecond)
			}
			r.wantStates(r.Engine)
			// Other messages that fail alike still are one.
			r.sendMany("jobs", 8)
			for range 60 {
				for _, m := range r.receive("jobs", worker, 10) {
					r.fails("jobs", m, bezoar.Bug, "KeyError@rows.py:7")
				}
			}
			if c := r.Conditions(r.Context()); len(c) != 1 {
				r.Errorf("conditions are %+v, want a pause", c)
			}
		})
	}
}

// A letter that dies again shows what happened in all its lives.
func TestALetterKeepsItsLives(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", immediate)
		r.send("jobs", `{"a message": "that fails"}`)
		for life := range 3 {
			if life > 0 {
				_, err := r.StartTask(r.Context(), queue.MoveTask{Kind: queue.MoveRedrive, Source: "jobs-dlq", Rate: 1000, HaltAbove: 1})
				r.must(err)
				pass(time.Second)
			}
			m := r.one("jobs", "")
			o := queue.Outcome{Class: bezoar.Invalid, Reason: fmt.Sprint("reason ", life+1), Stderr: "what it wrote"}
			r.must(r.Reject(r.Context(), "jobs", m.Receipt, o))
		}
		var got string
		for _, a := range r.letter("jobs-dlq").Letter.Attempts {
			got += fmt.Sprintf("%d: %s %d; ", a.Life, a.Reason, len(a.Stderr))
		}
		if want := "1: reason 1 0; 2: reason 2 0; 0: reason 3 13; "; got != want {
			t.Errorf("its attempts are %q, want %q", got, want)
		}
	})
}
