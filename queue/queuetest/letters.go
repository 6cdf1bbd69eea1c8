package queuetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/queue"
)

func letterTests() map[string]func(*rig) {
	return map[string]func(*rig){
		"Groups": testGroups, "GroupsHours": testGroupHours, "GroupsMove": testGroupsMove, "Select": testSelect, "Letters": testLetters,
		"Letter": testLetter, "LettersOfADeletedQueue": testLettersDeleted,
	}
}

// die sends messages and sets them aside with this outcome.
func (d *storeClient) die(c bezoar.Class, failure string, bodies ...string) {
	d.Helper()
	for _, body := range bodies {
		d.put(0, body)
		m := d.take(body)[0]
		d.change(queue.Change{Receipt: m.Receipt, Release: true, Dead: true, Outcome: &queue.Outcome{Class: c, Failure: failure, Reason: "why " + body}})
	}
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
	r.fatalIf(len(got) != 3, "%d groups, want 3: %+v", len(got), got)
	for i, want := range []queue.Group{
		{Queue: "other-dlq", Key: "bug:f", Count: 1, Origin: "other", Outcome: queue.Outcome{Class: bezoar.Bug, Failure: "f", Reason: "why e"}, Sample: "e"},
		{Queue: "jobs-dlq", Key: "bug:f", Count: 3, Origin: "jobs", Outcome: queue.Outcome{Class: bezoar.Bug, Failure: "f", Reason: "why d"}, Sample: "d"},
		{Queue: "jobs-dlq", Key: "invalid:f", Count: 1, Origin: "jobs", Outcome: queue.Outcome{Class: bezoar.Invalid, Failure: "f", Reason: "why b"}, Sample: "b"},
	} {
		g := got[i]
		r.errorIf(g.First.IsZero() || g.First.Location() != time.UTC || (g.Last.Sub(g.First) > time.Minute) != (g.Count == 3), "group %d is from %v to %v", i, g.First, g.Last)
		var hours int64
		for _, n := range g.Hours {
			hours += n
		}
		r.errorIf(hours != g.Count || g.Hours[23] != g.Count, "group %d died in the hours %v", i, g.Hours)
		g.First, g.Last, g.Hours = time.Time{}, time.Time{}, [24]int64{}
		r.same(want, g, "group %d", i)
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
	r.errorIf(g.Hours != want || g.Count != 4, "died in the hours %v, want %v", g.Hours, want)
	g = r.groups(queue.Selection{Class: "bug"}, 10)[0]
	r.errorIf(g.Hours != want || g.Count != 4, "of a class died in the hours %v, want %v", g.Hours, want)
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
		r.same(c.want, ids, "%+v", c.s)
		n, last, err := r.store.CountLetters(r.ctx(), c.s)
		r.must(err)
		r.errorIf(n != int64(len(c.want)) || (last == 0) != (n == 0), "%+v: counted %d up to %d", c.s, n, last)
		var grouped int64
		for _, g := range r.groups(c.s, 10) {
			grouped += g.Count
		}
		r.errorIf(grouped != n, "%+v: grouped %d", c.s, grouped)
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
	r.errorIf(!slices.Equal(page, []string{"m2", "m0"}), "a page of a group: %v", page)
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
	e := queue.Entry{SendInput: full(), ID: "full", Payload: work(1)}
	d.send(e)
	m := d.claim(1).Messages[0]
	d.change(queue.Change{Receipt: m.Receipt, Release: true, Dead: true, Outcome: &queue.Outcome{Class: bezoar.Bug, Reason: "no"}})
	l, err := r.store.Letter(r.ctx(), m.ID)
	r.must(err)
	if l.Queue != "jobs-dlq" || string(l.Body) != string(full().Body) || cmp.Diff(full().Attributes, l.Attributes) != "" || l.Priority != 3 ||
		len(l.Letter.Attempts) != 1 || l.Letter.Group != "bug:no" || l.Letter.Payload != work(1) || l.Payload != work(1) || l.Lineage != nil || l.Letter.Discarded != nil {
		r.Errorf("the letter is %+v with %+v", l, l.Letter)
	}
	r.errorIf(l.Receipt.Sequence != l.Sequence || l.Receipt.Queue == 0 || l.Receipt.Generation != 0, "its receipt is %+v", l.Receipt)
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
