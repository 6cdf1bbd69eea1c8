package queuetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
	"github.com/bezoar-dev/bezoar/queue"
)

// letterModel plays random games with dead letters of two queues: they die, are sent
// back, die again, are discarded, restored and replaced. What a selection picks,
// counts, groups and moves is held to a list. Its clock counts minutes, and no
// two die in the same one.
type letterModel struct {
	clients      map[string]*storeClient
	*storeClient // any of them
	game         string
	now          int
	names        int
	letters      []*modelLetter // in the order in which they came to where they are
	task         string         // the last one
}

type modelLetter struct {
	id, in, origin string
	outcome        queue.Outcome
	died           int
	redriven       bool
	body           string
}

func (c *modelLetter) group() string { return queue.GroupKey(c.outcome, bezoar.Fingerprint{}) }

func playLetters(t *rapid.T, r *rig, game string) {
	m := &letterModel{clients: map[string]*storeClient{}, game: game}
	for _, name := range []string{"a-" + game, "b-" + game} {
		m.clients[name] = r.at(name, func(s *queue.Settings) { s.Quarantine.Off = true }) // the model knows no payloads
		m.storeClient = m.clients[name]
		r.create(m.p.DeadLetter, nil)
	}
	defer func() {
		for name, d := range m.clients {
			d.must(r.DeleteQueue(r.ctx(), name))
			d.must(r.DeleteQueue(r.ctx(), d.p.DeadLetter))
		}
		r.age(queue.TrashFor + time.Hour) // the next game's trash is its own
		r.clean()
	}()
	t.Repeat(map[string]func(*rapid.T){
		"die": m.dieOnce, "die too": m.dieOnce, "redrive": m.sendBack, "discard": m.discardSome, "restore": m.restoreSome, "replace": m.replaceOne,
		"delete": m.deleteOne, "purge": m.purgeLetters, "age": func(t *rapid.T) { m.pass(rapid.IntRange(1, 90).Draw(t, "minutes")) }, "": m.compareLetters,
	})
}

func (m *letterModel) pass(minutes int) {
	m.age(time.Duration(minutes) * time.Minute)
	m.now += minutes
}

func (m *letterModel) of(t *rapid.T) *storeClient {
	return m.clients[rapid.SampledFrom([]string{"a-", "b-"}).Draw(t, "queue")+m.game]
}

func (m *letterModel) dieOnce(t *rapid.T) {
	d := m.of(t)
	for range rapid.IntRange(1, 2).Draw(t, "letters") {
		m.names++
		d.put(0, fmt.Sprint("m", m.names))
		m.end(t, d, d.only(), true)
	}
}

// end has a message die, or work.
func (m *letterModel) end(t *rapid.T, d *storeClient, of queue.Message, dies bool) {
	if !dies {
		d.done(of)
		return
	}
	m.pass(1)
	o := queue.Outcome{
		Class:   rapid.SampledFrom([]bezoar.Class{bezoar.Bug, bezoar.Crash}).Draw(t, "class"),
		Failure: rapid.SampledFrom([]string{"f", "g"}).Draw(t, "failure"), Reason: fmt.Sprint("why ", m.now),
	}
	d.change(queue.Change{Receipt: of.Receipt, Release: true, Dead: true, Outcome: &o})
	m.letters = append(m.letters, &modelLetter{of.ID, d.p.DeadLetter, d.q.Name, o, m.now, of.Lineage != nil, string(of.Body)})
}

