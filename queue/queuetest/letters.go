package queuetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/queue"
)

func letterTests() map[string]func(*rig) {
	return map[string]func(*rig){
		"ImplicitQueue": testImplicit, "ImplicitFIFO": testImplicitFIFO, "TrashIsNoQueue": testTrashHidden,
		"KeepExpired": testKeepExpired, "KeepExpiredAtReceive": testKeepExpiredAtReceive, "KeepExpiredLetters": testKeepExpiredLetters,
		"Groups": testGroups, "GroupsHours": testGroupHours, "GroupsMove": testGroupsMove, "Select": testSelect,
		"Letters": testLetters, "Letter": testLetter, "LettersOfADeletedQueue": testLettersDeleted,
		"Replace": testReplace, "ReplaceConflict": testReplaceConflict, "ReplaceNowhere": testReplaceNowhere,
	}
}

// die sends messages and sets them aside with this outcome.
func (d *desk) die(c bezoar.Class, failure string, bodies ...string) {
	d.Helper()
	for _, body := range bodies {
		d.put(0, body)
		m := d.take(body)[0]
		d.change(queue.Change{Receipt: m.Receipt, Release: true, Dead: true, Outcome: &queue.Outcome{Class: c, Failure: failure, Reason: "why " + body}})
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
		if q.Name == queue.TrashQueue {
			r.Error("the trash is listed as a queue")
		}
	}
	_, err = r.store.Queue(r.ctx(), queue.TrashQueue)
	r.wantErr(err, queue.ErrQueueNotFound)
	_, err = r.Receive(r.ctx(), queue.TrashQueue, queue.ReceiveInput{})
	r.wantErr(err, queue.ErrQueueNotFound)
}

func (d *desk) expire(retention time.Duration) int {
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
	if len(c.Messages) > 0 || !slices.Equal(c.Queues, []string{"jobs-dlq"}) {
		r.Errorf("received %v; %v gained messages", bodies(c.Messages), c.Queues)
	}
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
	if n != 2 {
		r.Errorf("%d expired, want both", n)
	}
	r.wantCounts("jobs-dlq", 0, 0, 0)
	r.wantBodies("jobs-dlq-dlq", 10, "no letter")
	_, err = r.store.Letter(r.ctx(), "a")
	r.wantErr(err, queue.ErrLetterNotFound)
}

func (r *rig) groups(s queue.Selection, limit int) []queue.Group {
	r.Helper()
	g, err := r.store.Groups(r.ctx(), s, limit)
	r.must(err)
	return g
}

func testGroups(r *rig) {
	d, other := r.at("jobs", nil), r.at("other", nil)
	if g := r.groups(queue.Selection{}, 10); len(g) > 0 {
		r.Errorf("without letters there are groups: %+v", g)
	}
	d.die(bezoar.Bug, "f", "a")
	r.age(time.Minute)
	d.die(bezoar.Invalid, "f", "b")
	r.age(time.Minute)
	d.die(bezoar.Bug, "f", "c", "d")
	r.age(time.Minute)
	other.die(bezoar.Bug, "f", "e")
	got := r.groups(queue.Selection{}, 10)
	if len(got) != 3 {
		r.Fatalf("%d groups, want 3: %+v", len(got), got)
	}
	for i, want := range []queue.Group{
		{Queue: "other-dlq", Key: "bug:f", Count: 1, Origin: "other", Outcome: queue.Outcome{Class: bezoar.Bug, Failure: "f", Reason: "why e"}, Sample: "e"},
		{Queue: "jobs-dlq", Key: "bug:f", Count: 3, Origin: "jobs", Outcome: queue.Outcome{Class: bezoar.Bug, Failure: "f", Reason: "why d"}, Sample: "d"},
		{Queue: "jobs-dlq", Key: "invalid:f", Count: 1, Origin: "jobs", Outcome: queue.Outcome{Class: bezoar.Invalid, Failure: "f", Reason: "why b"}, Sample: "b"},
	} {
		g := got[i]
		if span := g.Last.Sub(g.First); g.First.IsZero() || g.First.Location() != time.UTC || (span > time.Minute) != (g.Count == 3) {
			r.Errorf("group %d is from %v to %v", i, g.First, g.Last)
		}
		var hours int64
		for _, n := range g.Hours {
			hours += n
		}
		if hours != g.Count || g.Hours[23] != g.Count {
			r.Errorf("group %d died in the hours %v", i, g.Hours)
		}
		g.First, g.Last, g.Hours = time.Time{}, time.Time{}, [24]int64{}
		if diff := cmp.Diff(want, g); diff != "" {
			r.Errorf("group %d: %s", i, diff)
		}
	}
	if g := r.groups(queue.Selection{}, 1); len(g) != 1 || g[0].Queue != "other-dlq" {
		r.Errorf("the newest group is %+v", g)
	}
	if g := r.groups(queue.Selection{Queue: "jobs-dlq"}, 10); len(g) != 2 || g[0].Count != 3 {
		r.Errorf("the groups of one queue are %+v", g)
	}
}

