package queuetest

import (
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
	"github.com/bezoar-dev/bezoar/queue"
)

func deadLetterTests() map[string]func(*rig) {
	return map[string]func(*rig){
		"DeadAtExpiry": testDeadAtExpiry, "DeadAtVisibilityZero": testDeadAtZero, "Reject": testReject,
		"NoCascade": testNoCascade, "DeadRetention": testDeadRetention, "DeadLetterQueueDeleted": testDeadDeleted,
		"PolicyLowered": testPolicyLowered, "PolicyRemoved": testPolicyRemoved, "DeadAtRelease": testDeadAtRelease,
		"LateDeleteAfterDeath": testLateDelete, "PartsSetAside": testPartsSetAside, "PartsOfOrderedQueues": testPartsOrdered,
		"WhatTheProcessSaid": testOutcomeDetail,
	}
}

func testDeadAtExpiry(r *rig) {
	r.create("dead", nil)
	r.create("jobs", deadLetter("dead", 2))
	sent := r.send("jobs", full())
	m := r.one("jobs")
	r.must(r.Release(r.ctx(), "jobs", queue.ReleaseInput{Receipt: m.Receipt, Outcome: &queue.Outcome{Class: bezoar.Bug, Reason: "no"}}))
	r.one("jobs")
	if s := r.sweep(); s.Moved != 0 || s.Next <= 0 || s.Next > 30*time.Second {
		r.Errorf("while it is in flight: %+v", s)
	}
	r.age(31 * time.Second)
	r.none("jobs") // not one more time, also before the sweep
	s := r.sweep()
	r.errorIf(s.Moved != 1 || !slices.Contains(s.Queues, "dead"), "swept %+v", s)
	r.wantCounts("jobs", 0, 0, 0)
	dead := r.one("dead")
	r.errorIf(dead.ID != sent.ID || string(dead.Body) != string(full().Body) || len(dead.Attributes) != 3 || dead.Priority != 3 || dead.Sent.After(dead.FirstReceived.Add(-30*time.Second)), "the dead letter is %+v", dead)
	r.errorIf(dead.Receives != 1 || len(dead.Attempts) > 0, "its receives there are %d after %v", dead.Receives, dead.Attempts)
	l := dead.Letter
	if l == nil || l.Origin != "jobs" || l.Receives != 2 || l.Died.IsZero() || l.Class != bezoar.Timeout || len(l.Attempts) != 2 ||
		l.Attempts[0].Class != bezoar.Bug || l.Attempts[0].Reason != "no" || l.Attempts[1].Class != bezoar.Timeout {
		r.Errorf("its letter is %+v", l)
	}
}

func testDeadByRun(r *rig) {
	r.create("dead", nil)
	r.create("jobs", func(s *queue.Settings) { deadLetter("dead", 1)(s); s.Visibility = 30 * time.Millisecond })
	defer r.run()()
	for range 3 {
		r.send("jobs", text("a"))
	}
	r.until("three are dead, and nobody receives", func() bool {
		r.receive("jobs", 10)
		c, err := r.Counts(r.ctx(), "dead")
		return err == nil && c.Visible == 3
	})
}

func testDeadAtZero(r *rig) {
	r.create("dead", nil)
	r.create("jobs", deadLetter("dead", 1))
	r.send("jobs", text("a"))
	m := r.one("jobs")
	r.must(r.ChangeVisibility(r.ctx(), "jobs", m.Receipt, time.Minute))
	r.age(50 * time.Second)
	r.errorIf(r.sweep().Moved > 0, "set aside although its lease was extended")
	r.must(r.ChangeVisibility(r.ctx(), "jobs", m.Receipt, 0))
	if l := r.one("dead").Letter; l == nil || l.Class != bezoar.Transient || l.Receives != 1 {
		r.Errorf("its letter is %+v", l)
	}
	r.wantErr(r.ChangeVisibility(r.ctx(), "jobs", m.Receipt, time.Minute), queue.ErrMessageGone)
}

func testDeadAtRelease(r *rig) {
	r.create("dead", nil)
	r.create("jobs", deadLetter("dead", 1))
	r.send("jobs", text("a"))
	m := r.one("jobs")
	o := &queue.Outcome{Class: bezoar.Invalid, Failure: "f", Reason: "why"}
	r.must(r.Release(r.ctx(), "jobs", queue.ReleaseInput{Receipt: m.Receipt, Delay: time.Hour, Outcome: o}))
	if l := r.one("dead").Letter; l == nil || l.Outcome != *o {
		r.Errorf("its letter is %+v", l)
	}
}

