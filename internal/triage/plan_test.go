package triage_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

func TestAPlanFreezesWhatIsMeant(t *testing.T) {
	test(t, nil, func(r *rig) {
		r.kill(4, "a")
		r.kill(3, "b")
		p, err := r.Plan(r.Context(), ann, triage.Redrive, queue.Selection{Queue: dlq}, triage.Options{Reason: "fixed"})
		r.must(p, err)
		if p.Count != 7 || len(p.Sample) != triage.MaxSample || len(p.Groups) != 2 || p.Groups[1].Count != 4 || p.Others != 0 {
			t.Errorf("planned %+v", p)
		}
		if len(p.Destinations) != 1 || p.Destinations[0] != jobs {
			t.Errorf("destinations %q", p.Destinations)
		}
		if p.Options.Rate != triage.DefaultRate || p.Options.Canary != 0 || p.Options.HaltAbove != triage.DefaultHaltAbove {
			t.Errorf("options %+v", p.Options)
		}
		if p.Sample[0].Body != nil || p.Sample[0].Attributes != nil {
			t.Errorf("a sample has a body: %+v", p.Sample[0])
		}
		kept, err := r.PlanByID(r.Context(), p.ID)
		if err != nil || kept.Count != 7 || kept.Used || !kept.Expires.Equal(p.Expires) {
			t.Errorf("kept %+v, %v", kept, err)
		}
		late := r.kill(2, "a")

		tasks, err := r.Execute(r.Context(), ann, p.ID)
		r.must(tasks, err)
		done := r.finish(tasks[0].ID, r.work)
		if done.State != queue.MoveCompleted || done.Planned != 7 || done.Moved != 7 {
			t.Errorf("task %+v", done)
		}
		left, err := r.Letters(r.Context(), queue.Selection{}, "", 0)
		if err != nil || len(left.Letters) != 2 || left.Letters[0].ID != late[1] || left.Letters[1].ID != late[0] {
			t.Errorf("what came after the plan: %+v, %v", left.Letters, err)
		}
	})
}

func TestAPlanByWhatIsWithinLetters(t *testing.T) {
	test(t, newSource(), func(r *rig) {
		r.kill(4, "a")
		r.kill(3, "b")
		r.source.kept.add(2, bezoar.Crash)
		s := queue.Selection{Body: "of b", Attributes: map[string]string{"trace": "t"}, Reason: "broke"}
		p, err := r.Plan(r.Context(), ann, triage.Discard, s, triage.Options{})
		r.must(p, err)
		kept, err := r.PlanByID(r.Context(), p.ID)
		if err != nil || p.Count != 3 || len(p.Parts) != 1 || len(p.Groups) != 1 || kept.Selection.Body != "of b" || kept.Selection.Attributes["trace"] != "t" {
			t.Fatalf("planned %+v, kept %+v, %v", p, kept, err)
		}
		if note := string(r.log("discard.plan").Detail); !strings.Contains(note, `"body":"of b"`) || !strings.Contains(note, `"reason":"broke"`) {
			t.Errorf("the log says %s", note)
		}
		r.kill(1, "b") // is not of the plan
		tasks, err := r.Execute(r.Context(), ann, p.ID)
		r.must(tasks, err)
		if done := r.finish(tasks[0].ID, nil); done.State != queue.MoveCompleted || done.Moved != 3 {
			t.Errorf("task %+v", done)
		}
		if n := r.count(queue.Selection{Queue: dlq}); n != 5 {
			t.Errorf("%d letters are left", n)
		}
		s.Attributes = map[string]string{"Authorization": "hunter2"}
		_, err = r.Plan(r.Context(), ann, triage.Discard, s, triage.Options{})
		r.wants(err, triage.ErrInvalid)
		_, err = r.Letters(r.Context(), s, "", 0)
		r.wants(err, triage.ErrInvalid)
		_, err = r.Groups(r.Context(), queue.Selection{Body: strings.Repeat("x", 1025)}, 0)
		r.wants(err, queue.ErrInvalid)
	})
}

