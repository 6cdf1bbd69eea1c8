package queue_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/queue"
)

// dead makes n letters of a queue.
func dead(r *rig, name string, n int, edit func(*queue.Settings)) {
	r.Helper()
	r.create(name, edit)
	for i := range n {
		r.sendOne(name, fmt.Sprintf(`{"letter": %d}`, i))
	}
	for _, m := range r.receive(name, "", n) {
		r.must(r.Reject(r.Context(), name, m.Receipt, queue.Outcome{Class: bezoar.Invalid, Failure: "f1", Reason: "no"}))
	}
}

func (r *rig) sendOne(name, body string) {
	r.Helper()
	in := queue.SendInput{Body: []byte(body)}
	if strings.HasSuffix(name, ".fifo") {
		in.Group, in.Dedup = "g", body
	}
	_, err := r.Send(r.Context(), name, in)
	r.must(err)
}

func (r *rig) letter(name string) queue.Death {
	r.Helper()
	list, err := r.Letters(r.Context(), queue.Selection{Queue: name}, 0, 0)
	r.must(err)
	if len(list) == 0 {
		r.Fatalf("no letters in %s", name)
	}
	d, err := r.Letter(r.Context(), list[0].ID)
	r.must(err)
	return d
}

func TestALetterIsResentChanged(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		dead(r, "jobs", 1, nil)
		d := r.letter("jobs-dlq")
		sent, err := r.Resend(r.Context(), d.ID, queue.ResendInput{Receipt: d.Receipt, Body: []byte(`{"letter": "fixed"}`)})
		r.must(err)
		m := r.one("jobs", "")
		if m.ID != sent.ID || m.ID == d.ID || string(m.Body) != `{"letter": "fixed"}` || m.Receives != 1 {
			r.Errorf("received %+v", m)
		}
		if l := m.Lineage; l == nil || l.Parent != d.ID || l.Root != d.ID || l.Times != 1 || !l.Edited {
			r.Errorf("its lineage is %+v", m.Lineage)
		}
		if m.Payload == d.Payload || m.Payload.IsZero() {
			r.Error("the changed body has no identity of its own")
		}
		trash := r.letter(queue.TrashQueue)
		if trash.ID != d.ID || trash.Letter.Discarded == nil || trash.Letter.Discarded.Into != sent.ID {
			r.Errorf("in the trash: %+v", trash.Letter)
		}
		r.wantCounts("jobs-dlq", 0, 0, 0)
	})
}

func TestALetterThatChangedIsNotResent(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		dead(r, "jobs", 1, nil)
		d := r.letter("jobs-dlq")
		m := r.one("jobs-dlq", "")
		_, err := r.Resend(r.Context(), d.ID, queue.ResendInput{Receipt: d.Receipt})
		if queue.CodeOf(err) != queue.ErrConflict {
			r.Errorf("resent what somebody has received meanwhile: %v", err)
		}
		r.must(r.Release(r.Context(), "jobs-dlq", queue.ReleaseInput{Receipt: m.Receipt}))
		if _, err := r.Resend(r.Context(), d.ID, queue.ResendInput{}); err != nil { // as it is now
			r.Error(err)
		}
		for id, want := range map[string]queue.Code{d.ID: queue.ErrInvalid, "nothing": queue.ErrLetterNotFound, "\x00": queue.ErrLetterNotFound} {
			if _, err := r.Resend(r.Context(), id, queue.ResendInput{Destination: queue.TrashQueue}); queue.CodeOf(err) != want {
				r.Errorf("resend %q to the trash: %v, want %s", id, err, want)
			}
		}
	})
}

// A FIFO queue takes no letter for a copy of what it once was.
func TestALetterIsResentToItsFIFOQueue(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		dead(r, "jobs.fifo", 1, func(s *queue.Settings) { s.FIFO = true })
		sent, err := r.Resend(r.Context(), r.letter("jobs-dlq.fifo").ID, queue.ResendInput{})
		r.must(err)
		if m := r.one("jobs.fifo", ""); sent.Duplicate || m.ID != sent.ID || m.Group != "g" || m.Lineage.Edited {
			r.Errorf("received %+v", m)
		}
	})
}

