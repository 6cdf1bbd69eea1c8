package triage_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/queue"
)

const search = "gateway:search"

var inSearch = queue.Selection{Queue: search}

func TestARequestIsShownAsALetter(t *testing.T) {
	test(t, newSource(), func(r *rig) {
		id := r.source.kept.add(1, bezoar.Crash)[0]
		l, err := r.Letter(r.Context(), id)
		r.must(l, err)
		if l.Queue != search || l.Class != bezoar.Crash || l.Receives != 2 || !strings.HasPrefix(l.Group, "crash:payload-01") {
			t.Errorf("the letter is %+v", l)
		}
		if *l.Body.Text != "q" || l.Attributes["Target"].Value != "/search?q=1" || l.Attributes["Header.Accept"].Value != "a, b" {
			t.Errorf("body and attributes are %+v, %+v", l.Body, l.Attributes)
		}
		if !l.Attributes["Header.Cookie"].Masked || l.Attempts[0].Reason != "killed\noh" || l.Attempts[0].Worker != "w-1" {
			t.Errorf("the letter is %+v", l)
		}
	})
}

func TestSelectionsOfASource(t *testing.T) {
	test(t, newSource(), func(r *rig) {
		ids := r.source.kept.add(3, bezoar.Crash)
		at := time.Now()
		oom := r.source.kept.add(2, bezoar.OOM)
		one, err := r.Letter(r.Context(), ids[0])
		r.must(one, err)
		for name, c := range map[string]struct {
			s    queue.Selection
			want int64
		}{
			"all":            {queue.Selection{}, 5},
			"its name":       {inSearch, 5},
			"a queue":        {queue.Selection{Queue: dlq}, 0},
			"the trash":      {queue.Selection{Queue: queue.TrashQueue}, 0},
			"a class":        {queue.Selection{Class: "oom"}, 2},
			"an origin":      {queue.Selection{Origin: search}, 5},
			"another origin": {queue.Selection{Origin: jobs}, 0},
			"ids":            {queue.Selection{IDs: []string{ids[0], oom[0], "x"}}, 2},
			"a group":        {queue.Selection{Groups: []string{one.Group}}, 1},
			"after":          {queue.Selection{After: at.Add(time.Millisecond)}, 2},
			"before":         {queue.Selection{Before: at}, 2},
			"a body":         {queue.Selection{Body: "q"}, 5},
			"another body":   {queue.Selection{Body: "x"}, 0},
			"a reason":       {queue.Selection{Reason: "/search?q=1: signal"}, 5},
			"another reason": {queue.Selection{Reason: "stopped"}, 0},
			"an attribute":   {queue.Selection{Attributes: map[string]string{"Method": "POST", "Header.Accept": "a, b"}, Body: "q"}, 5},
			"another value":  {queue.Selection{Attributes: map[string]string{"Method": "POS"}}, 0},
		} {
			if n := r.count(c.s); n != c.want {
				t.Errorf("%s: %d letters, want %d", name, n, c.want)
			}
		}
	})
}

func TestRequestsAreRedrivenOneByOne(t *testing.T) {
	test(t, newSource(), func(r *rig) {
		ids := r.source.kept.add(12, bezoar.Crash)
		r.source.kept.outcome[ids[3]] = queue.Outcome{Class: bezoar.Crash}
		tasks, err := r.Do(r.Context(), ann, triage.Redrive, inSearch, triage.Options{Rate: 2}, 12)
		r.must(tasks, err)
		began := time.Now()
		done := r.finish(tasks[0].ID, nil)
		if done.State != queue.MoveCompleted || done.Succeeded != 11 || done.FailedAgain != 1 || done.Moved != 12 {
			t.Errorf("the task is %+v", done)
		}
		if took := time.Since(began); took < 5*time.Second || took > 7*time.Second {
			t.Errorf("12 letters at 2/s took %v", took)
		}
		if n := r.count(inSearch); n != 1 {
			t.Errorf("%d letters are left", n)
		}
		slices.Sort(r.source.kept.ran)
		if len(slices.Compact(r.source.kept.ran)) != 12 {
			t.Errorf("ran %q", r.source.kept.ran)
		}
		r.pass(2 * time.Second)
		if e := r.log("redrive.end"); e.Object != done.ID || !strings.Contains(string(e.Detail), `"failed_again":1`) {
			t.Errorf("the end in the log: %+v", e)
		}
	})
}

