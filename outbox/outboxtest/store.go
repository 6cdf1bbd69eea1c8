package outboxtest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/test/suite"
	"github.com/bezoar-dev/bezoar/outbox"
)

func testLeases(_ *testing.T, s *rig) {
	first, err := s.Store.Acquire(s.ctx(), "one", time.Hour)
	s.check(err)
	s.equal("epoch", first.Epoch, 1)
	other, err := s.Store.Acquire(s.ctx(), "two", time.Hour)
	s.is("a lease that is held", err, outbox.ErrHeld)
	s.equal("owner", other.Owner, "one")
	suite.FatalIf(s.t, other.Left <= 0 || other.Left > time.Hour, "%v left of an hour", other.Left)
	again, err := s.Store.Acquire(s.ctx(), "one", time.Hour)
	s.check(err)
	s.equal("epoch of the next life", again.Epoch, 2)
	_, err = s.Store.Renew(s.ctx(), 1, time.Hour)
	s.is("renew of the former life", err, outbox.ErrFenced)
	_, err = s.Store.Renew(s.ctx(), 2, time.Hour)
	s.check(err)
	s.check(s.Store.Release(s.ctx(), 1)) // not the current one
	_, err = s.Store.Acquire(s.ctx(), "two", time.Hour)
	s.is("after a stale release", err, outbox.ErrHeld)
	s.check(s.Store.Release(s.ctx(), 2))
	last, err := s.Store.Acquire(s.ctx(), "two", time.Millisecond)
	s.check(err)
	s.equal("epoch", last.Epoch, 3)
	s.eventually("the lease is over", func() bool {
		l, err := s.Store.Acquire(s.ctx(), "three", time.Hour)
		return err == nil && l.Epoch == 4
	})
}

func testFence(_ *testing.T, s *rig) {
	s.write(event("a", "k"))
	old := s.lease()
	f := s.claim(old, 1)
	current := s.lease()
	ctx := s.ctx()
	_, err := s.Store.Advance(ctx, old, delivered(f), nil)
	s.is("settle", err, outbox.ErrFenced)
	_, err = s.Store.Advance(ctx, old, nil, &outbox.Claim{Topic: "t", Events: 1, Bytes: 1})
	s.is("claim", err, outbox.ErrFenced)
	_, err = s.Store.Ready(ctx, old)
	s.is("ready", err, outbox.ErrFenced)
	_, err = s.Store.Lost(ctx, old)
	s.is("lost", err, outbox.ErrFenced)
	_, err = s.Store.Upkeep(ctx, old, time.Hour)
	s.is("upkeep", err, outbox.ErrFenced)
	s.equal("waiting", len(s.waiting("")), 1)
	s.equal("claimed", s.ids(s.claim(current, 5)), []string{"a"})
}

func testRecords(_ *testing.T, s *rig) {
	payload := bytes.Repeat([]byte{0, 255, 'x', 128}, 1000)
	s.write(
		outbox.Event{ID: "whole", Topic: "t", Key: "ключ/'\"", Type: "paid", Headers: map[string]string{"A": "1", "b-c": "é\"\\"}, Payload: payload},
		outbox.Event{Topic: "t"},
		outbox.Event{ID: "next", Topic: "t", Key: "ключ/'\""},
	)
	epoch := s.lease()
	topics, err := s.Store.Ready(s.ctx(), epoch)
	s.check(err)
	s.equal("topics", topics, []string{"t"})
	f := s.claim(epoch, 10)
	records, err := s.Store.Read(s.ctx(), f.Refs)
	s.check(err)
	s.equal("records", len(records), 3)
	byID := make(map[string]outbox.Record)
	for i, r := range records {
		byID[r.ID] = r
		suite.FatalIf(s.t, r.Position != f.Refs[i].Position || !r.Written.Equal(f.Refs[i].Written) || time.Since(r.Written).Abs() > time.Hour, "record %d is at %d, %v; the flight says %d, %v", i, r.Position, r.Written, f.Refs[i].Position, f.Refs[i].Written)
		if len(r.ID) == 36 {
			s.equal("type by default", r.Type, "t")
			s.equal("sequence without a key", r.Sequence, 0)
			s.equal("payload", len(r.Payload), 0)
		}
	}
	r := byID["whole"]
	suite.FatalIf(s.t, !bytes.Equal(r.Payload, payload), "the payload has changed")
	s.equal("headers", r.Headers, map[string]string{"A": "1", "b-c": "é\"\\"})
	s.equal("key", r.Key, "ключ/'\"")
	s.equal("type", r.Type, "paid")
	s.equal("sequences", []int64{r.Sequence, byID["next"].Sequence}, []int64{1, 2})
	suite.FatalIf(s.t, byID["next"].Position <= r.Position, "the positions of a key are not in the order of its events")
	tx := s.begin()
	defer func() { _ = tx.Rollback(context.WithoutCancel(s.ctx())) }()
	if err := tx.Write(s.ctx(), outbox.Event{Topic: "no topic"}); err == nil {
		s.t.Fatal("an event without a proper topic was written")
	}
}

