package queuetest

import (
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/queue"
)

func trashTests() map[string]func(*rig) {
	return map[string]func(*rig){
		"ChangeRate": testChangeRate, "ChangeMoveRefused": testChangeRefused, "Discard": testDiscard, "TrashEmpties": testTrashEmpties,
		"Restore": testRestore, "RestoreUnreplaced": testRestoreUnreplaced, "RestoreNowhere": testRestoreNowhere, "RestoreFIFO": testRestoreFIFO, "MoveQueries": testMoveQueries,
		"TriageHistory": testTriageHistory, "RedriveFails": testRedriveFails,
	}
}

// discard moves letters to the trash, all without ids.
func (r *rig) discard(source string, ids ...string) {
	r.Helper()
	t := r.finish(r.redrive(queue.MoveTask{Kind: queue.MoveDiscard, Source: source, Selection: queue.Selection{IDs: ids}}).ID)
	r.fatalIf(t.State != queue.MoveCompleted || t.Moved == 0, "the discard ended as %+v", t)
}

func testChangeRate(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", names("m", 40)...)
	t := r.redrive(queue.MoveTask{Source: "jobs-dlq", Rate: 1})
	r.age(r.step(t.ID).Next)
	if c := r.changeMove(t.ID, queue.MoveChange{Rate: 300}); c.State != queue.MoveRunning || c.Rate != 300 {
		r.Errorf("changed %+v", c)
	}
	if step := r.step(t.ID); step.Moved != 30 {
		r.Errorf("at the new rate a step moves %d, want 30", step.Moved)
	}
	r.finish2(t.ID)
}

func testChangeRefused(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", "a")
	t := r.redrive(queue.MoveTask{Source: "jobs-dlq", Rate: 1})
	for _, c := range []queue.MoveChange{{State: queue.MoveCompleted}, {State: "odd"}, {Rate: -1}, {Rate: queue.MaxTriageRate + 1}} {
		_, err := r.store.ChangeMove(r.ctx(), t.ID, c)
		r.wantErr(err, queue.ErrInvalid)
	}
	r.wantTask(t.ID, queue.MoveRunning, 0, 0, 0)
	_, err := r.store.ChangeMove(r.ctx(), "none", queue.MoveChange{Rate: 1})
	r.wantErr(err, queue.ErrMoveNotFound)
	_, err = r.store.StepMove(r.ctx(), "none", 1)
	r.wantErr(err, queue.ErrMoveNotFound)
}

func testDiscard(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", "a", "b")
	before, err := r.store.Letter(r.ctx(), "a")
	r.must(err)
	r.discard("jobs-dlq", "a")
	d.wantDead("b")
	l, err := r.store.Letter(r.ctx(), "a")
	r.must(err)
	x := l.Letter.Discarded
	r.fatalIf(l.Queue != queue.TrashQueue || x == nil || x.From != "jobs-dlq" || x.Into != "" || time.Since(x.At) > time.Minute, "in %s, discarded as %+v", l.Queue, x)
	l.Letter.Discarded = nil
	if diff := cmp.Diff(before.Letter, l.Letter); diff != "" || string(l.Body) != "a" || !l.Sent.Equal(before.Sent) {
		r.Errorf("the letter changed: %s", diff)
	}
	if g := r.groups(queue.Selection{}, 10); len(g) != 1 || g[0].Count != 1 {
		r.Errorf("the groups are %+v", g)
	}
	if g := r.groups(queue.Selection{Queue: queue.TrashQueue}, 10); len(g) != 1 || g[0].Count != 1 || g[0].Queue != queue.TrashQueue {
		r.Errorf("those of the trash are %+v", g)
	}
}

func testTrashEmpties(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", "a", "b")
	r.discard("jobs-dlq", "a")
	r.age(queue.TrashFor - time.Hour)
	r.discard("jobs-dlq", "b")
	r.clean()
	if ids, _ := r.letters(queue.Selection{Queue: queue.TrashQueue}, 0, 10); len(ids) != 2 {
		r.Errorf("in the trash are %v, want both", ids)
	}
	r.age(2 * time.Hour)
	r.clean()
	if ids, _ := r.letters(queue.Selection{Queue: queue.TrashQueue}, 0, 10); !slices.Equal(ids, []string{"b"}) {
		r.Errorf("in the trash are %v, want b", ids)
	}
	_, err := r.store.Letter(r.ctx(), "a")
	r.wantErr(err, queue.ErrLetterNotFound)
}

func testRestore(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", "a", "b")
	r.discard("jobs-dlq")
	r.age(time.Hour)
	t := r.redrive(queue.MoveTask{Kind: queue.MoveRestore, Source: queue.TrashQueue, Selection: queue.Selection{IDs: []string{"b"}}})
	if t := r.finish(t.ID); t.State != queue.MoveCompleted || t.Moved != 1 || t.ToMove != 1 {
		r.Errorf("ended as %+v", t)
	}
	l, err := r.store.Letter(r.ctx(), "b")
	r.must(err)
	r.errorIf(l.Queue != "jobs-dlq" || l.Letter.Discarded != nil || l.Letter.Reason != "why b", "restored to %s as %+v", l.Queue, l.Letter)
	r.finish(r.redrive(queue.MoveTask{Source: "jobs-dlq"}).ID)
	d.take("b")
}

