package queuetest

import (
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/each"
	"github.com/bezoar-dev/bezoar/queue"
)

func setAsideTests() map[string]func(*rig) {
	return map[string]func(*rig){
		"ImplicitQueue": testImplicit, "ImplicitFIFO": testImplicitFIFO, "TrashIsNoQueue": testTrashHidden, "KeepExpired": testKeepExpired,
		"KeepExpiredAtReceive": testKeepExpiredAtReceive, "KeepExpiredLetters": testKeepExpiredLetters, "Replace": testReplace,
		"ReplaceConflict": testReplaceConflict, "ReplaceNowhere": testReplaceNowhere,
	}
}

func testImplicit(r *rig) {
	d := r.at("jobs", nil)
	d.put(0, "a")
	d.done(d.take("a")...)
	_, err := r.store.Queue(r.ctx(), "jobs-dlq")
	r.wantErr(err, queue.ErrQueueNotFound)
	d.die(bezoar.Bug, "f", "x", "y")
	q, err := r.store.Queue(r.ctx(), "jobs-dlq")
	r.must(err)
	if want := queue.ImplicitQueue("jobs-dlq", false); !q.Settings.Equal(want.Settings) || q.ID < 1 || q.Version != 1 || q.Created.IsZero() {
		r.Errorf("made %+v, want %+v", q, want)
	}
	r.wantCounts("jobs-dlq", 2, 0, 0)
	r.must(r.DeleteQueue(r.ctx(), "jobs-dlq"))
	d.die(bezoar.Bug, "f", "z")
	r.wantCounts("jobs-dlq", 1, 0, 0) // made anew
}

func testImplicitFIFO(r *rig) {
	d := r.at("jobs.fifo", fifo)
	d.send(queue.Entry{SendInput: queue.SendInput{Body: []byte("a"), Group: "g"}})
	m := d.take("a")[0]
	d.change(queue.Change{Receipt: m.Receipt, Release: true, Dead: true, Outcome: &queue.Outcome{Class: bezoar.Bug}})
	q, err := r.store.Queue(r.ctx(), "jobs-dlq.fifo")
	r.must(err)
	if dead := d.wantDead("a")[0]; !q.Settings.FIFO || dead.Group != "g" || dead.Dedup != dead.ID {
		r.Errorf("in %+v is %+v", q, dead)
	}
}

func testTrashHidden(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", "a")
	r.discard("jobs-dlq")
	found, err := r.store.Queues(r.ctx(), queue.ListQuery{})
	r.must(err)
	for _, q := range found {
		r.errorIf(q.Name == queue.TrashQueue, "the trash is listed as a queue")
	}
	_, err = r.store.Queue(r.ctx(), queue.TrashQueue)
	r.wantErr(err, queue.ErrQueueNotFound)
	_, err = r.Receive(r.ctx(), queue.TrashQueue, queue.ReceiveInput{})
	r.wantErr(err, queue.ErrQueueNotFound)
}

func (d *storeClient) expire(retention time.Duration) int {
	d.Helper()
	n, err := d.store.Expire(d.ctx(), d.q.ID, d.p, retention, 100)
	d.must(err)
	return n
}

func keep(s *queue.Settings) { s.KeepExpired, s.Retention = true, time.Hour }

func testKeepExpired(r *rig) {
	d := r.at("jobs", keep)
	d.put(1, "old")
	d.put(2, "held")
	r.age(59*time.Minute + 45*time.Second)
	d.put(3, "young")
	if n := d.expire(time.Hour); n != 0 {
		r.Fatalf("%d expired too early", n)
	}
	for _, m := range d.take("old", "held", "young") {
		if string(m.Body) != "held" {
			d.change(queue.Change{Receipt: m.Receipt, Release: true, Outcome: &queue.Outcome{Class: bezoar.Outage, Reason: "busy"}})
		}
	}
	r.age(16 * time.Second)
	if n := d.expire(time.Hour); n != 1 {
		r.Fatalf("%d expired, want one: whoever holds the other may yet be done", n)
	}
	if l := d.wantDead("old")[0].Letter; l.Class != bezoar.Transient || !strings.Contains(l.Reason, "retention") || len(l.Attempts) != 1 {
		r.Errorf("the letter is %+v", l)
	}
	r.age(15 * time.Second)
	d.expire(time.Hour)
	for _, m := range d.wantDead("held", "old") {
		if a := m.Letter.Attempts; string(m.Body) == "held" && (len(a) != 1 || a[0].Class != bezoar.Timeout) {
			r.Errorf("its attempts are %+v", a)
		}
	}
	r.wantCounts("jobs", 1, 0, 0)
}

func testKeepExpiredAtReceive(r *rig) {
	d := r.at("jobs", keep)
	d.put(1, "a", "b")
	d.put(2, "c")
	r.age(time.Hour)
	c := d.claim(10)
	r.errorIf(len(c.Messages) > 0 || !slices.Equal(c.Queues, []string{"jobs-dlq"}), "received %v; %v gained messages", bodies(c.Messages), c.Queues)
	for _, m := range d.wantDead("a", "b", "c") {
		if l := m.Letter; l.Origin != "jobs" || l.Reason == "" || l.Receives != 0 || l.Group != d.wantDead("a", "b", "c")[0].Letter.Group {
			r.Errorf("the letter is %+v", l)
		}
	}
}