func testRollback(_ *testing.T, s *rig) {
	s.write(event("1", "k"))
	tx := s.begin()
	s.check(tx.Write(s.ctx(), event("never", "k"), event("never too", "")))
	s.check(tx.Rollback(s.ctx()))
	s.write(event("2", "k"))
	epoch := s.lease()
	f := s.claim(epoch, 10)
	records, err := s.Store.Read(s.ctx(), f.Refs)
	s.check(err)
	s.equal("records", len(records), 2)
	s.equal("sequence", records[1].Sequence, 2)
	s.equal("rest", s.ids(s.advance(epoch, delivered(f), &outbox.Claim{Topic: "t", Events: 10, Bytes: 1 << 20})), []string(nil))
}

func testBatches(_ *testing.T, s *rig) {
	var events []outbox.Event
	for i := range 5 {
		e := event(fmt.Sprint(i), "k")
		e.Payload = make([]byte, 1000)
		events = append(events, e)
	}
	events = append(events, outbox.Event{ID: "other", Topic: "u"})
	s.write(events...)
	epoch := s.lease()
	s.equal("by number", s.ids(s.claim(epoch, 2)), []string{"0", "1"})
	s.equal("by bytes", s.ids(s.advance(epoch, nil, &outbox.Claim{Topic: "t", Events: 9, Bytes: 3100})), []string{"0", "1", "2"})
	f := s.advance(epoch, nil, &outbox.Claim{Topic: "t", Events: 9, Bytes: 10})
	s.equal("one always", s.ids(f), []string{"0"})
	// Events in neither list are ready again.
	f = s.advance(epoch, &outbox.Settlement{Flight: f.ID}, &outbox.Claim{Topic: "t", Events: 3, Bytes: 1 << 20})
	s.equal("again", s.ids(f), []string{"0", "1", "2"})
	done := delivered(f)
	done.Delivered = done.Delivered[:1]
	f = s.advance(epoch, done, &outbox.Claim{Topic: "t", Events: 9, Bytes: 1 << 20})
	s.equal("the rest", s.ids(f), []string{"1", "2", "3", "4"})
	s.equal("settled", s.advance(epoch, delivered(f), &outbox.Claim{Topic: "t", Events: 9, Bytes: 1}) == nil, true)
	topics, err := s.Store.Ready(s.ctx(), epoch)
	s.check(err)
	s.equal("topics", topics, []string{"u"})
}

func failed(r outbox.Ref, blamed int, wait time.Duration) outbox.Setback {
	return outbox.Setback{Position: r.Position, Attempts: r.Attempts + 1, Blamed: blamed, Wait: wait, Evidence: outbox.Evidence{Class: "invalid", Reason: "bad\x00\xff"}}
}

func parked(r outbox.Ref) outbox.Setback {
	p := failed(r, 5, 0)
	p.Parked = true
	return p
}

func testAlone(_ *testing.T, s *rig) {
	for i := range 5 {
		s.write(event(fmt.Sprint(i), ""))
	}
	epoch := s.lease()
	f := s.claim(epoch, 10)
	tired := failed(f.Refs[3], 0, 0)
	tired.Attempts = 3
	s.advance(epoch, &outbox.Settlement{Flight: f.ID, Failed: []outbox.Setback{failed(f.Refs[1], 1, 0), tired}}, nil)
	var flights []string
	for f := s.claim(epoch, 10); f != nil; {
		flights = append(flights, strings.Join(s.ids(f), "+"))
		f = s.advance(epoch, delivered(f), &outbox.Claim{Topic: "t", Events: 10, Bytes: 1 << 20})
	}
	s.equal("flights", flights, []string{"0", "1", "2", "3", "4"})
}