func testReject(r *rig) {
	r.create("dead", nil)
	r.create("jobs", deadLetter("dead", 10))
	r.create("plain", nil)
	o := queue.Outcome{Class: bezoar.Crash, Failure: "f2", Reason: "SIGSEGV"}
	r.send("plain", text("a"))
	r.must(r.Reject(r.ctx(), "plain", r.one("plain").Receipt, o))
	m := r.one(queue.ImplicitName("plain"))
	r.errorIf(m.Letter == nil || m.Letter.Origin != "plain" || m.Letter.Outcome != o, "in the dead-letter queue that nobody named: %+v", m)
	// A letter has nowhere further to go.
	r.wantErr(r.Reject(r.ctx(), queue.ImplicitName("plain"), m.Receipt, o), queue.ErrNoDeadLetter)
	r.wantCounts(queue.ImplicitName("plain"), 0, 1, 0) // as before
	r.send("jobs", text("a"))
	r.must(r.Reject(r.ctx(), "jobs", r.one("jobs").Receipt, o))
	r.wantCounts("jobs", 0, 0, 0)
	l := r.one("dead").Letter
	r.errorIf(l == nil || l.Outcome != o || len(l.Attempts) != 1 || l.Receives != 1, "its letter is %+v", l)
}

// A letter moves on only after it was received from the dead-letter queue.
func testNoCascade(r *rig) {
	r.create("second", nil)
	r.create("first", deadLetter("second", 1))
	r.create("jobs", deadLetter("first", 1))
	r.send("jobs", text("a"))
	r.one("jobs")
	r.age(time.Minute)
	r.sweep()
	r.age(time.Hour)
	r.sweep()
	r.wantCounts("first", 1, 0, 0)
	r.wantCounts("second", 0, 0, 0)
	r.one("first")
	r.age(time.Minute)
	r.sweep()
	l := r.one("second").Letter
	r.errorIf(l == nil || l.Origin != "first" || len(l.Attempts) != 2, "its letter is %+v, want one from first that remembers both attempts", l)
}

func testDeadRetention(r *rig) {
	week := func(s *queue.Settings) { s.Retention = 7 * 24 * time.Hour }
	dead := r.create("dead", week)
	r.create("jobs", func(s *queue.Settings) { week(s); deadLetter("dead", 1)(s) })
	r.send("jobs", text("a"))
	r.age(6 * 24 * time.Hour)
	r.one("jobs")
	r.age(time.Minute)
	r.sweep()
	r.age(6 * 24 * time.Hour) // 12 days after it was sent, 6 after its death
	n, err := r.store.Expire(r.ctx(), dead.ID, queue.Policy{}, 7*24*time.Hour, 10)
	r.must(err)
	suite.FatalIf(r, n != 0, "the letter is gone before its time")
	r.one("dead")
}

func testDeadDeleted(r *rig) {
	r.create("dead", nil)
	r.create("jobs", deadLetter("dead", 1))
	r.send("jobs", text("a"))
	r.one("jobs")
	r.must(r.DeleteQueue(r.ctx(), "dead"))
	r.age(time.Minute)
	r.sweep()
	m := r.one("jobs") // rather once more than lost
	r.must(r.ChangeVisibility(r.ctx(), "jobs", m.Receipt, 0))
	r.must(r.Reject(r.ctx(), "jobs", r.one("jobs").Receipt, queue.Outcome{Class: bezoar.Bug}))
	r.one(queue.ImplicitName("jobs"))
}

func testPolicyLowered(r *rig) {
	r.create("dead", nil)
	r.create("jobs", deadLetter("dead", 10))
	r.send("jobs", text("a"))
	for range 3 {
		r.one("jobs")
		r.age(time.Minute)
	}
	_, err := r.SetSettings(r.ctx(), "jobs", func(s *queue.Settings) error { deadLetter("dead", 2)(s); return nil })
	r.must(err)
	r.none("jobs")
	r.sweep()
	if m := r.one("dead"); m.Letter.Receives != 3 {
		r.Errorf("received %d times before, want 3", m.Letter.Receives)
	}
}

func testPolicyRemoved(r *rig) {
	r.create("dead", nil)
	r.create("jobs", deadLetter("dead", 1))
	r.send("jobs", text("a"))
	r.one("jobs")
	_, err := r.SetSettings(r.ctx(), "jobs", func(s *queue.Settings) error { s.DeadLetter = queue.DeadLetter{}; return nil })
	r.must(err)
	r.age(time.Minute)
	r.sweep()
	if m := r.one("jobs"); m.Receives != 2 {
		r.Errorf("received %d times, want 2", m.Receives)
	}
	r.wantCounts("dead", 0, 0, 0)
}

