package triage_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/queue"
)

func TestARedriveHaltsByItsCanary(t *testing.T) {
	test(t, nil, func(r *rig) {
		r.kill(25, "a")
		p, err := r.Plan(r.Context(), ann, triage.Redrive, queue.Selection{Queue: dlq}, triage.Options{})
		r.must(p, err)
		if p.Options.Canary != triage.DefaultCanary {
			t.Fatalf("the canary of 25 is %d", p.Options.Canary)
		}
		tasks, err := r.Execute(r.Context(), ann, p.ID)
		r.must(tasks, err)
		halted := r.finish(tasks[0].ID, func() { r.reject("a") })
		if halted.State != queue.MoveHalted || halted.Moved != 5 || halted.FailedAgain != 5 || halted.Failure == "" || halted.Arrivals != 5 {
			t.Fatalf("with a canary that dies the task is %+v", halted)
		}
		if n := r.count(queue.Selection{Queue: dlq}); n != 25 {
			t.Errorf("%d letters are in the queue", n)
		}

		r.must(r.Resume(r.Context(), ann, halted.ID))
		done := r.finish(halted.ID, r.work)
		if done.State != queue.MoveCompleted || done.Moved != 25 || r.log("task.resume").Object != halted.ID {
			t.Errorf("after it was resumed: %+v", done)
		}
	})
}

// A redrive has completed when what it sent has ended, and says until then what
// it waits for.
func TestARedriveWaitsForWhatItSent(t *testing.T) {
	test(t, nil, func(r *rig) {
		r.kill(3, "a")
		tasks, err := r.Do(r.Context(), ann, triage.Redrive, queue.Selection{Queue: dlq}, triage.Options{}, 3)
		r.must(tasks, err)
		r.pass(time.Minute)
		t := r.task(tasks[0].ID)
		if t.Over() || t.Moved != 3 || t.Waiting != 3 || !strings.Contains(t.Waits, "3 of the 3 messages that it sent") || t.Left != 0 {
			r.Errorf("with nobody at work the task is %+v", t)
		}
		r.work()
		if done := r.finish(t.ID, nil); done.State != queue.MoveCompleted || done.Succeeded != 3 || done.Waits != "" {
			r.Errorf("when all have worked: %+v", done)
		}
	})
}

func TestATaskIsPausedSlowedAndCancelled(t *testing.T) {
	test(t, nil, func(r *rig) {
		r.kill(60, "a")
		tasks, err := r.Do(r.Context(), ann, triage.Discard, queue.Selection{Queue: dlq}, triage.Options{Rate: 10}, 60)
		r.must(tasks, err)
		id := tasks[0].ID
		r.pass(3 * time.Second)
		r.must(r.Pause(r.Context(), ann, id))
		r.pass(time.Second)
		paused, err := r.Task(r.Context(), id)
		r.must(paused, err)
		r.pass(time.Minute)
		later, err := r.Task(r.Context(), id)
		r.must(later, err)
		if paused.State != queue.MovePaused || paused.Moved < 10 || paused.Moved > 35 || later.Moved != paused.Moved || later.Left != 0 {
			t.Errorf("paused %+v, a minute later %+v", paused, later)
		}

		slow, err := r.SetRate(r.Context(), ann, id, 1)
		if err != nil || slow.Rate != 1 {
			t.Errorf("slowed %+v, %v", slow, err)
		}
		going, err := r.Resume(r.Context(), ann, id)
		if want := time.Duration(60-paused.Moved) * time.Second; err != nil || going.Left != want {
			t.Errorf("at 1/s %v are left, %v, want %v", going.Left, err, want)
		}
		r.pass(10 * time.Second)
		cancelled, err := r.Cancel(r.Context(), ann, id)
		if err != nil || cancelled.State != queue.MoveCancelled || cancelled.Moved < paused.Moved+8 || cancelled.Moved > paused.Moved+12 {
			t.Errorf("cancelled %+v, %v", cancelled, err)
		}
		_, err = r.Resume(r.Context(), ann, id)
		r.wants(err, queue.ErrMoveNotRunning)
		if e := r.log("task.resume"); e.Error == "" {
			t.Errorf("the refusal in the log: %+v", e)
		}
		_, err = r.Pause(r.Context(), ann, "nobody")
		r.wants(err, queue.ErrMoveNotFound)
		_, err = r.SetRate(r.Context(), ann, id, 0)
		r.wants(err, triage.ErrInvalid)
	})
}