// selection draws one; where says of which queue, "" of all but the trash.
func (m *letterModel) selection(t *rapid.T, where string) queue.Selection {
	s := queue.Selection{Queue: where}
	if rapid.IntRange(0, 2).Draw(t, "by group") == 0 {
		s.Groups = []string{rapid.SampledFrom([]string{"bug:f", "bug:g", "crash:f", "crash:g"}).Draw(t, "group")}
	}
	if rapid.IntRange(0, 3).Draw(t, "by class") == 0 {
		s.Class = rapid.SampledFrom([]string{"bug", "crash"}).Draw(t, "class")
	}
	if rapid.IntRange(0, 3).Draw(t, "by origin") == 0 {
		s.Origin = m.of(t).q.Name
	}
	if rapid.IntRange(0, 4).Draw(t, "by body") == 0 {
		s.Body = rapid.SampledFrom([]string{"m1", "m2", "other", "2"}).Draw(t, "body")
	}
	if rapid.IntRange(0, 4).Draw(t, "by reason") == 0 {
		s.Reason = rapid.SampledFrom([]string{"why 1", "why", "5"}).Draw(t, "reason")
	}
	if n := len(m.letters); n > 0 && rapid.IntRange(0, 3).Draw(t, "by id") == 0 {
		for range rapid.IntRange(1, 3).Draw(t, "ids") {
			s.IDs = append(s.IDs, m.letters[rapid.IntRange(0, n-1).Draw(t, "letter")].id)
		}
	}
	middle := time.Now().Add(-30 * time.Second) // of a minute
	if rapid.IntRange(0, 3).Draw(t, "by time") == 0 {
		s.After = middle.Add(-time.Duration(rapid.IntRange(1, 100).Draw(t, "after")) * time.Minute)
	}
	if rapid.IntRange(0, 3).Draw(t, "by end") == 0 {
		if s.Before = middle.Add(-time.Duration(rapid.IntRange(0, 50).Draw(t, "before")) * time.Minute); !s.After.Before(s.Before) {
			s.After = time.Time{}
		}
	}
	return s
}

// picks lists what a selection means, in the order of coming.
func (m *letterModel) picks(s queue.Selection) (all []*modelLetter) {
	for _, c := range m.letters {
		at := time.Now().Add(-time.Duration(m.now-c.died) * time.Minute)
		if (s.Queue == c.in || s.Queue == "" && c.in != queue.TrashQueue) &&
			(len(s.Groups) == 0 || slices.Contains(s.Groups, c.group())) && (len(s.IDs) == 0 || slices.Contains(s.IDs, c.id)) &&
			(s.Class == "" || s.Class == c.outcome.Class.String()) && (s.Origin == "" || s.Origin == c.origin) &&
			strings.Contains(c.body, s.Body) && strings.Contains(c.outcome.Reason, s.Reason) &&
			(s.After.IsZero() || at.After(s.After)) && (s.Before.IsZero() || at.Before(s.Before)) {
			all = append(all, c)
		}
	}
	return all
}

// move runs a task to its end, and says what it has to have moved.
func (m *letterModel) move(t *rapid.T, kind queue.MoveKind, where string) []*modelLetter {
	s := m.selection(t, where)
	all := m.picks(s)
	task := m.redrive(queue.MoveTask{Kind: kind, Source: where, Selection: s})
	suite.FatalIf(t, task.ToMove != int64(len(all)), "there are %d to move, want %d by %+v", task.ToMove, len(all), s)
	m.task = task.ID
	for task.State == queue.MoveRunning && !task.Drained {
		step := m.step(task.ID)
		if task = step.Task; task.State == queue.MoveRunning && step.Next > 0 {
			m.pass(1)
		}
	}
	suite.FatalIf(t, !task.Drained || (task.State == queue.MoveCompleted) != (task.Pending() == 0) || task.Moved != int64(len(all)), "the task ended as %+v, want %d moved", task, len(all))
	m.letters = slices.DeleteFunc(m.letters, func(c *modelLetter) bool { return slices.Contains(all, c) })
	return all
}

func (m *letterModel) anywhere(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", m.clients["a-"+m.game].p.DeadLetter, m.clients["b-"+m.game].p.DeadLetter}).Draw(t, "where")
}

func (m *letterModel) sendBack(t *rapid.T) {
	n := len(m.move(t, queue.MoveRedrive, m.anywhere(t)))
	task := m.task
	for _, name := range []string{"a-" + m.game, "b-" + m.game} {
		d := m.clients[name]
		for _, back := range d.claim(256).Messages {
			n--
			m.end(t, d, back, rapid.IntRange(0, 3).Draw(t, "dies") > 0)
		}
	}
	suite.FatalIf(t, n != 0, "%d more were sent back than came", n)
	if end := m.finish2(task); end.State != queue.MoveCompleted {
		t.Fatalf("when all have ended the task is %+v", end)
	}
}