func testHeld(_ *testing.T, s *rig) {
	for _, id := range []string{"a1", "b1", "a2", "b2", "a3"} {
		s.write(event(id, id[:1]))
	}
	s.write(event("-", ""))
	epoch := s.lease()
	f := s.claim(epoch, 2)
	s.equal("first", s.ids(f), []string{"a1", "b1"})
	s.advance(epoch, &outbox.Settlement{Flight: f.ID, Delivered: []int64{f.Refs[1].Position}, Failed: []outbox.Setback{parked(f.Refs[0])}}, nil)
	s.equal("others", s.drain(epoch), []string{"b2", "-"})
	all := s.waiting(outbox.Parked)
	s.equal("parked", len(all), 1)
	s.equal("behind", all[0].Behind, 2)
	s.equal("evidence", []any{all[0].Evidence.Class, strings.HasPrefix(all[0].Evidence.Reason, "bad")}, []any{"invalid", true})
	s.equal("attempts", []int{all[0].Attempts, all[0].Blamed}, []int{1, 5})
	s.write(event("a4", "a"))
	s.equal("the key is held", s.drain(epoch), []string(nil))
	n, err := s.Store.Retry(s.ctx(), []int64{all[0].Position})
	s.check(err)
	s.equal("retried", n, 1)
	s.equal("all, in order", s.drain(epoch), []string{"a1", "a2", "a3", "a4"})
	s.equal("waiting", len(s.waiting("")), 0)
}

// testManyBehind has more events behind one than a store makes ready at once.
func testManyBehind(_ *testing.T, s *rig) {
	const n = 1500
	for i := 0; i < n; i += 50 {
		var events []outbox.Event
		for j := range 50 {
			events = append(events, event(fmt.Sprintf("%04d", i+j), "k"))
		}
		s.write(events...)
	}
	epoch := s.lease()
	f := s.claim(epoch, 1)
	s.advance(epoch, &outbox.Settlement{Flight: f.ID, Failed: []outbox.Setback{parked(f.Refs[0])}}, nil)
	s.equal("held", s.drain(epoch), []string(nil))
	s.equal("behind", s.waiting(outbox.Parked)[0].Behind, n-1)
	skipped, err := s.Store.Skip(s.ctx(), []int64{f.Refs[0].Position})
	s.check(err)
	s.equal("skipped", skipped, 1)
	next := 1
	claim := &outbox.Claim{Topic: "t", Events: 700, Bytes: 1 << 20}
	for f := s.advance(epoch, nil, claim); f != nil; f = s.advance(epoch, delivered(f), claim) {
		for _, id := range s.ids(f) {
			s.equal("order", id, fmt.Sprintf("%04d", next))
			next++
		}
	}
	s.equal("all", next, n)
}

func testRetries(_ *testing.T, s *rig) {
	s.write(event("a1", "a"), event("a2", "a"))
	s.write(event("-", ""))
	epoch := s.lease()
	f := s.claim(epoch, 1)
	s.advance(epoch, &outbox.Settlement{Flight: f.ID, Failed: []outbox.Setback{failed(f.Refs[0], 0, time.Hour)}}, nil)
	topics, err := s.Store.Ready(s.ctx(), epoch)
	s.check(err)
	s.equal("topics", topics, []string{"t"})
	s.equal("others", s.drain(epoch), []string{"-"})
	w := s.waiting(outbox.Retrying)
	s.equal("retrying", len(w), 1)
	if d := time.Until(w[0].NotBefore); d < 50*time.Minute || d > 70*time.Minute {
		s.t.Fatalf("it waits %v", d)
	}
	n, err := s.Store.Retry(s.ctx(), []int64{w[0].Position})
	s.check(err)
	s.equal("retried", n, 1)
	f = s.claim(epoch, 1)
	s.equal("at once", s.ids(f), []string{"a1"})
	s.equal("attempts", f.Refs[0].Attempts, 1)
	s.advance(epoch, &outbox.Settlement{Flight: f.ID, Failed: []outbox.Setback{failed(f.Refs[0], 0, time.Millisecond)}}, nil)
	s.eventually("its wait is over", func() bool {
		topics, err := s.Store.Ready(s.ctx(), epoch)
		s.check(err)
		return len(topics) == 1
	})
	s.equal("all", s.drain(epoch), []string{"a1", "a2"})
}

