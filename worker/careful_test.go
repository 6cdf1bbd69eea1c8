package worker_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/worker"
)

// Workers in containers that keep no state: what kills them is found out all the
// same, by the queue or by its receives, and nothing that is innocent is lost.
func TestAMessageThatKillsWorkersWithoutAPast(t *testing.T) {
	for _, kind := range []string{"bezoar", "foreign"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.create("dead", nil)
			r.create("jobs", func(s *queue.Settings) {
				if kind == "foreign" {
					s.Quarantine.Off, s.DeadLetter = true, queue.DeadLetter{Queue: "dead", MaxReceives: 3}
				}
			})
			done := t.TempDir()
			s := setup{
				URL: r.url + "jobs", Concurrency: 4, Visibility: 2 * time.Second,
				Script: fmt.Sprintf(`body=$(cat); case "$body" in die*) kill -KILL $PPID; sleep 10;; esac; sleep 0.2; echo "$body" > %s/$BEZOAR_MESSAGE_ID`, done),
			}
			dead := "jobs-dlq"
			if kind == "foreign" {
				s.URL, s.DeadLetter, dead = r.foreign+"jobs", r.foreign+"dead", "dead"
			}
			bodies := []string{"die of this message"}
			for i := range 5 {
				bodies = append(bodies, fmt.Sprintf("an innocent message, number %d", i))
			}
			r.send("jobs", bodies...)
			for deaths := 0; ; deaths++ {
				if deaths > 4 {
					t.Fatalf("%d workers died", deaths)
				}
				s.State = filepath.Join(t.TempDir(), "state")
				w := r.spawn(s)
				if survives(t, r, w, dead) {
					w.term(t)
					break
				}
			}
			files(t, done, 5)
			if m := r.messages(dead); len(m) != 1 || string(m[0].Body) != "die of this message" {
				t.Errorf("set aside was %+v", m)
			}
		})
	}
}

// On a queue without a RedrivePolicy everything else is done before a message that
// may have killed workers runs again; after ten receives it is set aside, or left
// where there is no place for it.
func TestAPillWithoutARedrivePolicy(t *testing.T) {
	for name, c := range map[string]struct {
		received int
		place    string
	}{"others go first": {2, ""}, "set aside": {9, "dead"}, "left": {9, ""}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.aged.Store(true)
			r.create("dead", nil)
			r.create("jobs", func(s *queue.Settings) { s.Quarantine.Off = true })
			r.send("jobs", "die of this message")
			r.receives("jobs", c.received)
			done, bodies := t.TempDir(), []string{}
			for i := range 5 {
				bodies = append(bodies, fmt.Sprintf("an innocent message, number %d", i))
			}
			r.send("jobs", bodies...)
			s := setup{
				URL: r.foreign + "jobs", Concurrency: 2, Visibility: 2 * time.Second,
				Script: fmt.Sprintf(`body=$(cat); case "$body" in die*) kill -KILL $PPID; sleep 10;; esac; echo "$body" > %s/$BEZOAR_MESSAGE_ID`, done),
			}
			if c.place != "" {
				s.DeadLetter = r.foreign + c.place
			}
			w := r.spawn(s)
			switch {
			case c.received == 2:
				<-w.ended
				if n, _ := filepath.Glob(filepath.Join(done, "*")); len(n) != 5 {
					t.Errorf("%d innocents were done before the worker died, want 5", len(n))
				}
				return
			case c.place != "":
				if !survives(t, r, w, c.place) {
					t.Fatal("the worker died")
				}
			default:
				for e := range w.events {
					if e.Outcome == worker.OutcomeLeft {
						break
					}
				}
			}
			files(t, done, 5)
			w.term(t)
		})
	}
}

// A message that killed a worker without a past stays away longer than a lease, so that each
// kills one worker of many at most. What is sent meanwhile is done.
func TestPillsWithoutARedrivePolicyStayAway(t *testing.T) {
	t.Parallel()
	const pills = 4 // more than fewWorn: none of them may be set aside unseen
	r := newRig(t)
	r.create("jobs", func(s *queue.Settings) { s.Quarantine.Off = true })
	for i := range pills {
		r.send("jobs", fmt.Sprintf("die of this message, number %d", i))
	}
	r.receives("jobs", 12)
	done := t.TempDir()
	s := setup{
		URL: r.foreign + "jobs", Concurrency: 2, Visibility: 2 * time.Second,
		Script: fmt.Sprintf(`body=$(cat); case "$body" in die*) kill -KILL $PPID; sleep 10;; esac; echo "$body" > %s/$BEZOAR_MESSAGE_ID`, done),
	}
	for deaths := 1; deaths <= pills; deaths++ {
		r.send("jobs", fmt.Sprintf("an innocent message, number %d", deaths))
		w := r.spawn(s)
		files(t, done, deaths)
		<-w.ended
		away := 0
		for _, m := range r.messages("jobs") {
			if time.Until(m.VisibleAt) > time.Minute {
				away++
			}
		}
		if away != deaths {
			t.Fatalf("%d messages stay away after %d deaths", away, deaths)
		}
	}
}

// receives receives all messages of a queue so often, and gives them back.
func (r *rig) receives(name string, times int) {
	r.Helper()
	for range times {
		if m, err := r.engine.Receive(r.Context(), name, queue.ReceiveInput{Max: 10, Visibility: new(time.Duration(0))}); err != nil || len(m) == 0 {
			r.Fatalf("received %d: %v", len(m), err)
		}
	}
}

// What an outage leaves was received again and again too. It runs: there is too much
// of it for poison, or it came again faster than leases end.
func TestWhatAnOutageLeavesIsNotSetAside(t *testing.T) {
	for name, c := range map[string]struct {
		messages int
		aged     bool
	}{"many": {5, true}, "given back": {1, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.aged.Store(c.aged)
			r.create("dead", nil)
			r.create("jobs", func(s *queue.Settings) { s.Quarantine.Off = true })
			for i := range c.messages {
				r.send("jobs", fmt.Sprintf("it was tried again and again in an outage, number %d", i))
			}
			r.receives("jobs", 12)
			done := t.TempDir()
			w := r.spawn(setup{
				URL: r.foreign + "jobs", DeadLetter: r.foreign + "dead", Concurrency: 2, Visibility: 2 * time.Second,
				Script: fmt.Sprintf(`cat > %s/$BEZOAR_MESSAGE_ID`, done),
			})
			for left := c.messages; left > 0; {
				switch e := w.next(t); e.Outcome {
				case worker.OutcomeDone:
					left--
				case worker.OutcomeReturned:
				default:
					t.Fatalf("it is %s: %s", e.Outcome, e.Why)
				}
			}
			files(t, done, c.messages)
			w.term(t)
		})
	}
}

// Where the queue has a RedrivePolicy it is that which ends a message, however many
// receives it allows.
func TestARedrivePolicyOfManyReceivesCounts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create("dead", nil)
	r.create("jobs", func(s *queue.Settings) {
		s.Quarantine.Off = true
		s.DeadLetter = queue.DeadLetter{Queue: "dead", MaxReceives: 50}
	})
	r.send("jobs", "it was tried again and again in an outage")
	r.receives("jobs", 12)
	done := t.TempDir()
	w := r.spawn(setup{URL: r.foreign + "jobs", Concurrency: 2, Visibility: 2 * time.Second, Script: fmt.Sprintf(`cat > %s/$BEZOAR_MESSAGE_ID`, done)})
	if e := <-w.events; e.Outcome != worker.OutcomeDone {
		t.Errorf("it is %s: %s", e.Outcome, e.Why)
	}
	w.term(t)
}