func testGroupHours(r *rig) {
	d := r.at("jobs", nil)
	for i := range 4 {
		d.die(bezoar.Bug, "f", fmt.Sprint("x", i))
		r.age([]time.Duration{20 * time.Hour, 3 * time.Hour, 70 * time.Minute, time.Minute}[i])
	}
	g := r.groups(queue.Selection{}, 10)[0]
	want := [24]int64{23: 1, 22: 1, 19: 1} // the first is older than a day
	if g.Hours != want || g.Count != 4 {
		r.Errorf("died in the hours %v, want %v", g.Hours, want)
	}
	g = r.groups(queue.Selection{Class: "bug"}, 10)[0]
	if g.Hours != want || g.Count != 4 {
		r.Errorf("of a class died in the hours %v, want %v", g.Hours, want)
	}
}

// However letters come and go, the groups count them.
func testGroupsMove(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", "a", "b", "c", "e")
	r.age(time.Second)
	d.die(bezoar.Bug, "g", "d")
	r.age(time.Second)
	r.finish(r.redrive(queue.MoveTask{Source: "jobs-dlq", Selection: queue.Selection{IDs: []string{"a"}}}).ID)
	again := d.only()
	if g := r.groups(queue.Selection{}, 10); g[0].Key != "bug:g" || g[1].Count != 3 || g[1].Redriven != 0 {
		r.Errorf("after a redrive: %+v", g)
	}
	d.change(queue.Change{Receipt: again.Receipt, Release: true, Dead: true, Outcome: &queue.Outcome{Class: bezoar.Bug, Failure: "f"}})
	if g := r.groups(queue.Selection{}, 10); g[0].Key != "bug:f" || g[0].Count != 4 || g[0].Redriven != 1 || g[0].Sample != again.ID {
		r.Errorf("after it died again: %+v", g)
	}
	for _, m := range r.receive("jobs-dlq", 10) {
		if m.ID == "b" || m.ID == "d" || m.ID == again.ID {
			r.must(r.Delete(r.ctx(), "jobs-dlq", m.Receipt))
		}
	}
	if g := r.groups(queue.Selection{}, 10); len(g) != 1 || g[0].Count != 2 || g[0].Redriven != 0 || g[0].Sample != "e" {
		r.Errorf("after deletions: %+v", g)
	}
	r.must(r.Purge(r.ctx(), "jobs-dlq"))
	if g := r.groups(queue.Selection{}, 10); len(g) > 0 {
		r.Errorf("after a purge: %+v", g)
	}
	r.clean()
	d.die(bezoar.Bug, "f", "z")
	if g := r.groups(queue.Selection{}, 10); len(g) != 1 || g[0].Count != 1 {
		r.Errorf("after all of it: %+v", g)
	}
}

// letters lists the IDs of a selection, the newest first.
func (r *rig) letters(s queue.Selection, after int64, limit int) (ids []string, last int64) {
	r.Helper()
	found, err := r.store.Letters(r.ctx(), s, after, limit)
	r.must(err)
	for _, l := range found {
		ids, last = append(ids, l.ID), l.Sequence
	}
	return ids, last
}