func TestAPlanIsUsedOnce(t *testing.T) {
	test(t, nil, func(r *rig) {
		r.kill(2, "a")
		p, err := r.Plan(r.Context(), ann, triage.Discard, queue.Selection{Queue: dlq}, triage.Options{})
		r.must(p, err)
		results := make(chan error, 8)
		var racers sync.WaitGroup
		for range cap(results) {
			racers.Go(func() {
				_, err := r.Execute(r.Context(), ann, p.ID)
				results <- err
			})
		}
		racers.Wait()
		won := 0
		for range cap(results) {
			err := <-results
			if err == nil {
				won++
			} else if !errors.Is(err, triage.ErrPlanUsed) && !errors.Is(err, triage.ErrPlanChanged) {
				t.Errorf("a loser got %v", err)
			}
		}
		if won != 1 {
			t.Errorf("%d executed the plan", won)
		}
		used, err := r.PlanByID(r.Context(), p.ID)
		if err != nil || !used.Used || len(used.Tasks) != 1 {
			t.Errorf("the plan is %+v, %v", used, err)
		}
		tasks, err := r.Tasks(r.Context(), triage.TaskQuery{})
		if err != nil || len(tasks) != 1 {
			t.Errorf("tasks %+v, %v", tasks, err)
		}
		_, err = r.Execute(r.Context(), ann, p.ID)
		r.wants(err, triage.ErrPlanUsed)
	})
}

func TestAPlanThatChangedIsRefused(t *testing.T) {
	test(t, nil, func(r *rig) {
		ids := r.kill(3, "a")
		p, err := r.Plan(r.Context(), ann, triage.Redrive, queue.Selection{Groups: []string{"bug:a"}}, triage.Options{})
		r.must(p, err)
		gone, err := r.DoLetters(r.Context(), "bob", triage.Discard, ids[:1], triage.Options{})
		r.must(gone, err)
		r.finish(gone[0].ID, nil)

		_, err = r.Execute(r.Context(), ann, p.ID)
		r.wants(err, triage.ErrPlanChanged)
		changed, ok := errors.AsType[*triage.ChangedError](err)
		if !ok || changed.Planned != 3 || changed.Now != 2 {
			t.Errorf("the error is %v", err)
		}
		e := r.log("redrive.start")
		if !strings.Contains(e.Error, "3 letters were planned, 2 are there now") || e.Object != p.ID || e.Actor != "ann" {
			t.Errorf("the refusal in the log: %+v", e)
		}
		back, err := r.DoLetters(r.Context(), "bob", triage.Restore, ids[:1], triage.Options{})
		r.must(back, err)
		r.finish(back[0].ID, nil)
		if _, err := r.Execute(r.Context(), ann, p.ID); !errors.Is(err, triage.ErrPlanChanged) {
			t.Errorf("a letter that left and came back is another one, yet: %v", err)
		}
	})
}

func TestAPlanExpires(t *testing.T) {
	test(t, nil, func(r *rig) {
		r.kill(1, "a")
		p, err := r.Plan(r.Context(), ann, triage.Redrive, queue.Selection{}, triage.Options{})
		r.must(p, err)
		r.pass(triage.PlanFor + time.Second)
		for _, id := range []string{p.ID, "", "plan-", "plan-0011", "../x"} {
			_, err = r.Execute(r.Context(), ann, id)
			r.wants(err, triage.ErrPlanNotFound)
		}
	})
}

func TestDoWantsTheExpectedCount(t *testing.T) {
	test(t, nil, func(r *rig) {
		s := queue.Selection{Queue: dlq}
		_, err := r.Do(r.Context(), ann, triage.Redrive, s, triage.Options{}, 2)
		r.wants(err, triage.ErrPlanChanged)
		_, err = r.Do(r.Context(), ann, triage.Redrive, s, triage.Options{}, -1)
		r.wants(err, triage.ErrNothing)
		r.kill(3, "a")
		_, err = r.Do(r.Context(), ann, triage.Redrive, s, triage.Options{}, 2)
		r.wants(err, triage.ErrPlanChanged)
		if n := r.count(s); n != 3 {
			t.Fatalf("%d letters are left", n)
		}
		tasks, err := r.Do(r.Context(), ann, triage.Redrive, s, triage.Options{}, 3)
		r.must(tasks, err)
		if done := r.finish(tasks[0].ID, r.work); done.Moved != 3 || done.Actor != "ann" {
			t.Errorf("task %+v", done)
		}
	})
}

