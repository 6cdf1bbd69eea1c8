package queuetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

func queueTests() map[string]func(*rig) {
	return map[string]func(*rig){
		"CreateQueue": testCreate, "SetSettings": testSettings, "Tags": testTags, "Queues": testList, "DeleteQueue": testDeleteQueue,
		"CheckDeadLetter": testCheckDeadLetter, "Purge": testPurge, "NotFound": testNotFound, "Cancelled": testCancelled,
	}
}

func testCreate(r *rig) {
	s := queue.DefaultSettings()
	s.Extra = map[string]string{"Policy": "{\u0000ü}"}
	made, err := r.CreateQueue(r.ctx(), "jobs", s, map[string]string{"team": "a"})
	r.must(err)
	r.errorIf(made.ID < 1 || made.Created.IsZero() || made.Created.Location() != time.UTC || made.Version != 1, "made %+v", made)
	again, err := r.CreateQueue(r.ctx(), "jobs", s, nil)
	r.must(err)
	r.same(made, again, "the same queue again")
	other := s
	other.Visibility = time.Second
	there, err := r.CreateQueue(r.ctx(), "jobs", other, nil)
	r.wantErr(err, queue.ErrQueueExists)
	r.errorIf(there.ID != made.ID, "the queue in the way has id %d, want %d", there.ID, made.ID)
	for name, settings := range map[string]queue.Settings{
		"": s, "a b": s, "a.fifo": s, strings.Repeat("a", 81): s, "zero": {}, "b": {FIFO: true},
	} {
		_, err := r.CreateQueue(r.ctx(), name, settings, nil)
		r.wantErr(err, queue.ErrInvalid)
	}
}

func testSettings(r *rig) {
	made := r.create("jobs", nil)
	for i := range 3 {
		q, err := r.SetSettings(r.ctx(), "jobs", func(s *queue.Settings) error {
			s.Visibility = time.Duration(i+1) * time.Minute
			return nil
		})
		r.must(err)
		r.errorIf(q.Version != made.Version+int64(i)+1 || q.Modified.Before(made.Modified), "after change %d: %+v", i, q)
	}
	r.send("jobs", text("a"))
	if m := r.one("jobs"); time.Until(m.VisibleAt) < time.Minute {
		r.Errorf("the new visibility was not used: visible again at %v", m.VisibleAt)
	}
	stale := made
	_, err := r.store.UpdateQueue(r.ctx(), stale)
	r.wantErr(err, queue.ErrConflict)
	_, err = r.SetSettings(r.ctx(), "jobs", func(s *queue.Settings) error { s.Retention = 0; return nil })
	r.wantErr(err, queue.ErrInvalid)
	_, err = r.SetSettings(r.ctx(), "jobs", func(s *queue.Settings) error { s.FIFO = true; return nil })
	r.wantErr(err, queue.ErrInvalid)
	no := errors.New("no")
	if _, err := r.SetSettings(r.ctx(), "jobs", func(*queue.Settings) error { return no }); !errors.Is(err, no) {
		r.Errorf("the change's own error became %v", err)
	}
}

func testTags(r *rig) {
	r.create("jobs", nil)
	_, err := r.SetTags(r.ctx(), "jobs", map[string]string{"a": "1", "b": "2"}, nil)
	r.must(err)
	q, err := r.SetTags(r.ctx(), "jobs", map[string]string{"b": "3", "ü": ""}, []string{"a", "none"})
	r.must(err)
	stored, err := r.store.Queue(r.ctx(), "jobs")
	r.must(err)
	for _, q := range []queue.Queue{q, stored} {
		r.same(map[string]string{"b": "3", "ü": ""}, q.Tags, "")
	}
	many := map[string]string{}
	for i := range queue.MaxTags {
		many[fmt.Sprint(i)] = "x"
	}
	_, err = r.SetTags(r.ctx(), "jobs", many, nil)
	r.wantErr(err, queue.ErrInvalid)
}

func testList(r *rig) {
	for _, name := range []string{"b2", "a_1", "a-1", "a1", "B1"} {
		r.create(name, nil)
	}
	r.create("a2", deadLetter("b2", 3))
	for _, c := range []struct {
		query queue.ListQuery
		want  []string
	}{
		{queue.ListQuery{}, []string{"B1", "a-1", "a1", "a2", "a_1", "b2"}}, // by bytes
		{queue.ListQuery{Prefix: "a"}, []string{"a-1", "a1", "a2", "a_1"}},
		{queue.ListQuery{Prefix: "a_"}, []string{"a_1"}}, // no wildcard
		{queue.ListQuery{Prefix: "a", After: "a1", Limit: 1}, []string{"a2"}},
		{queue.ListQuery{DeadLetter: "b2"}, []string{"a2"}},
		{queue.ListQuery{DeadLetter: "a2"}, nil},
	} {
		found, err := r.Queues(r.ctx(), c.query)
		r.must(err)
		var got []string
		for _, q := range found {
			got = append(got, q.Name)
		}
		r.same(c.want, got, "%+v", c.query)
	}
}