func TestResentBodiesAreCheckedAsSentOnesAre(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		dead(r, "jobs", 1, nil)
		_, err := r.SetSettings(r.Context(), "jobs", func(s *queue.Settings) error {
			s.Schema = `{"required": ["id"]}`
			return nil
		})
		r.must(err)
		_, err = r.Resend(r.Context(), r.letter("jobs-dlq").ID, queue.ResendInput{Body: []byte(`{"no": "id"}`)})
		if queue.CodeOf(err) != queue.ErrSchema || !strings.Contains(err.Error(), "required at $") {
			r.Errorf("resent %v", err)
		}
		r.wantCounts("jobs-dlq", 1, 0, 0)
	})
}

func TestATaskRedrivesWithItsCanary(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		dead(r, "jobs", 30, nil)
		task, err := r.StartTask(r.Context(), queue.MoveTask{
			Kind: queue.MoveRedrive, Source: "jobs-dlq", Canary: 2, HaltAbove: 0.5, Rate: 1000, Actor: "ann", Reason: "fixed in 1.2",
		})
		r.must(err)
		pass(3 * time.Second)
		r.wantCounts("jobs", 2, 0, 0)
		for _, m := range r.receive("jobs", "", 10) {
			r.delete("jobs", m)
		}
		pass(3 * time.Second)
		r.wantCounts("jobs", 28, 0, 0)
		for _, m := range r.receive("jobs", "", 28) {
			r.delete("jobs", m)
		}
		pass(2 * time.Second)
		all, err := r.Tasks(r.Context(), queue.MoveQuery{ID: task.ID})
		r.must(err)
		if len(all) != 1 || all[0].State != queue.MoveCompleted || all[0].Moved != 30 || all[0].Actor != "ann" {
			r.Errorf("the task is %+v", all)
		}
	})
}

func TestTasksArePausedResumedAndCancelled(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		dead(r, "jobs", 100, nil)
		task, err := r.StartTask(r.Context(), queue.MoveTask{Kind: queue.MoveDiscard, Source: "jobs-dlq", Rate: 10, HaltAbove: 1})
		r.must(err)
		pass(2 * time.Second)
		_, err = r.ChangeTask(r.Context(), task.ID, queue.MoveChange{State: queue.MovePaused})
		r.must(err)
		paused, _, err := r.CountLetters(r.Context(), queue.Selection{Queue: "jobs-dlq"})
		r.must(err)
		if paused < 75 || paused > 85 {
			r.Errorf("after 2 s at 10/s %d of 100 are left", paused)
		}
		pass(time.Minute)
		if n, _, _ := r.CountLetters(r.Context(), queue.Selection{Queue: "jobs-dlq"}); n != paused {
			r.Errorf("while paused %d became %d", paused, n)
		}
		_, err = r.ChangeTask(r.Context(), task.ID, queue.MoveChange{State: queue.MoveRunning, Rate: 1000})
		r.must(err)
		pass(2 * time.Second)
		if n, _, _ := r.CountLetters(r.Context(), queue.Selection{Queue: "jobs-dlq"}); n != 0 {
			r.Errorf("once resumed %d are left", n)
		}
		restore, err := r.StartTask(r.Context(), queue.MoveTask{Kind: queue.MoveRestore, Selection: queue.Selection{Class: "invalid"}})
		r.must(err)
		_, err = r.ChangeTask(r.Context(), restore.ID, queue.MoveChange{State: queue.MoveCancelled})
		r.must(err)
		if _, err := r.ChangeTask(r.Context(), restore.ID, queue.MoveChange{State: queue.MoveRunning}); queue.CodeOf(err) != queue.ErrMoveNotRunning {
			r.Errorf("resumed what was cancelled: %v", err)
		}
	})
}