func TestARedriveOfRequestsHalts(t *testing.T) {
	test(t, newSource(), func(r *rig) {
		for _, id := range r.source.kept.add(30, bezoar.Crash) {
			r.source.kept.outcome[id] = queue.Outcome{Class: bezoar.Crash}
		}
		tasks, err := r.Do(r.Context(), ann, triage.Redrive, inSearch, triage.Options{}, 30)
		r.must(tasks, err)
		halted := r.finish(tasks[0].ID, nil)
		if halted.State != queue.MoveHalted || halted.FailedAgain != triage.DefaultCanary || !strings.Contains(halted.Failure, "5 of the 5 that have ended") {
			t.Fatalf("the task is %+v", halted)
		}
		clear(r.source.kept.outcome) // somebody fixed it
		r.must(r.Resume(r.Context(), ann, halted.ID))
		if done := r.finish(halted.ID, nil); done.State != queue.MoveCompleted || done.Succeeded != 25 || done.Failure != "" {
			t.Errorf("after it was resumed: %+v", done)
		}
		_, err = r.Cancel(r.Context(), ann, halted.ID)
		r.wants(err, queue.ErrMoveNotRunning)
	})
}

func TestARunOfRequestsIsPausedAndCancelled(t *testing.T) {
	test(t, newSource(), func(r *rig) {
		r.source.kept.add(30, bezoar.Crash)
		tasks, err := r.Do(r.Context(), ann, triage.Discard, inSearch, triage.Options{Rate: 5}, 30)
		r.must(tasks, err)
		id := tasks[0].ID
		r.pass(2 * time.Second)
		r.must(r.Pause(r.Context(), ann, id))
		r.pass(2 * time.Second)
		paused, err := r.Task(r.Context(), id)
		r.must(paused, err)
		r.pass(time.Minute)
		if later, err := r.Task(r.Context(), id); err != nil || later.Moved != paused.Moved || later.State != queue.MovePaused || paused.Moved < 5 || paused.Moved > 20 {
			t.Errorf("paused %+v, a minute later %+v, %v", paused, later, err)
		}
		if n := r.count(inSearch); n != 30-paused.Moved {
			t.Errorf("%d letters are left of 30, and %d were moved", n, paused.Moved)
		}
		r.must(r.SetRate(r.Context(), ann, id, 1))
		r.must(r.Resume(r.Context(), ann, id))
		r.pass(5 * time.Second)
		cancelled, err := r.Cancel(r.Context(), ann, id)
		r.must(cancelled, err)
		r.pass(5 * time.Second)
		end, err := r.Task(r.Context(), id)
		if err != nil || end.State != queue.MoveCancelled || end.Moved > paused.Moved+8 || end.Ended.IsZero() {
			t.Errorf("cancelled %+v, %v", end, err)
		}
	})
}

// A service that stops lets another one go on at once; one that dies is missed
// after two minutes. What it was running is not run twice.
func TestAnotherServiceGoesOn(t *testing.T) {
	for name, dies := range map[string]bool{"stops": false, "dies": true} {
		t.Run(name, func(t *testing.T) {
			src := newSource()
			test(t, src, func(r *rig) {
				src.kept.add(6, bezoar.Crash)
				src.kept.hang, src.kept.began = make(chan struct{}), make(chan string)
				tasks, err := r.Do(r.Context(), ann, triage.Redrive, inSearch, triage.Options{HaltAbove: triage.NeverHalt}, 6)
				r.must(tasks, err)
				first := <-src.kept.began
				if dies {
					r.abandon(tasks[0].ID)
				} else {
					r.stop()
				}
				close(src.kept.hang)
				src.kept.began = nil
				r.run(r.service().Run)
				done := r.finish(tasks[0].ID, nil)
				if done.State != queue.MoveCompleted || done.Succeeded != 5 || done.FailedAgain != 1 {
					t.Errorf("the task is %+v", done)
				}
				ran := slices.Clone(src.kept.ran)
				slices.Sort(ran)
				if len(ran) != 6 || len(slices.Compact(ran)) != 6 || !slices.Contains(src.kept.ran, first) {
					t.Errorf("ran %q", src.kept.ran)
				}
			})
		})
	}
}

