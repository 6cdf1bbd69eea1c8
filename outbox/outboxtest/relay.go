package outboxtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
	"github.com/bezoar-dev/bezoar/outbox"
	"github.com/bezoar-dev/bezoar/policy/backoff"
)

// fast returns c with short waits.
func fast(c outbox.Config) outbox.Config {
	c.Lease = cmp.Or(c.Lease, 5*time.Second)
	c.Retry = backoff.Config{Strategy: backoff.Fixed, Base: time.Millisecond, Cap: time.Millisecond}
	c.Pause = backoff.Config{Strategy: backoff.Fixed, Base: 2 * time.Millisecond, Cap: 2 * time.Millisecond}
	return c
}

// relay runs a relay until the test ends or stop is called.
func (s *rig) relay(c outbox.Config) (r *outbox.Relay, stop func()) {
	s.t.Helper()
	c = fast(c)
	c.Store = cmp.Or(c.Store, s.Store)
	c.Owner = cmp.Or(c.Owner, "relay")
	r, err := outbox.New(c)
	s.check(err)
	ctx, cancel := context.WithCancel(s.ctx())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	stopped := false
	stop = func() {
		if cancel(); !stopped {
			stopped = true
			if err := <-ended; err != nil {
				s.t.Error(err)
			}
		}
	}
	s.t.Cleanup(stop)
	return r, stop
}

func to(p outbox.Sink) []outbox.Route {
	return []outbox.Route{{Name: "place", Topics: []string{"*"}, Sink: p}}
}

func alarm(r *outbox.Relay, kind string) bool {
	return slices.ContainsFunc(r.Stats().Alarms, func(a outbox.Alarm) bool { return a.Kind == kind })
}

func testRelayOrder(_ *testing.T, s *rig) {
	var p place
	r, _ := s.relay(outbox.Config{Sinks: to(&p), Events: 20})
	const n = 60
	for i := range n {
		s.write(event(fmt.Sprintf("a%02d", i), "a"), event(fmt.Sprintf("b%02d", i), "b"), event("", ""))
	}
	s.eventually("all is delivered", func() bool { return p.count() >= 3*n })
	for _, key := range []string{"a", "b"} {
		ids := p.orderOf(key)
		suite.FatalIf(s.t, len(ids) != n || !slices.IsSorted(ids), "key %s: %v", key, ids)
	}
	s.eventually("all is settled", func() bool { return len(s.waiting("")) == 0 })
	s.eventually("all is counted", func() bool { return r.Stats().Topics[0].Delivered == 3*n })
	st := r.Stats()
	s.equal("counts", []any{st.Leader, st.Topics[0].Sink}, []any{true, "place"})
	s.equal("alarms", st.Alarms, []outbox.Alarm{})
}

func testRelayParks(_ *testing.T, s *rig) {
	var p place
	p.set(func(batch []outbox.Record, i int) error {
		if batch[i].ID == "bad" {
			return &outbox.Failure{Class: bezoar.Invalid, Reason: "no such account"}
		}
		return nil
	})
	s.write(event("a1", "a"), event("bad", "k"), event("k2", "k"), event("k3", "k"), event("b1", "b"))
	r, _ := s.relay(outbox.Config{Sinks: to(&p), ParkAfter: 3})
	s.eventually("it is parked", func() bool { return len(s.waiting(outbox.Parked)) == 1 })
	s.eventually("others are delivered", func() bool { return p.count() == 2 })
	w := s.waiting(outbox.Parked)[0]
	s.equal("parked", []any{w.ID, w.Attempts, w.Blamed, w.Evidence.Class, w.Evidence.Reason, w.Evidence.Sink, w.Evidence.Relay},
		[]any{"bad", 3, 3, "invalid", "no such account", "place", "relay"})
	s.write(event("k4", "k"), event("b2", "b"))
	s.eventually("others go on", func() bool { return p.count() == 3 })
	s.eventually("what waits is counted", func() bool { return s.waiting(outbox.Parked)[0].Behind == 3 })
	s.equal("counted", r.Stats().Topics[0].Parked, 1)
	p.set(nil)
	n, err := s.Store.Retry(s.ctx(), []int64{w.Position})
	s.check(err)
	s.equal("retried", n, 1)
	s.eventually("all is delivered", func() bool { return p.count() == 7 })
	s.equal("order", p.orderOf("k"), []string{"bad", "k2", "k3", "k4"})
}

