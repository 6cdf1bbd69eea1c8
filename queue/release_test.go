package queue_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/policy/budget"
	"github.com/bezoar-dev/bezoar/queue"
)

func TestInterruptionsAreFree(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", nil)
		r.send("jobs", "some body")
		for _, class := range []bezoar.Class{bezoar.Interrupted, bezoar.SpawnFailed, bezoar.Interrupted} {
			m := r.one("jobs", "w")
			if m.Receives != 1 {
				r.Fatalf("received %d times, want 1: interruptions do not count", m.Receives)
			}
			r.must(r.Release(r.Context(), "jobs", queue.ReleaseInput{Receipt: m.Receipt, Outcome: &queue.Outcome{Class: class}}))
		}
		m := r.one("jobs", "w") // at once, too
		if len(m.Attempts) != 3 {
			r.Errorf("%d attempts are recorded, want 3", len(m.Attempts))
		}
		err := r.Release(r.Context(), "jobs", queue.ReleaseInput{Receipt: m.Receipt, Outcome: &queue.Outcome{Class: bezoar.Done}})
		if queue.CodeOf(err) != queue.ErrInvalid {
			r.Errorf("released as done: %v", err)
		}
	})
}

// Each strategy waits as it says, counted from the number of receives.
func TestFailuresWaitAsTheQueueSays(t *testing.T) {
	for _, tc := range []struct {
		retry queue.Retry
		after time.Duration // the downstream asked for
		waits []time.Duration
	}{
		{queue.Retry{Strategy: backoff.Immediate}, 0, []time.Duration{0, 0, 0}},
		{queue.Retry{Strategy: backoff.Fixed, Base: 7 * time.Second}, 0, []time.Duration{7 * time.Second, 7 * time.Second}},
		{queue.Retry{Strategy: backoff.Exponential, Base: time.Second, Cap: 3 * time.Second}, 0, []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second}},
		{queue.Retry{Strategy: backoff.Exponential, Base: time.Second}, 3 * time.Second, []time.Duration{3 * time.Second, 3 * time.Second, 4 * time.Second}},
	} {
		bubble(t, queue.Config{}, func(r *rig) {
			r.create("jobs", func(s *queue.Settings) { s.Retry = tc.retry })
			r.send("jobs", "some body")
			for i, wait := range tc.waits {
				m := r.one("jobs", "w")
				r.must(r.Release(r.Context(), "jobs", queue.ReleaseInput{
					Receipt: m.Receipt, RetryAfter: tc.after, Outcome: &queue.Outcome{Class: bezoar.Throttled},
				}))
				if wait > 0 {
					time.Sleep(wait - time.Millisecond)
					r.none("jobs", "w")
					time.Sleep(time.Millisecond)
				}
				if c, err := r.Counts(r.Context(), "jobs"); err != nil || c.Visible != 1 {
					r.Fatalf("%+v: after wait %d of %v it is not visible: %+v %v", tc.retry, i, wait, c, err)
				}
			}
		})
	}
}

// What is drawn at random stays between its bounds, and what was asked for comes
// on top.
func TestJitterStaysWithinItsBounds(t *testing.T) {
	for _, strategy := range []backoff.Strategy{backoff.FullJitter, backoff.EqualJitter, backoff.Decorrelated} {
		bubble(t, queue.Config{}, func(r *rig) {
			r.create("jobs", func(s *queue.Settings) {
				s.Retry = queue.Retry{Strategy: strategy, Base: 4 * time.Second, Cap: 30 * time.Second}
			})
			r.send("jobs", "some body")
			different := map[time.Duration]bool{}
			for i := range 12 {
				m := r.one("jobs", "w")
				began := time.Now()
				r.must(r.Release(r.Context(), "jobs", queue.ReleaseInput{
					Receipt: m.Receipt, Delay: time.Second, Outcome: &queue.Outcome{Class: bezoar.Transient},
				}))
				m2, err := r.Receive(r.Context(), "jobs", queue.ReceiveInput{Wait: new(20 * time.Second)})
				r.must(err)
				if len(m2) == 0 {
					m2, err = r.Receive(r.Context(), "jobs", queue.ReceiveInput{Wait: new(20 * time.Second)})
					r.must(err)
				}
				wait := time.Since(began)
				least := map[backoff.Strategy]time.Duration{backoff.EqualJitter: 2 * time.Second, backoff.Decorrelated: 4 * time.Second}[strategy]
				if len(m2) != 1 || wait < least+time.Second || wait > 31*time.Second+10*time.Millisecond {
					r.Fatalf("%s: wait %d was %v", strategy, i, wait)
				}
				different[wait.Truncate(time.Millisecond)] = true
				r.must(r.Release(r.Context(), "jobs", queue.ReleaseInput{Receipt: m2[0].Receipt, Refund: true}))
			}
			if len(different) < 2 {
				r.Errorf("%s: all waits are among %v", strategy, different)
			}
		})
	}
}