// Letters end with their retention, whatever the settings of their queue.
func testKeepExpiredLetters(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", "a")
	dead, err := r.SetSettings(r.ctx(), "jobs-dlq", func(s *queue.Settings) error { keep(s); return nil })
	r.must(err)
	r.must(second(r.Send(r.ctx(), "jobs-dlq", text("no letter"))))
	r.age(time.Hour)
	p := queue.Policy{DeadLetter: queue.ImplicitName("jobs-dlq"), Implicit: true, KeepExpired: true}
	n, err := r.store.Expire(r.ctx(), dead.ID, p, time.Hour, 10)
	r.must(err)
	r.errorIf(n != 2, "%d expired, want both", n)
	r.wantCounts("jobs-dlq", 0, 0, 0)
	r.wantBodies("jobs-dlq-dlq", 10, "no letter")
	_, err = r.store.Letter(r.ctx(), "a")
	r.wantErr(err, queue.ErrLetterNotFound)
}

// replacement is a changed copy of a letter.
func (r *rig) replacement(id, to, body string) queue.Replacement {
	r.Helper()
	l, err := r.store.Letter(r.ctx(), id)
	r.must(err)
	return queue.Replacement{
		Letter: id, Receipt: l.Receipt, Destination: to, Lineage: *l.Lineage.Child(id, l.Letter, "", true),
		Entry: queue.Entry{SendInput: text(body), ID: body, Payload: work(9)},
	}
}

func testReplace(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", "a", "b")
	sent, err := r.store.Replace(r.ctx(), r.replacement("a", "jobs", "mended"))
	r.must(err)
	m := d.only()
	want := queue.Lineage{Parent: "a", Root: "a", Times: 1, Edited: true}
	r.errorIf(sent.ID != "mended" || m.ID != sent.ID || m.Sequence != sent.Sequence || !descends(m.Lineage, want, 1) || m.Letter != nil || m.Payload != work(9), "sent %+v, received %+v", sent, m)
	l, err := r.store.Letter(r.ctx(), "a")
	r.must(err)
	if x := l.Letter.Discarded; l.Queue != queue.TrashQueue || x == nil || x.From != "jobs-dlq" || x.Into != "mended" || x.At.IsZero() {
		r.Errorf("the letter is in %s, discarded as %+v", l.Queue, x)
	}
	if g := r.groups(queue.Selection{}, 10); g[0].Count != 1 {
		r.Errorf("the groups are %+v", g)
	}
	d.change(queue.Change{Receipt: m.Receipt, Release: true, Dead: true, Outcome: &queue.Outcome{Class: bezoar.Bug, Failure: "f"}})
	r.must(second(r.store.Replace(r.ctx(), r.replacement("mended", "jobs", "mended again"))))
	if l := d.only().Lineage; !descends(l, queue.Lineage{Parent: "mended", Root: "a", Times: 2, Edited: true}, 1, 2) {
		r.Errorf("the second copy descends as %+v", l)
	}
	_, err = r.store.Replace(r.ctx(), r.replacement("a", "jobs", "once more"))
	r.wantErr(err, queue.ErrLetterNotFound) // it is in the trash
}

func testReplaceConflict(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", "a")
	stale := r.replacement("a", "jobs", "new")
	m := r.one("jobs-dlq")
	_, err := r.store.Replace(r.ctx(), stale)
	r.wantErr(err, queue.ErrConflict)
	_, err = r.store.Replace(r.ctx(), r.replacement("a", "jobs", "new"))
	r.wantErr(err, queue.ErrConflict) // somebody has it
	r.must(r.ChangeVisibility(r.ctx(), "jobs-dlq", m.Receipt, 0))
	_, err = r.store.Replace(r.ctx(), stale)
	r.wantErr(err, queue.ErrConflict)
	fresh := r.replacement("a", "jobs", "new")
	r.discard("jobs-dlq")
	r.finish(r.redrive(queue.MoveTask{Kind: queue.MoveRestore, Source: queue.TrashQueue}).ID)
	_, err = r.store.Replace(r.ctx(), fresh)
	r.wantErr(err, queue.ErrConflict) // it has another place
	r.wantCounts("jobs", 0, 0, 0)
	stale.Letter = "none"
	_, err = r.store.Replace(r.ctx(), stale)
	r.wantErr(err, queue.ErrLetterNotFound)
	r.must(second(r.store.Replace(r.ctx(), r.replacement("a", "jobs", "new"))))
	d.take("new")
}

func testReplaceNowhere(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", "a")
	for _, to := range []string{"nowhere", queue.TrashQueue, ""} {
		_, err := r.store.Replace(r.ctx(), r.replacement("a", to, "new"))
		r.wantErr(err, queue.ErrQueueNotFound)
	}
	d.wantDead("a")
	r.createFIFO("jobs.fifo", nil)
	twice := r.replacement("a", "jobs.fifo", "new")
	twice.Entry.FIFO, twice.Entry.Group, twice.Entry.DedupKey = true, "g", "new"
	r.send("jobs.fifo", in("g", "new"))
	sent, err := r.store.Replace(r.ctx(), twice)
	r.must(err)
	r.errorIf(!sent.Duplicate, "a duplicate was sent as %+v", sent)
	d.wantDead("a") // nothing has taken its place
}

// descends reports whether a lineage is as wanted, with one attempt of each of
// these lives.
func descends(l *queue.Lineage, want queue.Lineage, lives ...int) bool {
	if l == nil || l.Parent != want.Parent || l.Root != want.Root || l.Times != want.Times || l.Edited != want.Edited || l.Task != want.Task {
		return false
	}
	return slices.Equal(each.Of(l.Attempts, func(a queue.Attempt) int { return a.Life }), lives)
}