// Lists, counts and groups mean the same by a selection.
func testSelect(r *rig) {
	d, other := r.at("jobs", nil), r.at("other", nil)
	d.die(bezoar.Bug, "f", "a")
	d.die(bezoar.Bug, "g", "b")
	r.age(time.Hour)
	d.die(bezoar.Invalid, "f", "c")
	_, last, err := r.store.CountLetters(r.ctx(), queue.Selection{})
	r.must(err)
	r.age(time.Hour)
	other.die(bezoar.Bug, "f", "d")
	d.die(bezoar.Bug, "f", "e")
	r.discard("jobs-dlq", "e")
	hour := time.Now().Add(-time.Hour)
	for _, c := range []struct {
		s    queue.Selection
		want []string
	}{
		{queue.Selection{}, []string{"d", "c", "b", "a"}},
		{queue.Selection{Queue: queue.TrashQueue}, []string{"e"}},
		{queue.Selection{Queue: "jobs-dlq"}, []string{"c", "b", "a"}},
		{queue.Selection{Queue: "nowhere"}, nil},
		{queue.Selection{Groups: []string{"bug:f"}}, []string{"d", "a"}},
		{queue.Selection{Queue: "jobs-dlq", Groups: []string{"bug:f", "bug:g", "none"}}, []string{"b", "a"}},
		{queue.Selection{IDs: []string{"a", "d", "e", "none"}}, []string{"d", "a"}},
		{queue.Selection{IDs: []string{"a", "b"}, Groups: []string{"bug:g"}}, []string{"b"}},
		{queue.Selection{Origin: "jobs"}, []string{"c", "b", "a"}},
		{queue.Selection{Class: "invalid"}, []string{"c"}},
		{queue.Selection{Class: "nothing"}, nil},
		{queue.Selection{After: hour.Add(-10 * time.Minute)}, []string{"d", "c"}},
		{queue.Selection{Before: hour.Add(-10 * time.Minute)}, []string{"b", "a"}},
		{queue.Selection{After: hour.Add(-10 * time.Minute), Before: hour.Add(10 * time.Minute)}, []string{"c"}},
		{queue.Selection{Last: last}, []string{"c", "b", "a"}},
		{queue.Selection{Last: last, Queue: "jobs-dlq", Origin: "jobs", Class: "bug", Groups: []string{"bug:f"}, IDs: []string{"a", "b"}, Before: hour}, []string{"a"}},
	} {
		ids, _ := r.letters(c.s, 0, 10)
		if diff := cmp.Diff(c.want, ids); diff != "" {
			r.Errorf("%+v: %s", c.s, diff)
		}
		n, last, err := r.store.CountLetters(r.ctx(), c.s)
		r.must(err)
		if n != int64(len(c.want)) || (last == 0) != (n == 0) {
			r.Errorf("%+v: counted %d up to %d", c.s, n, last)
		}
		var grouped int64
		for _, g := range r.groups(c.s, 10) {
			grouped += g.Count
		}
		if grouped != n {
			r.Errorf("%+v: grouped %d", c.s, grouped)
		}
	}
}

func testLetters(r *rig) {
	d := r.at("jobs", nil)
	for i := range 7 {
		d.die(bezoar.Bug, fmt.Sprint("f", i%2), fmt.Sprint("m", i))
	}
	first, last := r.letters(queue.Selection{}, 0, 3)
	rest, end := r.letters(queue.Selection{}, last, 10)
	if got := append(first, rest...); !slices.Equal(got, []string{"m6", "m5", "m4", "m3", "m2", "m1", "m0"}) {
		r.Errorf("in two pages: %v", got)
	}
	if none, _ := r.letters(queue.Selection{}, end, 10); len(none) > 0 {
		r.Errorf("beyond the last there are %v", none)
	}
	page, _ := r.letters(queue.Selection{Queue: "jobs-dlq", Groups: []string{"bug:f0"}}, last, 2)
	if !slices.Equal(page, []string{"m2", "m0"}) {
		r.Errorf("a page of a group: %v", page)
	}
	all, err := r.store.Letters(r.ctx(), queue.Selection{}, 0, 1)
	r.must(err)
	l := all[0]
	if l.Queue != "jobs-dlq" || l.Letter == nil || l.Letter.Reason != "why m6" || l.Sent.IsZero() ||
		len(l.Body) > 0 || len(l.Attempts) > 0 || len(l.Letter.Attempts) > 0 || l.Attributes != nil {
		r.Errorf("listed %+v with %+v", l, l.Letter)
	}
}