func TestRetriesEndByAttemptsAndByDeadline(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		fixed := queue.Retry{Strategy: backoff.Fixed, Base: 10 * time.Second}
		r.create("three", func(s *queue.Settings) { s.Retry = fixed; s.Retry.Attempts = 3 })
		r.create("late", func(s *queue.Settings) { s.Retry = fixed; s.Retry.Deadline = 25 * time.Second })
		for name, reason := range map[string]string{"three": "3 attempts are used up", "late": "would be later than 25s after its sending"} {
			r.send(name, "some body")
			for range 2 {
				r.fails(name, r.one(name, ""), bezoar.Transient, "")
				pass(10 * time.Second)
			}
			r.fails(name, r.one(name, ""), bezoar.Transient, "")
			pass(10 * time.Second)
			r.none(name, "")
			dead := r.one(name+"-dlq", "")
			if dead.Letter == nil || dead.Letter.Receives != 3 || !strings.Contains(dead.Letter.Reason, reason) {
				r.Errorf("the letter of %s is %+v, want %q", name, dead.Letter, reason)
			}
		}
	})
}

func TestTheSameBugThreeTimesIsEnough(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", func(s *queue.Settings) { s.Retry.Strategy = backoff.Immediate })
		r.send("jobs", `{"bug": true}`)
		for range 3 {
			r.fails("jobs", r.one("jobs", ""), bezoar.Bug, "f1")
		}
		r.none("jobs", "")
		if l := r.one("jobs-dlq", "").Letter; l.Class != bezoar.Bug || l.Failure != "f1" || l.Receives != 3 {
			r.Errorf("the letter is %+v", l)
		}
	})
}

// Retries beyond the budget wait for the cap instead.
func TestARetryBudgetThatIsUsedUpDelays(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", func(s *queue.Settings) {
			s.Retry = queue.Retry{Strategy: backoff.Immediate, Cap: 2 * time.Minute, Budget: budget.Config{Floor: 0.5}} // 5 in 10 s
		})
		r.sendMany("jobs", 20)
		for _, m := range r.receive("jobs", "", 20) {
			r.fails("jobs", m, bezoar.Transient, m.ID)
		}
		r.wantCounts("jobs", 5, 0, 15)
		pass(2*time.Minute - time.Millisecond)
		r.wantCounts("jobs", 5, 0, 15)
		pass(time.Millisecond)
		r.wantCounts("jobs", 20, 0, 0)
	})
}

// outage makes five messages fail alike.
func outage(r *rig, name string) {
	r.Helper()
	for _, m := range r.receive(name, "w", 5) {
		r.fails(name, m, bezoar.Transient, "connection refused")
	}
}

// Law 6: when different payloads fail alike, it is not the payloads.
func TestLaw6AnOutagePausesTheQueueAndCostsNothing(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", func(s *queue.Settings) { s.Retry = queue.Retry{Strategy: backoff.Immediate, Attempts: 2} })
		r.sendMany("jobs", 12)
		late := r.one("jobs", "late")
		outage(r, "jobs")
		why := r.wantStates(r.Engine, "jobs=paused")[0]
		if !strings.Contains(why.Why, "5 of 5 distinct payloads") || why.Failure != "connection refused" || time.Until(why.Until) > 30*time.Second {
			r.Errorf("the condition is %+v", why)
		}
		r.none("jobs", "w")
		r.fails("jobs", late, bezoar.Transient, "connection refused") // excused

		pass(30 * time.Second)
		canary := r.receive("jobs", "w", 10)
		if len(canary) != 1 {
			r.Fatalf("%d messages try whether it works, want 1", len(canary))
		}
		r.none("jobs", "w2")
		r.fails("jobs", canary[0], bezoar.Transient, "connection refused")
		r.none("jobs", "w")
		if again := r.wantStates(r.Engine, "jobs=paused")[0]; again.Level != 2 || time.Until(again.Until) <= 55*time.Second {
			r.Errorf("after a canary that failed: %+v", again)
		}

		pass(time.Minute)
		second := r.one("jobs", "w")
		if second.ID == canary[0].ID {
			r.Error("the same message is the next canary")
		}
		r.delete("jobs", second)
		r.wantStates(r.Engine)
		pass(2 * time.Minute)
		rest := r.receive("jobs", "w", 20)
		if len(rest) != 11 {
			r.Fatalf("%d messages are left, want 11", len(rest))
		}
		counted := 0
		for _, m := range rest {
			if m.Receives > 1 {
				counted++
			}
		}
		if counted > 4 { // those that failed before it was an outage
			r.Errorf("%d messages lost an attempt to the outage, want at most 4", counted)
		}
	})
}