func testRelayPlaceAway(_ *testing.T, s *rig) {
	var p place
	away := errors.New("connection refused")
	p.set(func([]outbox.Record, int) error { return away })
	const n = 100
	for i := range n {
		s.write(event(fmt.Sprint(i), fmt.Sprint("k", i%7)))
	}
	r, _ := s.relay(outbox.Config{Sinks: to(&p), ParkAfter: 1, Lease: time.Second})
	s.eventually("the sink pauses, again and again", func() bool { return r.Stats().Sinks[0].Pauses > 20 })
	s.equal("alarm", []any{alarm(r, "sink-paused"), r.Stats().Sinks[0].Reason}, []any{true, away.Error()})
	s.equal("parked", len(s.waiting(outbox.Parked)), 0)
	for _, w := range s.waiting("") {
		suite.FatalIf(s.t, w.Blamed != 0, "%s is blamed", w.ID)
	}
	if book, ok := s.Store.(outbox.Notebook); ok {
		s.eventually("the database knows why", func() bool {
			st, at, err := book.Noted(s.ctx())
			s.check(err)
			return !at.IsZero() && st.Leader && st.Sinks[0].Reason == away.Error()
		})
		s.is("a note with a stale epoch", book.Note(s.ctx(), 0, outbox.Stats{}), outbox.ErrFenced)
	}
	p.set(nil)
	s.eventually("all is delivered", func() bool { return p.count() == n })
	last := make(map[string]int64)
	for _, r := range p.got {
		suite.FatalIf(s.t, r.Sequence != last[r.Key]+1, "key %s: %d after %d", r.Key, r.Sequence, last[r.Key])
		last[r.Key] = r.Sequence
	}
	s.eventually("the alarm is over", func() bool { return !alarm(r, "sink-paused") })
}

// testRelayOneFails writes an event on which the destination fails without blaming it,
// together with its whole batch.
func testRelayOneFails(_ *testing.T, s *rig) {
	var p place
	p.set(func(batch []outbox.Record, _ int) error {
		if slices.ContainsFunc(batch, func(r outbox.Record) bool { return r.ID == "bad" }) {
			return errors.New("500 Internal Server Error")
		}
		return nil
	})
	const n = 50
	for i := range n {
		s.write(event(fmt.Sprint(i), ""))
	}
	s.write(event("bad", "k"), event("k2", "k"))
	for i := range n {
		s.write(event(fmt.Sprint(n+i), ""))
	}
	s.relay(outbox.Config{Sinks: to(&p), ParkAfter: 1})
	s.eventually("all others are delivered", func() bool { return p.count() >= 2*n })
	s.equal("parked", len(s.waiting(outbox.Parked)), 0)
	p.set(nil)
	s.eventually("it is too", func() bool { return p.count() == 2*n+2 })
	s.equal("order", p.orderOf("k"), []string{"bad", "k2"})
}

func testRelayPanic(_ *testing.T, s *rig) {
	var p place
	sink := panics{&p}
	for i := range 10 {
		s.write(event(fmt.Sprint("e", i), fmt.Sprint("k", i%3)))
	}
	s.write(event("panic", "p"), event("p2", "p"))
	s.relay(outbox.Config{Sinks: to(sink), ParkAfter: 3})
	s.eventually("it is parked", func() bool { return len(s.waiting(outbox.Parked)) == 1 })
	s.eventually("others are delivered", func() bool { return p.count() == 10 })
	w := s.waiting(outbox.Parked)[0]
	s.equal("parked", []any{w.ID, w.Evidence.Class, strings.Contains(w.Evidence.Reason, "it is bad")}, []any{"panic", "bug", true})
}

// panics is a sink that panics on an event.
type panics struct{ *place }

func (p panics) Send(ctx context.Context, records []outbox.Record) []error {
	if slices.ContainsFunc(records, func(r outbox.Record) bool { return r.ID == "panic" }) {
		panic("it is bad")
	}
	return p.place.Send(ctx, records)
}

func testRelayIsolated(_ *testing.T, s *rig) {
	var good, away place
	away.set(func([]outbox.Record, int) error { return errors.New("away") })
	var hangs hung
	hangs.release = make(chan struct{})
	r, stop := s.relay(outbox.Config{Grace: time.Millisecond, Stalled: time.Second, Sinks: []outbox.Route{
		{Name: "away", Topics: []string{"away"}, Sink: &away},
		{Name: "hangs", Topics: []string{"hangs.*"}, Sink: &hangs},
		{Name: "good", Topics: []string{"t", "g*"}, Sink: &good},
	}})
	for i := range 20 {
		for _, topic := range []string{"away", "hangs.x", "t", "good", "nobody"} {
			s.write(outbox.Event{Topic: topic, Key: "k", ID: fmt.Sprint(topic, i)})
		}
	}
	s.eventually("the good sink has all of its own", func() bool { return good.count() == 40 })
	s.eventually("what no sink wants is said", func() bool { return alarm(r, "unrouted") })
	s.eventually("what stands still is said", func() bool {
		return slices.ContainsFunc(r.Stats().Alarms, func(a outbox.Alarm) bool {
			return a.Kind == "no-progress" && strings.Contains(a.What, "hangs.x") && !strings.Contains(a.What, "away")
		})
	})
	stop()
	s.equal("the rest waits", len(s.waiting("")), 60)
	for _, w := range s.waiting("") {
		suite.FatalIf(s.t, w.Blamed > 0, "%s is blamed: %+v", w.ID, w.Evidence)
	}
}