func TestAPlanOverQueuesAndSources(t *testing.T) {
	test(t, newSource(), func(r *rig) {
		s := queue.DefaultSettings()
		r.must(r.engine.CreateQueue(r.Context(), "other-dlq", s, nil))
		s.DeadLetter = queue.DeadLetter{Queue: "other-dlq", MaxReceives: 3}
		r.must(r.engine.CreateQueue(r.Context(), "other", s, nil))
		r.kill(3, "a")
		r.source.kept.add(2, bezoar.Crash)
		r.must(r.engine.Send(r.Context(), "other", queue.SendInput{Body: []byte("x")}))
		m, err := r.engine.Receive(r.Context(), "other", queue.ReceiveInput{})
		r.must(m, err)
		if err := r.engine.Reject(r.Context(), "other", m[0].Receipt, queue.Outcome{Class: bezoar.Bug}); err != nil {
			t.Fatal(err)
		}

		p, err := r.Plan(r.Context(), ann, triage.Redrive, queue.Selection{}, triage.Options{})
		r.must(p, err)
		if p.Count != 6 || len(p.Parts) != 3 {
			t.Errorf("planned %+v", p)
		}
		tasks, err := r.Execute(r.Context(), ann, p.ID)
		r.must(tasks, err)
		var moved int64
		for _, task := range tasks {
			moved += r.finish(task.ID, func() { r.work(); r.done("other") }).Moved
		}
		if moved != 6 || r.count(queue.Selection{}) != 0 {
			t.Errorf("%d were moved, %d are left", moved, r.count(queue.Selection{}))
		}
		all, err := r.Tasks(r.Context(), triage.TaskQuery{})
		if err != nil || len(all) != 3 {
			t.Errorf("tasks %+v, %v", all, err)
		}
		if live, err := r.Tasks(r.Context(), triage.TaskQuery{Live: true}); err != nil || len(live) != 0 {
			t.Errorf("live tasks %+v, %v", live, err)
		}
		if one, err := r.Tasks(r.Context(), triage.TaskQuery{Source: search, Limit: 1}); err != nil || len(one) != 1 || one[0].Planned != 2 {
			t.Errorf("tasks of the source %+v, %v", one, err)
		}
	})
}

func TestConfigNamesEveryFault(t *testing.T) {
	src := newSource()
	_, err := triage.New(triage.Config{PollEvery: -1, Sources: []triage.Source{src, src}})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, field := range []string{"Queue:", "PollEvery:", "Sources[1]"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("%q does not name %s", err, field)
		}
	}
}

// Without tasks a service lets the store rest, unless other processes may leave tasks there.
func TestAServiceWithoutTasksSleeps(t *testing.T) {
	test(t, newSource(), func(r *rig) {
		during := func(d time.Duration) int64 {
			synctest.Wait()
			before := r.asked.times.Load()
			time.Sleep(d)
			return r.asked.times.Load() - before
		}
		if n := during(10 * time.Minute); n > 130 {
			t.Errorf("the store was asked %d times in ten minutes without tasks", n)
		}
		r.asked.shared.Store(true)
		time.Sleep(time.Minute)
		if n := during(time.Minute); n < 200 {
			t.Errorf("a shared store was asked %d times in a minute", n)
		}
		r.asked.shared.Store(false)
		during(time.Minute)
		r.kill(3, "a")
		p, err := r.Plan(r.Context(), ann, triage.Redrive, queue.Selection{Queue: dlq}, triage.Options{})
		r.must(nil, err)
		r.must(r.Execute(r.Context(), ann, p.ID))
		if n := during(10 * time.Second); n < 30 {
			t.Errorf("the store was asked %d times in ten seconds after a redrive began", n)
		}
	})
}