// Copies of one poison payload are one payload, however often they are sent; and
// whoever sends malformed messages cannot pause the queue.
func TestPoisonIsNoOutage(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", func(s *queue.Settings) { s.Retry.Strategy = backoff.Immediate })
		for range 8 {
			r.send("jobs", `{"the same": "poison"}`)
		}
		for range 8 {
			if m := r.receive("jobs", "w", 1); len(m) == 1 {
				r.fails("jobs", m[0], bezoar.Bug, "f1")
			}
		}
		r.sendMany("jobs", 8)
		for _, m := range r.receive("jobs", "w", 8) {
			r.fails("jobs", m, bezoar.Invalid, "f2")
		}
		r.wantStates(r.Engine)
	})
}

func TestAnOperatorResumesAQueue(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", nil)
		r.sendMany("jobs", 6)
		outage(r, "jobs")
		r.none("jobs", "w")
		woken := make(chan int)
		go func() {
			m, _ := r.Receive(r.Context(), "jobs", queue.ReceiveInput{Wait: new(20 * time.Second)})
			woken <- len(m)
		}()
		synctest.Wait()
		r.must(r.Resume(r.Context(), "jobs"))
		if n := <-woken; n != 1 {
			r.Errorf("who waited received %d messages, want 1", n)
		}
		r.must(r.Resume(r.Context(), "jobs")) // again is nothing
		if err := r.Resume(r.Context(), "nowhere"); queue.CodeOf(err) != queue.ErrQueueNotFound {
			r.Errorf("resumed nowhere: %v", err)
		}
	})
}

func TestReleasesOfABatchAreJudgedEachByItself(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", func(s *queue.Settings) { s.Retry.Strategy = backoff.Fixed })
		r.sendMany("jobs", 4)
		m := r.receive("jobs", "w", 4)
		stale := m[3].Receipt
		stale.Generation++
		results, err := r.ReleaseBatch(r.Context(), "jobs", []queue.ReleaseInput{
			{Receipt: m[0].Receipt, Outcome: &queue.Outcome{Class: bezoar.Transient}},
			{Receipt: m[1].Receipt, Delay: -1},
			{Receipt: m[2].Receipt, Outcome: &queue.Outcome{Class: bezoar.Interrupted}},
			{Receipt: stale, Outcome: &queue.Outcome{Class: bezoar.Bug}},
		})
		r.must(err)
		var codes []queue.Code
		for _, err := range results {
			codes = append(codes, queue.CodeOf(err))
		}
		if got, want := fmt.Sprintf("%q", codes), `["" "invalid argument" "" "receipt stale"]`; got != want {
			r.Errorf("results are %s, want %s", got, want)
		}
		r.wantCounts("jobs", 1, 2, 1)
	})
}

// What died among others is tried alone, and convicted only by what it does
// there, even where one death is enough.
func TestADeathAmongOthersConvictsNobody(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", func(s *queue.Settings) {
			s.Quarantine.After, s.Retry = 1, queue.Retry{Strategy: backoff.Immediate}
		})
		r.send("jobs", "the body that kills", "an innocent body")
		die := func(m queue.Message, holding int) {
			r.must(r.Release(r.Context(), "jobs", queue.ReleaseInput{
				Receipt: m.Receipt, Outcome: &queue.Outcome{Class: bezoar.Crash, Reason: "broken off"}, Holding: holding,
			}))
		}
		for _, m := range r.receive("jobs", "w", 2) {
			die(m, 2)
		}
		r.wantCounts("jobs", 2, 0, 0)
		for range 2 {
			m := r.one("jobs", "w")
			if !m.Alone {
				r.Errorf("%s is not delivered alone", m.Body)
			}
			if string(m.Body) == "an innocent body" {
				r.delete("jobs", m)
				continue
			}
			die(m, 1)
		}
		r.wantCounts("jobs", 0, 0, 0)
		r.wantCounts("jobs-dlq", 1, 0, 0)
	})
}