// hung is a sink that does not answer.
type hung struct{ release chan struct{} }

func (h *hung) Send(ctx context.Context, records []outbox.Record) []error {
	<-ctx.Done()
	return slices.Repeat([]error{ctx.Err()}, len(records))
}

func (h *hung) Close() error { return nil }

func testRelayTakeOver(_ *testing.T, s *rig) {
	var p place
	_, stop := s.relay(outbox.Config{Sinks: to(&p), Owner: "first"})
	s.write(event("1", "k"))
	s.eventually("the first delivers", func() bool { return p.count() == 1 })
	second, _ := s.relay(outbox.Config{Sinks: to(&p), Owner: "second", Store: s.Reopen(s.t)})
	s.eventually("the second knows the first", func() bool { return second.Stats().Owner == "first" })
	stop()
	s.write(event("2", "k"))
	s.eventually("the second delivers", func() bool { return p.count() == 2 })
	s.equal("order", p.ids(), []string{"1", "2"})
	s.equal("leader", second.Stats().Leader, true)
}

// testRelayStoreAway makes the database unreachable for longer than the lease while events
// are in flight. The living relay must blame none of them.
func testRelayStoreAway(_ *testing.T, s *rig) {
	store := &away{Store: s.Store}
	var p place
	p.set(func([]outbox.Record, int) error { // before they can be settled
		store.gone.Store(p.most == 3)
		return nil
	})
	s.write(event("1", "a"), event("2", "b"), event("3", "c"))
	r, _ := s.relay(outbox.Config{Sinks: to(&p), Store: store, ParkAfter: 1, Lease: time.Second})
	s.eventually("they are sent, and the lease is over", func() bool { return p.count() == 3 && r.Stats().Epoch == 1 && !r.Stats().Leader })
	s.equal("alarm", alarm(r, "no-owner") || alarm(r, "database"), true)
	p.set(nil)
	store.gone.Store(false)
	s.eventually("all is settled", func() bool { return len(s.waiting("")) == 0 })
	for _, r := range p.got {
		suite.FatalIf(s.t, r.Attempts > 0, "%s has %d attempts", r.ID, r.Attempts)
	}
	s.equal("sent together, twice", []int{p.count(), p.most}, []int{6, 3})
}

// away is a store whose database can become unreachable.
type away struct {
	outbox.Store
	gone atomic.Bool
}

func (a *away) err() error {
	if a.gone.Load() {
		return errors.New("the database is away")
	}
	return nil
}

func (a *away) Acquire(ctx context.Context, owner string, ttl time.Duration) (outbox.Lease, error) {
	if err := a.err(); err != nil {
		return outbox.Lease{}, err
	}
	return a.Store.Acquire(ctx, owner, ttl)
}

func (a *away) Renew(ctx context.Context, epoch int64, ttl time.Duration) (outbox.Lease, error) {
	if err := a.err(); err != nil {
		return outbox.Lease{}, err
	}
	return a.Store.Renew(ctx, epoch, ttl)
}

func (a *away) Release(ctx context.Context, epoch int64) error {
	if err := a.err(); err != nil {
		return err
	}
	return a.Store.Release(ctx, epoch)
}

func (a *away) Advance(ctx context.Context, epoch int64, done *outbox.Settlement, next *outbox.Claim) (*outbox.Flight, error) {
	if err := a.err(); err != nil {
		return nil, err
	}
	return a.Store.Advance(ctx, epoch, done, next)
}

// fed is a feed that the test controls.
type fed struct {
	give  chan []outbox.Record
	fails chan error
}

func (f *fed) Run(ctx context.Context, give func([]outbox.Record)) error {
	for {
		select {
		case records := <-f.give:
			give(records)
		case err := <-f.fails:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func testRelayFeed(_ *testing.T, s *rig) {
	var p place
	feed := &fed{make(chan []outbox.Record), make(chan error)}
	r, _ := s.relay(outbox.Config{Sinks: to(&p), Feed: feed, PollBusy: time.Minute, PollIdle: time.Minute})
	s.eventually("it leads", func() bool { return r.Stats().Leader && r.Stats().Polls > 0 })
	s.write(event("1", "k"))
	w := s.waiting("")
	feed.give <- []outbox.Record{w[0].Record}
	s.eventually("it is settled", func() bool { return len(s.waiting("")) == 0 })
	s.write(event("2", "k"), event("3", "k"))
	w = s.waiting("")
	feed.give <- []outbox.Record{w[len(w)-1].Record} // without the first
	s.eventually("both are delivered", func() bool { return p.count() == 3 })
	s.equal("order", p.ids(), []string{"1", "2", "3"})
	s.eventually("counts", func() bool { st := r.Stats(); return st.Fed == 2 && st.Hits == 2 })
	feed.fails <- errors.New("the slot is lost")
	s.eventually("it is said", func() bool { return alarm(r, "feed") })
}