func (m *letterModel) discardSome(t *rapid.T) {
	for _, c := range m.move(t, queue.MoveDiscard, m.anywhere(t)) {
		c.in = queue.TrashQueue
		m.letters = append(m.letters, c)
	}
}

func (m *letterModel) restoreSome(t *rapid.T) {
	for _, c := range m.move(t, queue.MoveRestore, queue.TrashQueue) {
		c.in = queue.ImplicitName(c.origin)
		m.letters = append(m.letters, c)
	}
}

// one draws a letter that is not in the trash.
func (m *letterModel) one(t *rapid.T) *modelLetter {
	all := m.picks(queue.Selection{})
	if len(all) == 0 {
		t.Skip("nobody is dead")
	}
	return all[rapid.IntRange(0, len(all)-1).Draw(t, "letter")]
}

func (m *letterModel) replaceOne(t *rapid.T) {
	c := m.one(t)
	m.names++
	sent, err := m.Resend(m.ctx(), c.id, queue.ResendInput{Body: fmt.Append(nil, "other", m.names)})
	suite.Must(t, err)
	m.letters = append(slices.DeleteFunc(m.letters, func(other *modelLetter) bool { return other == c }), c)
	c.in = queue.TrashQueue
	d := m.clients[c.origin]
	back := d.only()
	suite.FatalIf(t, back.ID != sent.ID || back.Lineage == nil || back.Lineage.Parent != c.id || !back.Lineage.Edited, "in place of %s came %+v", c.id, back)
	m.end(t, d, back, rapid.Bool().Draw(t, "dies"))
}

func (m *letterModel) deleteOne(t *rapid.T) {
	c := m.one(t)
	for _, got := range m.receive(c.in, 256) {
		if got.ID == c.id {
			m.must(m.Delete(m.ctx(), c.in, got.Receipt))
		} else {
			m.must(m.ChangeVisibility(m.ctx(), c.in, got.Receipt, 0))
		}
	}
	m.letters = slices.DeleteFunc(m.letters, func(other *modelLetter) bool { return other == c })
}

func (m *letterModel) purgeLetters(t *rapid.T) {
	if rapid.IntRange(0, 4).Draw(t, "purge") > 0 {
		t.Skip("not often")
	}
	in := m.of(t).p.DeadLetter
	m.must(m.Purge(m.ctx(), in))
	m.letters = slices.DeleteFunc(m.letters, func(c *modelLetter) bool { return c.in == in })
}

func (m *letterModel) compareLetters(t *rapid.T) {
	where := m.anywhere(t)
	if rapid.IntRange(0, 3).Draw(t, "trash") == 0 {
		where = queue.TrashQueue
	}
	s := m.selection(t, where)
	all := m.picks(s)
	var want []string
	for _, c := range slices.Backward(all) {
		want = append(want, c.id)
	}
	n, _, err := m.store.CountLetters(m.ctx(), s)
	m.must(err)
	first, last := m.rig.letters(s, 0, 3) // in two pages
	rest, _ := m.rig.letters(s, max(last, 1), 256)
	if got := append(first, rest...); !slices.Equal(got, want) || n != int64(len(want)) {
		t.Fatalf("%+v picks %v (%d), want %v", s, got, n, want)
	}
	got := m.groups(s, 100)
	for i := range got {
		got[i].First, got[i].Last, got[i].Hours = time.Time{}, time.Time{}, [24]int64{}
	}
	if diff := cmp.Diff(m.grouped(all), got); diff != "" && len(all)+len(got) > 0 {
		t.Fatalf("%+v groups otherwise (-want +got):\n%s", s, diff)
	}
}

// grouped are the groups of letters, the newest death first.
func (m *letterModel) grouped(all []*modelLetter) (groups []queue.Group) {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b *modelLetter) int { return b.died - a.died })
	for _, c := range all {
		i := slices.IndexFunc(groups, func(g queue.Group) bool { return g.Queue == c.in && g.Key == c.group() })
		if i < 0 {
			i = len(groups)
			groups = append(groups, queue.Group{Queue: c.in, Key: c.group(), Origin: c.origin, Outcome: c.outcome, Sample: c.id})
		}
		if groups[i].Count++; c.redriven {
			groups[i].Redriven++
		}
	}
	return groups
}