func testDeleteQueue(r *rig) {
	first := r.create("jobs", nil)
	r.send("jobs", text("a"))
	old := r.one("jobs")
	r.send("jobs", text("b"))
	r.must(r.DeleteQueue(r.ctx(), "jobs"))
	_, err := r.Send(r.ctx(), "jobs", text("c"))
	r.wantErr(err, queue.ErrQueueNotFound)
	second := r.create("jobs", nil)
	r.errorIf(second.ID == first.ID, "an id is used again")
	r.none("jobs")
	r.wantCounts("jobs", 0, 0, 0)
	r.wantErr(r.Delete(r.ctx(), "jobs", old.Receipt), queue.ErrReceiptInvalid)
	r.clean()
	r.send("jobs", text("d"))
	r.wantBodies("jobs", 10, "d")
}

// clean removes all leftovers.
func (r *rig) clean() {
	r.Helper()
	for {
		n, err := r.store.Clean(r.ctx(), 2)
		r.must(err)
		if n == 0 {
			return
		}
	}
}

func testCheckDeadLetter(r *rig) {
	r.create("dead", nil)
	r.createFIFO("dead.fifo", nil)
	r.create("closed", func(s *queue.Settings) { s.Allow.Mode = queue.AllowNone })
	r.create("named", func(s *queue.Settings) { s.Allow = queue.Allow{Mode: queue.AllowNamed, Queues: []string{"friend"}} })
	for _, c := range []struct {
		name string
		dead queue.DeadLetter
		want queue.Code
	}{
		{"a", queue.DeadLetter{Queue: "dead"}, queue.ErrInvalid},
		{"a", queue.DeadLetter{Queue: "dead", MaxReceives: 1001}, queue.ErrInvalid},
		{"a", queue.DeadLetter{MaxReceives: 3}, queue.ErrInvalid},
		{"a", queue.DeadLetter{Queue: "nowhere", MaxReceives: 3}, queue.ErrQueueNotFound},
		{"a", queue.DeadLetter{Queue: "dead.fifo", MaxReceives: 3}, queue.ErrInvalid},
		{"a", queue.DeadLetter{Queue: "a", MaxReceives: 3}, queue.ErrInvalid},
		{"a", queue.DeadLetter{Queue: "closed", MaxReceives: 3}, queue.ErrDeadLetterRefuse},
		{"a", queue.DeadLetter{Queue: "named", MaxReceives: 3}, queue.ErrDeadLetterRefuse},
		{"friend", queue.DeadLetter{Queue: "named", MaxReceives: 3}, ""},
		{"b", queue.DeadLetter{Queue: "dead", MaxReceives: 3}, ""},
	} {
		s := queue.DefaultSettings()
		s.DeadLetter = c.dead
		_, err := r.CreateQueue(r.ctx(), c.name, s, nil)
		if c.want == "" {
			r.must(err)
			continue
		}
		r.wantErr(err, c.want)
	}
}

func testPurge(r *rig) {
	r.create("jobs", nil)
	r.create("other", nil)
	r.send("other", text("x"))
	for range 5 {
		r.send("jobs", text("a"))
	}
	old := r.receive("jobs", 1)[0]
	r.must(r.Purge(r.ctx(), "jobs"))
	r.wantCounts("jobs", 0, 0, 0)
	r.none("jobs")
	r.must(r.Delete(r.ctx(), "jobs", old.Receipt))
	r.wantErr(r.ChangeVisibility(r.ctx(), "jobs", old.Receipt, time.Minute), queue.ErrMessageGone)
	r.send("jobs", text("b"))
	r.clean()
	r.wantBodies("jobs", 10, "b")
	r.wantBodies("other", 10, "x")
	r.createFIFO("jobs.fifo", nil)
	r.send("jobs.fifo", in("g", "a"))
	r.must(r.Purge(r.ctx(), "jobs.fifo"))
	r.send("jobs.fifo", in("g", "a")) // it is no duplicate of what is gone
	r.wantBodies("jobs.fifo", 10, "a")
}