func TestTasksAtFaultAreRefused(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		dead(r, "jobs", 1, nil)
		r.create("other.fifo", func(s *queue.Settings) { s.FIFO = true })
		good := queue.MoveTask{Kind: queue.MoveRedrive, Source: "jobs-dlq", Rate: 1}
		for field, edit := range map[string]func(*queue.MoveTask){
			"Kind":            func(t *queue.MoveTask) { t.Kind = queue.MoveSQS },
			"Rate":            func(t *queue.MoveTask) { t.Rate = queue.MaxTriageRate + 1 },
			"Canary":          func(t *queue.MoveTask) { t.Canary = -1 },
			"HaltAbove":       func(t *queue.MoveTask) { t.HaltAbove = 1.1 },
			"Source":          func(t *queue.MoveTask) { t.Kind = queue.MoveRestore },
			"Selection.Queue": func(t *queue.MoveTask) { t.Selection.Queue = "jobs" },
			"Selection.Class": func(t *queue.MoveTask) { t.Selection.Class = "bad luck" },
			"1001 ids":        func(t *queue.MoveTask) { t.Selection.IDs = make([]string, 1001) },
			"Selection: After": func(t *queue.MoveTask) {
				t.Selection.After, t.Selection.Before = time.Unix(2, 0), time.Unix(1, 0)
			},
			"Destination": func(t *queue.MoveTask) { t.Destination = "other.fifo" },
			"Reason":      func(t *queue.MoveTask) { t.Reason = "\xff" },
		} {
			task := good
			edit(&task)
			_, err := r.StartTask(r.Context(), task)
			if queue.CodeOf(err) != queue.ErrInvalid || !strings.Contains(err.Error(), field) {
				r.Errorf("%s: %v", field, err)
			}
		}
		good.Source = "nowhere"
		if _, err := r.StartTask(r.Context(), good); queue.CodeOf(err) != queue.ErrQueueNotFound {
			r.Errorf("from nowhere: %v", err)
		}
	})
}

func TestListsOfLettersAreBounded(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		dead(r, "jobs", 3, nil)
		groups, err := r.Groups(r.Context(), queue.Selection{Queue: "jobs-dlq"}, 0)
		r.must(err)
		if len(groups) != 1 || groups[0].Count != 3 || groups[0].Key != "invalid:f1" {
			r.Errorf("groups are %+v", groups)
		}
		_, err1 := r.Groups(r.Context(), queue.Selection{}, queue.MaxGroups+1)
		_, err2 := r.Letters(r.Context(), queue.Selection{}, 0, -1)
		_, _, err3 := r.CountLetters(r.Context(), queue.Selection{Last: -1})
		_, err4 := r.AuditLog(r.Context(), 0, 1001)
		_, err5 := r.Tasks(r.Context(), queue.MoveQuery{Limit: 1001})
		_, err6 := r.Payloads(r.Context(), "jobs", 9, 0)
		for i, err := range []error{err1, err2, err3, err4, err5, err6} {
			if !errors.Is(err, queue.ErrInvalid) {
				r.Errorf("list %d: %v, want it refused", i+1, err)
			}
		}
	})
}

func TestTheAuditLogKeepsWhoDidWhat(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		for _, action := range []string{"redrive.start", "discard.start"} {
			_, err := r.Audit(r.Context(), queue.AuditEntry{Actor: "ann", Action: action, Object: "jobs-dlq", Detail: []byte(`{"n": 1}`)})
			r.must(err)
		}
		log, err := r.AuditLog(r.Context(), 0, 0)
		r.must(err)
		if len(log) != 2 || log[0].Action != "discard.start" || log[1].Actor != "ann" || log[0].Number <= log[1].Number {
			r.Errorf("the log is %+v", log)
		}
		if _, err := r.Audit(r.Context(), queue.AuditEntry{}); queue.CodeOf(err) != queue.ErrInvalid {
			r.Errorf("nothing was done: %v", err)
		}
	})
}

func TestNamesThatBezoarKeepsAreRefused(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		for _, name := range []string{queue.TrashQueue, ".x", ".", ".fifo", "a.b"} {
			if _, err := r.CreateQueue(r.Context(), name, queue.DefaultSettings(), nil); queue.CodeOf(err) != queue.ErrInvalid {
				r.Errorf("made a queue %q: %v", name, err)
			}
		}
		dead(r, "jobs", 1, nil)
		list, err := r.Queues(r.Context(), queue.ListQuery{})
		r.must(err)
		var names []string
		for _, q := range list {
			names = append(names, q.Name)
		}
		if !slices.Equal(names, []string{"jobs", "jobs-dlq"}) {
			r.Errorf("queues are %q", names)
		}
	})
}