func TestRefusalsNameTheFieldAndAreLogged(t *testing.T) {
	test(t, newSource(), func(r *rig) {
		r.kill(1, "a")
		r.source.kept.add(1, 0)
		long := make([]string, 500)
		for i := range long {
			long[i] = strings.Repeat("g", 100) + fmt.Sprint(i)
		}
		for _, c := range []struct {
			name string
			verb triage.Verb
			s    queue.Selection
			o    triage.Options
			want error
			text string
		}{
			{"a verb", "burn", queue.Selection{}, triage.Options{}, triage.ErrInvalid, "Verb"},
			{"a rate", triage.Redrive, queue.Selection{}, triage.Options{Rate: -1}, triage.ErrInvalid, "Rate"},
			{"a canary", triage.Redrive, queue.Selection{}, triage.Options{Canary: -2}, triage.ErrInvalid, "Canary"},
			{"a share", triage.Redrive, queue.Selection{}, triage.Options{HaltAbove: 1.5}, triage.ErrInvalid, "HaltAbove"},
			{"a reason", triage.Redrive, queue.Selection{}, triage.Options{Reason: strings.Repeat("x", 2000)}, triage.ErrInvalid, "Reason"},
			{"the trash", triage.Redrive, queue.Selection{Queue: queue.TrashQueue}, triage.Options{}, triage.ErrInvalid, "restored first"},
			{"not the trash", triage.Restore, queue.Selection{Queue: dlq}, triage.Options{}, triage.ErrInvalid, "trash"},
			{"a destination", triage.Discard, queue.Selection{}, triage.Options{Destination: jobs}, triage.ErrInvalid, "Destination"},
			{"too long", triage.Discard, queue.Selection{Groups: long}, triage.Options{}, triage.ErrInvalid, "in parts"},
			{"no queue", triage.Redrive, queue.Selection{Queue: dlq}, triage.Options{Destination: "nowhere"}, queue.ErrQueueNotFound, "Destination"},
			{"no source", triage.Redrive, queue.Selection{Queue: "gateway:x"}, triage.Options{}, queue.ErrQueueNotFound, "gateway:x"},
			{"a pardon", triage.Discard, queue.Selection{}, triage.Options{Pardon: true}, triage.ErrInvalid, "Pardon"},
			{"a pardon elsewhere", triage.Redrive, queue.Selection{Queue: "gateway:search"}, triage.Options{Pardon: true}, triage.ErrUnsupported, "Pardon"},
			{"elsewhere", triage.Redrive, queue.Selection{Queue: "gateway:search"}, triage.Options{Destination: jobs}, triage.ErrUnsupported, "Destination"},
			{"nothing", triage.Redrive, queue.Selection{Origin: "x"}, triage.Options{}, triage.ErrNothing, "no letter"},
		} {
			_, err := r.Plan(r.Context(), ann, c.verb, c.s, c.o)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s: %v, want %v that says %q", c.name, err, c.want, c.text)
				continue
			}
			if e := r.log(string(c.verb) + ".plan"); !strings.Contains(e.Error, c.text) || e.Actor != "ann" {
				t.Errorf("%s: the log says %+v", c.name, e)
			}
		}
	})
}

func TestTheLogTellsPlannedAndActualCounts(t *testing.T) {
	test(t, nil, func(r *rig) {
		r.kill(3, "a")
		p, err := r.Plan(r.Context(), ann, triage.Redrive, queue.Selection{Queue: dlq, Class: "bug"}, triage.Options{Reason: "deployed the fix"})
		r.must(p, err)
		tasks, err := r.Execute(r.Context(), "bob", p.ID)
		r.must(tasks, err)
		r.finish(tasks[0].ID, func() { r.reject("a") })
		r.pass(2 * time.Second) // for the service to see it

		detail := func(action string) (d triage.Detail) {
			if err := json.Unmarshal(r.log(action).Detail, &d); err != nil {
				t.Fatal(err)
			}
			return d
		}
		planned := detail("redrive.plan")
		if *planned.Planned != 3 || planned.Selection.Class != "bug" || planned.Options.Reason != "deployed the fix" || planned.Plan != p.ID {
			t.Errorf("the plan in the log: %+v", planned)
		}
		started := detail("redrive.start")
		if *started.Planned != 3 || *started.Actual != 3 || started.Plan != p.ID || r.log("redrive.start").Object != tasks[0].ID {
			t.Errorf("the start in the log: %+v", started)
		}
		ended := detail("redrive.end")
		if *ended.Planned != 3 || *ended.Actual != 3 || ended.Outcome != "failed" || !strings.Contains(r.log("redrive.end").Error, "3 of the 3") || r.log("redrive.end").Actor != "bob" {
			t.Errorf("the end in the log: %+v", ended)
		}
	})
}