func testLetters(_ *testing.T, s *rig) {
	ctx := s.ctx()
	for i := range 4 {
		s.write(event(fmt.Sprint("k", i), "k"))
	}
	epoch := s.lease()
	f := s.claim(epoch, 1)
	position := f.Refs[0].Position
	s.is("edit of one that is not parked", s.Store.Edit(ctx, position, outbox.Edit{Payload: []byte("x")}), outbox.ErrNotParked)
	n, err := s.Store.Skip(ctx, []int64{position, 1 << 40})
	s.check(err)
	s.equal("skip of a ready one", n, 0)
	s.advance(epoch, &outbox.Settlement{Flight: f.ID, Failed: []outbox.Setback{parked(f.Refs[0])}}, nil)
	s.is("edit of none", s.Store.Edit(ctx, 1<<40, outbox.Edit{}), outbox.ErrNotFound)
	kind := "edited"
	s.check(s.Store.Edit(ctx, position, outbox.Edit{Type: &kind, Headers: map[string]string{"H": "v"}, Payload: []byte("better")}))
	w, err := s.Store.Find(ctx, "k0")
	s.check(err)
	s.equal("edited", []any{w.State, w.Type, w.Headers, string(w.Payload)}, []any{outbox.Parked, kind, map[string]string{"H": "v"}, "better"})
	suite.FatalIf(s.t, w.Parked.IsZero(), "nobody knows when it was parked")
	_, err = s.Store.Find(ctx, "nobody")
	s.is("find", err, outbox.ErrNotFound)
	n, err = s.Store.Retry(ctx, []int64{position})
	s.check(err)
	s.equal("retried", n, 1)
	f = s.claim(epoch, 9)
	s.equal("alone", s.ids(f), []string{"k0"})
	s.equal("blamed", f.Refs[0].Blamed, 1)
	s.advance(epoch, &outbox.Settlement{Flight: f.ID, Failed: []outbox.Setback{parked(f.Refs[0])}}, nil)
	s.equal("held", s.drain(epoch), []string(nil))
	n, err = s.Store.Skip(ctx, []int64{position})
	s.check(err)
	s.equal("skipped", n, 1)
	s.equal("the others", s.drain(epoch), []string{"k1", "k2", "k3"})
	s.equal("waiting", len(s.waiting("")), 0)
}

func testLost(_ *testing.T, s *rig) {
	s.write(event("a", "a"), event("b", "b"), event("c", "c"), outbox.Event{ID: "u", Topic: "u"})
	old := s.lease()
	f := s.claim(old, 2)
	s.advance(old, nil, &outbox.Claim{Topic: "u", Events: 1, Bytes: 1})
	lost, err := s.Store.Lost(s.ctx(), old)
	s.check(err)
	s.equal("lost of its own", len(lost), 0)
	epoch := s.lease()
	lost, err = s.Store.Lost(s.ctx(), epoch)
	s.check(err)
	s.equal("lost", len(lost), 2)
	s.equal("its events", s.ids(&lost[0]), s.ids(f))
	s.equal("its epoch", lost[0].Epoch, old)
	s.advance(epoch, &outbox.Settlement{Flight: lost[0].ID, Failed: []outbox.Setback{failed(lost[0].Refs[0], 1, 0), failed(lost[0].Refs[1], 1, 0)}}, nil)
	s.advance(epoch, &outbox.Settlement{Flight: lost[1].ID}, nil)
	lost, err = s.Store.Lost(s.ctx(), epoch)
	s.check(err)
	s.equal("lost", len(lost), 0)
	f = s.claim(epoch, 9)
	s.equal("one by one", s.ids(f), []string{"a"})
	s.equal("attempts", []int{f.Refs[0].Attempts, f.Refs[0].Blamed}, []int{1, 1})
}