func testNotFound(r *rig) {
	if _, err := r.store.Send(r.ctx(), 4711, nil); !errors.Is(err, queue.ErrQueueNotFound) {
		r.Errorf("the store's Send = %v", err)
	}
	ctx, name := r.ctx(), "nowhere"
	for call, err := range map[string]error{
		"Queue":       second(r.Queue(ctx, name)),
		"Send":        second(r.Send(ctx, name, text("a"))),
		"Receive":     second(r.Receive(ctx, name, queue.ReceiveInput{})),
		"Peek":        second(r.Peek(ctx, name, 0, 1)),
		"Counts":      second(r.Counts(ctx, name)),
		"Purge":       r.Purge(ctx, name),
		"DeleteQueue": r.DeleteQueue(ctx, name),
		"Delete":      r.Delete(ctx, name, queue.Receipt{Queue: 1}),
		"SetSettings": second(r.SetSettings(ctx, name, func(*queue.Settings) error { return nil })),
		"StartMove":   second(r.StartMove(ctx, queue.MoveInput{Source: name})),
		"Moves":       second(r.Moves(ctx, name, 1)),
	} {
		r.errorIf(!errors.Is(err, queue.ErrQueueNotFound), "%s = %v, want %v", call, err, queue.ErrQueueNotFound)
	}
	_, err := r.CancelMove(ctx, "none")
	r.wantErr(err, queue.ErrMoveNotFound)
}

func second[T any](_ T, err error) error { return err }

func testCancelled(r *rig) {
	q := r.create("jobs", nil)
	r.send("jobs", text("a"))
	ctx, cancel := context.WithCancel(r.ctx())
	cancel()
	for call, err := range map[string]error{
		"CreateQueue": second(r.store.CreateQueue(ctx, queue.Queue{Name: "x", Settings: q.Settings})),
		"Queue":       second(r.store.Queue(ctx, "jobs")),
		"UpdateQueue": second(r.store.UpdateQueue(ctx, q)),
		"DeleteQueue": r.store.DeleteQueue(ctx, q.ID),
		"Queues":      second(r.store.Queues(ctx, queue.ListQuery{})),
		"Send":        second(r.store.Send(ctx, q.ID, []queue.Entry{{SendInput: text("b"), ID: "b"}})),
		"Receive":     second(r.store.Receive(ctx, q.ID, queue.Claim{Max: 1, Retention: time.Hour})),
		"Delete":      second(r.store.Delete(ctx, q.ID, false, nil)),
		"Change":      second(r.store.Change(ctx, q.ID, queue.Policy{}, nil)),
		"Peek":        second(r.store.Peek(ctx, q.ID, 0, 1)),
		"Purge":       r.store.Purge(ctx, q.ID),
		"Counts":      second(r.store.Counts(ctx, q.ID)),
		"Sweep":       second(r.store.Sweep(ctx, 1)),
		"Expire":      second(r.store.Expire(ctx, q.ID, queue.Policy{}, time.Hour, 1)),
		"Clean":       second(r.store.Clean(ctx, 1)),
		"StartMove":   second(r.store.StartMove(ctx, queue.MoveTask{ID: "t", Source: "jobs", Rate: 1})),
		"StepMove":    second(r.store.StepMove(ctx, "t", 1)),
		"ChangeMove":  second(r.store.ChangeMove(ctx, "t", queue.MoveChange{State: queue.MoveCancelled})),
		"Moves":       second(r.store.Moves(ctx, queue.MoveQuery{Source: "jobs"})),
		"Groups":      second(r.store.Groups(ctx, queue.Selection{}, 1)),
		"Letters":     second(r.store.Letters(ctx, queue.Selection{}, 0, 1)),
		"Letter":      second(r.store.Letter(ctx, "none")),
		"Replace":     second(r.store.Replace(ctx, queue.Replacement{Letter: "none"})),
		"Cases":       second(r.store.Cases(ctx, q.ID, -1, 1)),
		"ChangeCase":  r.store.ChangeCase(ctx, q.ID, bezoar.Fingerprint{1}, func(c *poison.Case, _ int64) *poison.Case { return c }),
		"Vanish":      r.store.Vanish(ctx, q.ID, nil, 1),
		"Marks":       second(r.store.Marks(ctx, "")),
		"PutMark":     second(r.store.PutMark(ctx, queue.Mark{Key: "k", Doc: []byte("1"), TTL: time.Hour})),
		"DeleteMark":  r.store.DeleteMark(ctx, "k", 0),
		"Audit":       second(r.store.Audit(ctx, queue.AuditEntry{Action: "a"})),
		"AuditLog":    second(r.store.AuditLog(ctx, 0, 1)),
	} {
		r.errorIf(!errors.Is(err, context.Canceled), "%s = %v, want %v", call, err, context.Canceled)
	}
	r.wantBodies("jobs", 10, "a")
}