// The counts of a task only grow, until it is over.
func TestATaskShowsHowFarItIs(t *testing.T) {
	test(t, nil, func(r *rig) {
		r.kill(30, "a")
		tasks, err := r.Do(r.Context(), ann, triage.Discard, queue.Selection{Queue: dlq}, triage.Options{Rate: 10}, -1)
		r.must(tasks, err)
		seen := map[int64]bool{}
		last := watch(r, r.Service, tasks[0].ID, func(task triage.Task) { seen[task.Moved] = true })
		if last.Moved != 30 || len(seen) < 4 || slices.Max(slices.Collect(maps.Keys(seen))) != 30 {
			t.Errorf("watched %v until %+v", seen, last)
		}
		_, err = r.Task(r.Context(), "nobody")
		r.wants(err, queue.ErrMoveNotFound)
	})
}

// watch looks at a task until it is over.
func watch(t testing.TB, svc *triage.Service, id string, look func(triage.Task)) triage.Task {
	t.Helper()
	for {
		task, err := svc.Task(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if look(task); task.Over() {
			return task
		}
		<-time.After(10 * time.Millisecond)
	}
}

func TestSingleLettersAreMovedAllOrNone(t *testing.T) {
	test(t, nil, func(r *rig) {
		ids := r.kill(3, "a")
		_, err := r.DoLetters(r.Context(), ann, triage.Discard, []string{ids[0], "nobody"}, triage.Options{})
		r.wants(err, queue.ErrLetterNotFound)
		if n := r.count(queue.Selection{}); n != 3 {
			t.Fatalf("%d letters are left", n)
		}
		_, err = r.DoLetters(r.Context(), ann, triage.Restore, ids[:1], triage.Options{})
		r.wants(err, queue.ErrLetterNotFound)
		_, err = r.DoLetters(r.Context(), ann, triage.Redrive, nil, triage.Options{})
		r.wants(err, triage.ErrInvalid)

		tasks, err := r.DoLetters(r.Context(), ann, triage.Discard, []string{ids[0], ids[1], ids[0]}, triage.Options{})
		r.must(tasks, err)
		if done := r.finish(tasks[0].ID, nil); done.Moved != 2 {
			t.Errorf("discarded %+v", done)
		}
		trash, err := r.Letters(r.Context(), queue.Selection{Queue: queue.TrashQueue}, "", 0)
		if err != nil || len(trash.Letters) != 2 || trash.Letters[0].Discarded.From != dlq {
			t.Errorf("the trash holds %+v, %v", trash.Letters, err)
		}
		_, err = r.DoLetters(r.Context(), ann, triage.Redrive, ids[:1], triage.Options{})
		r.wants(err, queue.ErrLetterNotFound)
		tasks, err = r.DoLetters(r.Context(), ann, triage.Restore, ids[:2], triage.Options{})
		r.must(tasks, err)
		if done := r.finish(tasks[0].ID, nil); done.Moved != 2 || r.count(queue.Selection{Queue: dlq}) != 3 {
			t.Errorf("restored %+v", done)
		}
	})
}

// A plan and a task name the pause that what they send waits behind.
func TestARedriveIntoAPausedQueueSaysSo(t *testing.T) {
	test(t, nil, func(r *rig) {
		r.kill(3, "a")
		r.must(nil, r.engine.Pause(r.Context(), jobs, queue.Pause{By: "bob", Reason: "a migration"}))
		p, err := r.Plan(r.Context(), ann, triage.Redrive, queue.Selection{Queue: dlq}, triage.Options{})
		r.must(p, err)
		const want = "nothing is received from jobs for now"
		if w := strings.Join(p.Warnings, "\n"); !strings.Contains(w, want) || !strings.Contains(w, "a migration") {
			t.Errorf("the plan warns %q", w)
		}
		tasks, err := r.Execute(r.Context(), ann, p.ID)
		r.must(tasks, err)
		r.pass(time.Minute)
		if w := r.task(tasks[0].ID).Waits; !strings.Contains(w, want) || !strings.Contains(w, "a migration") {
			t.Errorf("the task waits for %q", w)
		}
	})
}