// Of all services on one store one writes down how a task ended.
func TestTheEndIsLoggedOnce(t *testing.T) {
	test(t, nil, func(r *rig) {
		for range 4 {
			r.run(r.service().Run)
		}
		ids := r.kill(2, "a")
		tasks, err := r.DoLetters(r.Context(), ann, triage.Discard, ids, triage.Options{})
		r.must(tasks, err)
		r.finish(tasks[0].ID, nil)
		r.pass(3 * time.Second)
		entries, err := r.AuditLog(r.Context(), 0, 0)
		r.must(entries, err)
		n := 0
		for _, e := range entries {
			if e.Action == "discard.end" {
				n++
			}
		}
		if n != 1 {
			t.Errorf("the end is in the log %d times", n)
		}
		if marks, err := r.Marks().Marks(r.Context(), "triage/open/"); err != nil || len(marks) > 0 {
			t.Errorf("still followed: %+v, %v", marks, err)
		}
	})
}

func TestAPlanWarnsOfPayloadsInQuarantine(t *testing.T) {
	test(t, nil, func(r *rig) {
		plan := func(want int) {
			t.Helper()
			p, err := r.Plan(r.Context(), ann, triage.Redrive, queue.Selection{Queue: dlq}, triage.Options{})
			r.must(p, err)
			if len(p.Warnings) != want || want > 0 && !strings.HasPrefix(p.Warnings[0], "1 of the letters ") {
				t.Errorf("warnings are %q, want %d", p.Warnings, want)
			}
		}
		r.kill(2, "a")
		plan(0)
		sent, err := r.engine.Send(r.Context(), jobs, queue.SendInput{Body: []byte("a body that kills its worker")})
		r.must(sent, err)
		for range 2 {
			m, err := r.engine.Receive(r.Context(), jobs, queue.ReceiveInput{})
			if err != nil || len(m) != 1 {
				t.Fatalf("received %d: %v", len(m), err)
			}
			r.must(nil, r.engine.Release(r.Context(), jobs, queue.ReleaseInput{Receipt: m[0].Receipt, Outcome: &queue.Outcome{Class: bezoar.Crash, Failure: "f"}}))
			r.pass(time.Minute)
		}
		plan(1)
		cases, err := r.engine.Payloads(r.Context(), jobs, int(poison.Quarantined), 0)
		if err != nil || len(cases) != 1 {
			t.Fatalf("%d cases, %v", len(cases), err)
		}
		r.must(nil, r.engine.Pardon(r.Context(), jobs, cases[0].Payload))
		plan(0)
	})
}

// After a fix what killed its workers may be redriven at once.
func TestARedrivePardons(t *testing.T) {
	test(t, nil, func(r *rig) {
		var group string
		for i := range 3 {
			sent, err := r.engine.Send(r.Context(), jobs, queue.SendInput{Body: fmt.Appendf(nil, "body %d that kills its worker", i)})
			r.must(sent, err)
			for range 2 {
				m := r.receive()
				if len(m) != 1 {
					t.Fatalf("received %d", len(m))
				}
				r.must(nil, r.engine.Release(r.Context(), jobs, queue.ReleaseInput{Receipt: m[0].Receipt, Outcome: &queue.Outcome{Class: bezoar.Crash, Failure: "f"}}))
				r.pass(time.Minute)
			}
		}
		groups, err := r.Groups(r.Context(), queue.Selection{}, 0)
		r.must(groups, err)
		group = groups[0].Key
		quarantined := func() int {
			cases, err := r.engine.Payloads(r.Context(), jobs, int(poison.Quarantined), 0)
			r.must(cases, err)
			return len(cases)
		}
		if n := quarantined(); n != 3 || groups[0].Count != 3 {
			t.Fatalf("%d payloads are quarantined, groups are %+v", n, groups)
		}
		tasks, err := r.Do(r.Context(), ann, triage.Redrive, queue.Selection{Groups: []string{group}}, triage.Options{Pardon: true}, 3)
		r.must(tasks, err)
		if done := r.finish(tasks[0].ID, r.work); done.State != queue.MoveCompleted || done.Succeeded != 3 {
			t.Errorf("the task is %+v", done)
		}
		if n := quarantined(); n != 0 {
			t.Errorf("%d payloads are still quarantined", n)
		}
		if e := r.log("redrive.start"); !strings.Contains(string(e.Detail), `"pardoned":3`) {
			t.Errorf("the start in the log: %s", e.Detail)
		}
	})
}

