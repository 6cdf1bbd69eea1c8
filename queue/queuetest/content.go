package queuetest

import (
	"fmt"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
	"github.com/bezoar-dev/bezoar/queue"
)

func contentTests() map[string]func(*rig) {
	return map[string]func(*rig){"SelectContent": testSelectContent, "SelectContentFar": testSelectContentFar}
}

// dieAs sends a message and sets it aside for a reason.
func (d *storeClient) dieAs(id, reason string, in queue.SendInput) {
	d.Helper()
	d.send(queue.Entry{SendInput: in, ID: id})
	all := d.claim(10).Messages
	suite.FatalIf(d, len(all) != 1, "received %v, want %s", bodies(all), id)
	d.change(queue.Change{Receipt: all[0].Receipt, Release: true, Dead: true, Outcome: &queue.Outcome{Class: bezoar.Bug, Failure: "f", Reason: reason}})
}

func attribute(nameAndValue ...string) map[string]queue.Attribute {
	out := make(map[string]queue.Attribute)
	for i := 0; i < len(nameAndValue); i += 2 {
		out[nameAndValue[i]] = queue.Attribute{DataType: "String", String: nameAndValue[i+1]}
	}
	return out
}

// Lists, counts, groups and tasks mean the same by what is within letters.
func testSelectContent(r *rig) {
	d, odd := r.at("jobs", nil), `ü <&> \ "q" (a+)*$ {1}`
	d.dieAs("a", `no "stock" left`, queue.SendInput{Body: []byte("order 17 for Ann"), Attributes: attribute("tenant", "acme", "n", "7", "empty", "")})
	d.dieAs("b", "no stock left\nat all", queue.SendInput{Body: []byte("order 170 \x00\xff for ann"), Attributes: attribute("tenant", "acme corp", "t", "acme")})
	d.dieAs("c", "", queue.SendInput{Body: []byte(`{"tenant":{"t":"String","s":"acme"}}`), Attributes: attribute("other", `"tenant":{"t":"String","s":"acme"}`, odd, odd)})
	d.dieAs("d", "100% sure", full())
	d.dieAs("e", "no attributes", queue.SendInput{Body: []byte("plain")})
	for _, c := range []struct {
		s    queue.Selection
		want []string
	}{
		{queue.Selection{Body: "order 17"}, []string{"b", "a"}},
		{queue.Selection{Body: "Ann"}, []string{"a"}},
		{queue.Selection{Body: "order %"}, nil},
		{queue.Selection{Body: "ü"}, []string{"d"}},
		{queue.Selection{Body: "order", Queue: "jobs-dlq"}, []string{"b", "a"}},
		{queue.Selection{Body: "order", Queue: "nowhere"}, nil},
		{queue.Selection{Reason: "stock"}, []string{"b", "a"}},
		{queue.Selection{Reason: `"stock"`}, []string{"a"}},
		{queue.Selection{Reason: "left\nat"}, []string{"b"}},
		{queue.Selection{Reason: "%"}, []string{"d"}},
		{queue.Selection{Attributes: map[string]string{"tenant": "acme"}}, []string{"a"}},
		{queue.Selection{Attributes: map[string]string{"tenant": "acme corp"}}, []string{"b"}},
		{queue.Selection{Attributes: map[string]string{"tenant": "ACME"}}, nil},
		{queue.Selection{Attributes: map[string]string{"n": "7"}}, []string{"d", "a"}},
		{queue.Selection{Attributes: map[string]string{"n": "7", "tenant": "acme"}}, []string{"a"}},
		{queue.Selection{Attributes: map[string]string{"n": "8", "tenant": "acme"}}, nil},
		{queue.Selection{Attributes: map[string]string{odd: odd}}, []string{"c"}},
		{queue.Selection{Attributes: map[string]string{"empty": ""}}, []string{"a"}},
		{queue.Selection{Attributes: map[string]string{"b": ""}}, nil}, // is binary
		{queue.Selection{Attributes: map[string]string{"AWSTraceHeader": "Root=1"}}, []string{"d"}},
		{queue.Selection{Body: "order", Reason: "all", Attributes: map[string]string{"t": "acme"}, Class: "bug", Groups: []string{"bug:f"}}, []string{"b"}},
	} {
		ids, _ := r.letters(c.s, 0, 10)
		r.same(c.want, ids, "%+v", c.s)
		n, _, err := r.store.CountLetters(r.ctx(), c.s)
		r.must(err)
		var grouped int64
		for _, g := range r.groups(c.s, 10) {
			grouped += g.Count
		}
		r.errorIf(n != int64(len(c.want)) || grouped != n, "%+v: counted %d, grouped %d", c.s, n, grouped)
	}
	t := r.finish(r.redrive(queue.MoveTask{Kind: queue.MoveDiscard, Source: "jobs-dlq", Selection: queue.Selection{
		Body: "order", Attributes: map[string]string{"tenant": "acme"}, Reason: "no", Class: "bug",
	}}).ID)
	if ids, _ := r.letters(queue.Selection{Queue: queue.TrashQueue}, 0, 10); t.State != queue.MoveCompleted || t.ToMove != 1 || t.Moved != 1 || len(ids) != 1 || ids[0] != "a" {
		r.Errorf("the discard ended as %+v, in the trash are %v", t, ids)
	}
	if t = r.finish(r.redrive(queue.MoveTask{Kind: queue.MoveDiscard, Source: "jobs-dlq", Selection: queue.Selection{Body: "nobody's"}}).ID); t.State != queue.MoveCompleted || t.Moved != 0 {
		r.Errorf("of nothing the discard ended as %+v", t)
	}
}