func testLetter(r *rig) {
	d := r.at("jobs", nil)
	e := queue.Entry{SendInput: full(), Payload: work(1)}
	d.send(e)
	m := d.claim(1).Messages[0]
	d.change(queue.Change{Receipt: m.Receipt, Release: true, Dead: true, Outcome: &queue.Outcome{Class: bezoar.Bug, Reason: "no"}})
	l, err := r.store.Letter(r.ctx(), m.ID)
	r.must(err)
	if l.Queue != "jobs-dlq" || string(l.Body) != string(full().Body) || cmp.Diff(full().Attributes, l.Attributes) != "" || l.Priority != 3 ||
		len(l.Letter.Attempts) != 1 || l.Letter.Group != "bug:no" || l.Letter.Payload != work(1) || l.Payload != work(1) || l.Lineage != nil || l.Letter.Discarded != nil {
		r.Errorf("the letter is %+v with %+v", l, l.Letter)
	}
	if l.Receipt.Sequence != l.Sequence || l.Receipt.Queue == 0 || l.Receipt.Generation != 0 {
		r.Errorf("its receipt is %+v", l.Receipt)
	}
	received := r.one("jobs-dlq")
	if l, err = r.store.Letter(r.ctx(), m.ID); err != nil || !l.InFlight || l.Receipt != received.Receipt {
		r.Errorf("in flight it is %+v: %v", l, err)
	}
	_, err = r.store.Letter(r.ctx(), "none")
	r.wantErr(err, queue.ErrLetterNotFound)
	r.send("jobs-dlq", text("no letter"))
	if ids, _ := r.letters(queue.Selection{}, 0, 10); len(ids) != 1 {
		r.Errorf("what was sent to a dead-letter queue is no letter: %v", ids)
	}
}

func testLettersDeleted(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", "a")
	r.must(r.DeleteQueue(r.ctx(), "jobs-dlq"))
	for range 2 {
		ids, _ := r.letters(queue.Selection{}, 0, 10)
		n, _, err := r.store.CountLetters(r.ctx(), queue.Selection{})
		r.must(err)
		if _, err := r.store.Letter(r.ctx(), "a"); len(ids) > 0 || n > 0 || !errors.Is(err, queue.ErrLetterNotFound) || len(r.groups(queue.Selection{}, 10)) > 0 {
			r.Errorf("of a deleted queue there are %v, %d, %v", ids, n, err)
		}
		r.clean()
	}
}

// replacement is a changed copy of a letter.
func (r *rig) replacement(id, to, body string) queue.Replacement {
	r.Helper()
	l, err := r.store.Letter(r.ctx(), id)
	r.must(err)
	return queue.Replacement{
		Letter: id, Receipt: l.Receipt, Destination: to, Lineage: *l.Lineage.Child(id, "", true),
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
	if sent.ID != "mended" || m.ID != sent.ID || m.Sequence != sent.Sequence || m.Lineage == nil || *m.Lineage != want || m.Letter != nil || m.Payload != work(9) {
		r.Errorf("sent %+v, received %+v", sent, m)
	}
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
	if l := d.only().Lineage; *l != (queue.Lineage{Parent: "mended", Root: "a", Times: 2, Edited: true}) {
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
	if !sent.Duplicate {
		r.Errorf("a duplicate was sent as %+v", sent)
	}
	d.wantDead("a") // nothing has taken its place
}