// The letter stays: its receipt was of the delivery that is over.
func testLateDelete(r *rig) {
	r.create("dead", nil)
	r.create("jobs", deadLetter("dead", 1))
	r.send("jobs", text("a"))
	m := r.one("jobs")
	r.age(time.Minute)
	r.sweep()
	r.must(r.Delete(r.ctx(), "jobs", m.Receipt))
	r.one("dead")
}

func testPartsSetAside(r *rig) {
	r.create("jobs", nil)
	row := func(body, once string) queue.PartInput {
		return queue.PartInput{Body: []byte(body), Once: once, Outcome: queue.Outcome{Class: bezoar.Invalid, Reason: "no price in " + body}}
	}
	results, err := r.SetAside(r.ctx(), "jobs", []queue.PartInput{row("row 1", "m/1"), {Body: []byte("fine")}, row("row 2", "m/2"), row("row 3", "")})
	r.must(err)
	for i, fails := range []bool{false, true, false, false} {
		r.errorIf((results[i].Err != nil) != fails, "part %d: %v", i, results[i].Err)
	}
	r.errorIf(queue.CodeOf(results[1].Err) != queue.ErrInvalid, "a part that is done: %v", results[1].Err)
	again, err := r.SetAside(r.ctx(), "jobs", []queue.PartInput{row("row 2", "m/2"), row("row 4", "m/4"), row("row 4", "m/4")})
	r.must(err)
	r.errorIf(!again[0].Duplicate || again[0].ID != results[2].ID || again[1].Duplicate || !again[2].Duplicate || again[2].ID != again[1].ID, "set aside again: %+v", again)
	r.wantCounts("jobs", 0, 0, 0)
	r.none("jobs")
	dead := r.receive("jobs-dlq", 10)
	var bodies []string
	for _, m := range dead {
		bodies = append(bodies, string(m.Body))
		if l := m.Letter; l == nil || l.Origin != "jobs" || l.Class != bezoar.Invalid || l.Receives != 0 || l.Died.IsZero() || l.Reason != "no price in "+string(m.Body) {
			r.Errorf("the letter of %s is %+v", m.Body, m.Letter)
		}
	}
	r.errorIf(!slices.Equal(bodies, []string{"row 1", "row 2", "row 3", "row 4"}), "dead are %q", bodies)
	groups, err := r.Groups(r.ctx(), queue.Selection{Queue: "jobs-dlq"}, 0)
	r.must(err)
	r.errorIf(len(groups) != 1 || groups[0].Count != 4, "groups are %+v", groups)
	if _, err := r.SetAside(r.ctx(), "nowhere", []queue.PartInput{row("a", "")}); queue.CodeOf(err) != queue.ErrQueueNotFound {
		r.Errorf("in a queue that is not there: %v", err)
	}
	if _, err := r.SetAside(r.ctx(), "jobs", nil); queue.CodeOf(err) != queue.ErrInvalid {
		r.Errorf("no parts: %v", err)
	}
}

func testPartsOrdered(r *rig) {
	r.create("jobs.fifo", func(s *queue.Settings) { s.FIFO = true })
	part := queue.PartInput{Body: []byte("row"), Group: "g", Outcome: queue.Outcome{Class: bezoar.Invalid, Reason: "bad"}}
	alone := part
	alone.Group = ""
	results, err := r.SetAside(r.ctx(), "jobs.fifo", []queue.PartInput{part, alone})
	r.must(err)
	groups := map[string]*queue.Letter{}
	for _, m := range r.receive("jobs-dlq.fifo", 10) {
		groups[m.Group] = m.Letter
	}
	for _, g := range []string{"g", results[1].ID} {
		if l := groups[g]; l == nil || l.Origin != "jobs.fifo" || len(groups) != 2 {
			r.Errorf("the letter of group %s is %+v among %d", g, l, len(groups))
		}
	}
	r.none("jobs.fifo")
}

func testOutcomeDetail(r *rig) {
	r.create("jobs", nil)
	r.send("jobs", full())
	m := r.one("jobs")
	long := strings.Repeat("x", queue.MaxStderr) + "\xff\x00the end"
	r.must(r.Reject(r.ctx(), "jobs", m.Receipt, queue.Outcome{Class: bezoar.Crash, Detail: "signal: killed", Stderr: long}))
	l := r.one("jobs-dlq").Letter
	if l == nil || l.Detail != "signal: killed" || len(l.Stderr) > queue.MaxStderr || !strings.HasSuffix(l.Stderr, "x\uFFFD\uFFFDthe end") ||
		len(l.Attempts) != 1 || l.Attempts[0].Detail != "signal: killed" || l.Attempts[0].Stderr != l.Stderr {
		r.Errorf("its letter is %+v", l)
	}
}