func TestThePayloadsOfAGroupArePardoned(t *testing.T) {
	test(t, newSource(), func(r *rig) {
		for _, failure := range []string{"f", "f", "g"} {
			r.must(r.engine.Send(r.Context(), jobs, queue.SendInput{Body: fmt.Append(nil, "it kills its worker at ", time.Now())}))
			for range 2 {
				for _, m := range r.receive() {
					r.must(nil, r.engine.Release(r.Context(), jobs, queue.ReleaseInput{Receipt: m.Receipt, Outcome: &queue.Outcome{Class: bezoar.Crash, Failure: failure}}))
				}
				r.pass(time.Minute)
			}
		}
		n, err := r.Pardon(r.Context(), ann, queue.Selection{Groups: []string{"crash:f"}, Origin: jobs})
		cases, failed := r.engine.Payloads(r.Context(), jobs, int(poison.Quarantined), 0)
		if n != 2 || err != nil || len(cases) != 1 || failed != nil {
			t.Errorf("%d were pardoned, %v; %d are left, %v", n, err, len(cases), failed)
		}
		if e := r.log("payload.pardon"); e.Actor != "ann" || !strings.Contains(string(e.Detail), `"actual":2`) {
			t.Errorf("the log says %+v", e)
		}
		_, err = r.Pardon(r.Context(), ann, queue.Selection{Queue: "gateway:nowhere"})
		r.wants(err, queue.ErrQueueNotFound)
	})
}

// What an edited copy took the place of does not come back with its group.
func TestARestoreLeavesOutWhatWasEdited(t *testing.T) {
	test(t, nil, func(r *rig) {
		ids := r.kill(3, "a")
		l, err := r.Letter(r.Context(), ids[0])
		r.must(l, err)
		r.must(r.EditLetter(r.Context(), ann, ids[0], triage.Edit{Version: l.Version, Body: text("mended")}))
		r.work()
		group := queue.Selection{Groups: []string{l.Group}}
		_, err = r.Plan(r.Context(), ann, triage.Restore, group, triage.Options{})
		if !errors.Is(err, triage.ErrNothing) || !strings.Contains(err.Error(), "1 more of these letters") {
			t.Errorf("where all are replaced: %v", err)
		}
		gone, err := r.DoLetters(r.Context(), ann, triage.Discard, ids[1:], triage.Options{})
		r.must(gone, err)
		r.finish(gone[0].ID, nil)

		p, err := r.Plan(r.Context(), ann, triage.Restore, group, triage.Options{})
		r.must(p, err)
		if p.Count != 2 || len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "edited copies took their places") {
			t.Errorf("planned %+v", p)
		}
		tasks, err := r.Execute(r.Context(), ann, p.ID)
		r.must(tasks, err)
		if done := r.finish(tasks[0].ID, nil); done.Moved != 2 || done.Planned != 2 || done.LeftOut != 1 {
			t.Errorf("the task is %+v", done)
		}
		back, err := r.DoLetters(r.Context(), ann, triage.Restore, ids[:1], triage.Options{}) // somebody means it
		r.must(back, err)
		if done := r.finish(back[0].ID, nil); done.Moved != 1 || done.LeftOut != 0 {
			t.Errorf("by its id: %+v", done)
		}
	})
}