// What an edited copy took the place of stays in the trash.
func testRestoreUnreplaced(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", "a", "b")
	_, err := r.Resend(r.ctx(), "a", queue.ResendInput{Body: []byte("mended")})
	r.must(err)
	d.done(d.take("mended")...)
	r.discard("jobs-dlq", "b")
	s := queue.Selection{Queue: queue.TrashQueue, Groups: []string{"bug:f"}, Unreplaced: true}
	if n, _, err := r.store.CountLetters(r.ctx(), s); err != nil || n != 1 {
		r.Errorf("%d letters are unreplaced: %v", n, err)
	}
	t := r.redrive(queue.MoveTask{Kind: queue.MoveRestore, Source: queue.TrashQueue, Selection: s})
	if t := r.finish(t.ID); t.State != queue.MoveCompleted || t.Moved != 1 || t.ToMove != 1 {
		r.Errorf("ended as %+v", t)
	}
	d.wantDead("b")
	if ids, _ := r.letters(queue.Selection{Queue: queue.TrashQueue}, 0, 10); !slices.Equal(ids, []string{"a"}) {
		r.Errorf("in the trash are %v, want a", ids)
	}
}

func testRestoreNowhere(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", "a")
	r.discard("jobs-dlq")
	r.must(r.DeleteQueue(r.ctx(), "jobs-dlq"))
	t := r.finish(r.redrive(queue.MoveTask{Kind: queue.MoveRestore, Source: queue.TrashQueue}).ID)
	r.errorIf(t.State != queue.MoveFailed || !strings.Contains(t.Failure, "jobs-dlq") || t.Moved != 0 || t.Ended.IsZero(), "without its queue it ended as %+v", t)
	if l, err := r.store.Letter(r.ctx(), "a"); err != nil || l.Queue != queue.TrashQueue {
		r.Errorf("the letter is in %q: %v", l.Queue, err)
	}
}

func testRestoreFIFO(r *rig) {
	d := r.at("jobs.fifo", fifo)
	d.send(queue.Entry{SendInput: queue.SendInput{Body: []byte("a"), Group: "g"}})
	d.change(queue.Change{Receipt: d.only().Receipt, Release: true, Dead: true})
	r.discard("jobs-dlq.fifo")
	if t := r.finish(r.redrive(queue.MoveTask{Kind: queue.MoveRestore, Source: queue.TrashQueue}).ID); t.State != queue.MoveCompleted {
		r.Errorf("ended as %+v", t)
	}
	if m := r.one("jobs-dlq.fifo"); m.Group != "g" || m.Dedup != m.ID || m.Letter == nil {
		r.Errorf("restored as %+v", m)
	}
}

func testMoveQueries(r *rig) {
	d := r.at("jobs", nil)
	other := r.at("other", nil)
	other.die(bezoar.Bug, "f", "x")
	d.die(bezoar.Bug, "f", "a", "b")
	over := r.redrive(queue.MoveTask{Source: "other-dlq"})
	r.finish(over.ID)
	other.done(other.take("x")...)
	r.finish(over.ID)
	live := r.redrive(queue.MoveTask{Source: "jobs-dlq", Rate: 1})
	sqs, err := r.store.StartMove(r.ctx(), queue.MoveTask{ID: "sqs", Source: "jobs-dlq", Rate: 1, HaltAbove: 1})
	r.must(err)
	for _, c := range []struct {
		q    queue.MoveQuery
		want []string
	}{
		{queue.MoveQuery{}, []string{sqs.ID, live.ID, over.ID}},
		{queue.MoveQuery{Limit: 1}, []string{sqs.ID}},
		{queue.MoveQuery{Live: true}, []string{sqs.ID, live.ID}},
		{queue.MoveQuery{Triage: true}, []string{live.ID, over.ID}},
		{queue.MoveQuery{Source: "jobs-dlq", Triage: true}, []string{live.ID}},
		{queue.MoveQuery{ID: over.ID}, []string{over.ID}},
		{queue.MoveQuery{ID: "none"}, nil},
	} {
		found, err := r.store.Moves(r.ctx(), c.q)
		r.must(err)
		var got []string
		for _, t := range found {
			got = append(got, t.ID)
		}
		r.same(c.want, got, "%+v", c.q)
	}
}

// Tasks of one kind do not displace those of the other.
func testTriageHistory(r *rig) {
	r.pair()
	first := r.redrive(queue.MoveTask{Source: "dead"})
	r.finish(first.ID)
	sqs := r.startMove(queue.MoveInput{Source: "dead"})
	for range 15 {
		r.finish(r.redrive(queue.MoveTask{Source: "dead"}).ID)
	}
	r.finish(sqs.ID)
	for range 12 {
		r.finish(r.startMove(queue.MoveInput{Source: "dead"}).ID)
	}
	r.wantTask(first.ID, queue.MoveCompleted, 0, 0, 0)
	all, err := r.store.Moves(r.ctx(), queue.MoveQuery{Source: "dead"})
	r.must(err)
	r.errorIf(len(all) != 16+10, "%d tasks are kept, want 16 and 10", len(all))
}

func testRedriveFails(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", "a")
	r.must(r.DeleteQueue(r.ctx(), "jobs"))
	t := r.finish(r.redrive(queue.MoveTask{Source: "jobs-dlq"}).ID)
	r.errorIf(t.State != queue.MoveFailed || !strings.Contains(t.Failure, `"jobs"`) || t.Moved != 0, "without the origin it ended as %+v", t)
	d.wantDead("a")
	_, err := r.store.StartMove(r.ctx(), queue.MoveTask{ID: "x", Kind: queue.MoveRedrive, Source: "nowhere", Rate: 1})
	r.wantErr(err, queue.ErrQueueNotFound)
}