func testReports(_ *testing.T, s *rig) {
	s.write(event("a1", "a"), event("a2", "a"), event("b1", "b"), outbox.Event{ID: "u", Topic: "u"})
	id, err := s.Store.Identity(s.ctx())
	s.check(err)
	suite.FatalIf(s.t, len(id.ID) != 36 || id.Version == 0 || id.Made.IsZero(), "identity %+v", id)
	epoch := s.lease()
	f := s.claim(epoch, 1)
	s.advance(epoch, &outbox.Settlement{Flight: f.ID, Failed: []outbox.Setback{parked(f.Refs[0])}}, nil)
	f = s.claim(epoch, 9)
	s.equal("in flight", s.ids(f), []string{"b1"})
	st, err := s.Store.Status(s.ctx())
	s.check(err)
	s.equal("identity", st.Identity.ID, id.ID)
	s.equal("lease", []any{st.Lease.Owner, st.Lease.Epoch}, []any{"suite", epoch})
	s.equal("flights", []any{len(st.Flight), st.Flight[0].Events, st.Flight[0].Topic}, []any{1, 1, "t"})
	s.equal("topics", len(st.Topics), 2)
	t := st.Topics[0]
	s.equal("counts", []int64{t.Ready, t.Retrying, t.Parked, t.Behind}, []int64{1, 0, 1, 1})
	suite.FatalIf(s.t, t.Oldest.IsZero() || t.Oldest.After(st.Now), "the oldest is of %v, now is %v", t.Oldest, st.Now)
	w := s.waiting(outbox.Ready)
	s.equal("in flight", []any{w[0].ID, w[0].InFlight}, []any{"b1", true})
	only, err := s.Store.Waiting(s.ctx(), outbox.Query{Topic: "t", Key: "a", Limit: 1, After: 0, Bare: true})
	s.check(err)
	count, err := s.Store.Count(s.ctx(), outbox.Query{Topic: "t", State: outbox.Behind, Limit: 1})
	s.check(err)
	s.equal("count", count, 1)
	count, err = s.Store.Count(s.ctx(), outbox.Query{Key: "a"})
	s.check(err)
	s.equal("count of a key", count, 2)
	s.equal("bare", []any{len(only), only[0].ID, len(only[0].Payload)}, []any{1, "a1", 0})
	p, err := s.Store.Verify(s.ctx(), outbox.VerifyQuery{})
	s.check(err)
	s.equal("proof", p, outbox.Proof{Events: 4, Keys: 2})
}

func testUpkeep(_ *testing.T, s *rig) {
	if s.Age == nil {
		s.t.Skip("this store cannot make events older")
	}
	for i := range 4 {
		s.write(event(fmt.Sprint("k", i), "k"), event(fmt.Sprint("f", i), ""))
	}
	epoch := s.lease()
	f := s.claim(epoch, 4) // two of the key and two others
	done := delivered(f)
	for i, id := range s.ids(f) {
		if id == "k1" {
			done.Delivered = append(done.Delivered[:i], done.Delivered[i+1:]...)
			done.Failed = []outbox.Setback{parked(f.Refs[i])}
		}
	}
	s.advance(epoch, done, nil)
	s.Age(s.t, 72*time.Hour)
	s.write(event("new", "n"))
	for {
		u, err := s.Store.Upkeep(s.ctx(), epoch, time.Hour)
		s.check(err)
		if !u.More && !u.Busy {
			break
		}
	}
	p, err := s.Store.Verify(s.ctx(), outbox.VerifyQuery{})
	s.check(err)
	// k1 is parked, k2, k3, f2, f3 and new are ready.
	s.equal("kept", p, outbox.Proof{Events: 6, Keys: 2})
	s.equal("the others", s.drain(epoch), []string{"f2", "f3", "new"})
	_, err = s.Store.Retry(s.ctx(), []int64{s.waiting(outbox.Parked)[0].Position})
	s.check(err)
	s.equal("its payload has survived", s.drain(epoch), []string{"k1", "k2", "k3"})
}