// A task finds what it looks for however far it is, and leaves what came later.
func testSelectContentFar(r *rig) {
	d, n := r.at("jobs", nil), 0
	for range 3 {
		entries := make([]queue.Entry, queue.MaxBatch)
		for i := range entries {
			body := fmt.Sprintf("letter %d of very many", n)
			entries[i] = queue.Entry{SendInput: text(body), ID: body}
			n++
		}
		_, err := d.store.Send(r.ctx(), d.q.ID, entries)
		r.must(err)
		var changes []queue.Change
		for _, m := range d.claim(queue.MaxBatch).Messages {
			changes = append(changes, queue.Change{Receipt: m.Receipt, Release: true, Dead: true, Outcome: &queue.Outcome{Class: bezoar.Bug, Failure: "f"}})
		}
		ended, err := d.store.Change(r.ctx(), d.q.ID, d.p, changes)
		r.must(err)
		for _, err := range ended {
			r.must(err)
		}
	}
	s := queue.Selection{Body: "00 of very many"} // 0 is not, but 100 to 700
	count, last, err := r.store.CountLetters(r.ctx(), s)
	r.must(err)
	s.Last = last
	t := r.redrive(queue.MoveTask{Source: "jobs-dlq", Selection: s})
	d.dieAs("late", "", text("letter 800 of very many"))
	if step := r.step(t.ID); r.harness.Reopen != nil && (step.Moved == 0 || step.Task.Drained) {
		r.Errorf("the first step looked into all letters at once, or found none: %+v", step)
	}
	if t = r.finish2(t.ID); count != 7 || t.ToMove != 7 || t.Moved != 7 || !t.Drained {
		r.Fatalf("of %d letters were moved %+v", count, t)
	}
	if got := d.claim(10).Messages; len(got) != 7 || string(got[6].Body) != "letter 700 of very many" {
		r.Errorf("back are %v", bodies(got))
	}
	if n, _, err := r.store.CountLetters(r.ctx(), queue.Selection{Body: "00 of very many"}); err != nil || n != 1 {
		r.Errorf("%d are left: %v", n, err)
	}
}
