package outboxtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/test/suite"
	"github.com/bezoar-dev/bezoar/outbox"
)

// testLateCommit commits the transaction that wrote first last, so that an event appears
// after one with a higher position was delivered.
func testLateCommit(t *testing.T, s *rig) {
	if s.Serial {
		t.Skip("transactions that write are one after the other")
	}
	epoch := s.lease()
	late := s.begin()
	s.check(late.Write(s.ctx(), event("late", "a")))
	s.write(event("early", "b"), event("early too", ""))
	s.equal("early ones", len(s.drain(epoch)), 2)
	s.check(late.Commit(s.ctx()))
	s.equal("the late one", s.drain(epoch), []string{"late"})
}

// testTurns lets two transactions write events of one key: the second waits for the first
// and has the higher position, whichever began first.
func testTurns(t *testing.T, s *rig) {
	if s.Serial {
		t.Skip("transactions that write are one after the other")
	}
	s.write(event("k0", "k"))
	first, second := s.begin(), s.begin()
	s.check(second.Write(s.ctx(), event("other", "o"))) // starts the transaction
	s.check(first.Write(s.ctx(), event("k1", "k")))
	written := make(chan error, 1)
	go func() {
		err := second.Write(s.ctx(), event("k2", "k"))
		if err == nil {
			err = second.Commit(s.ctx())
		}
		written <- err
	}()
	select {
	case err := <-written:
		t.Fatalf("the second did not wait: %v", err)
	case <-time.After(30 * time.Millisecond):
	}
	s.check(first.Commit(s.ctx()))
	s.check(<-written)
	var ks []string
	for _, id := range s.drain(s.lease()) {
		if id[0] == 'k' {
			ks = append(ks, id)
		}
	}
	s.equal("order", ks, []string{"k0", "k1", "k2"})
}

// testTurnsOfLease lets many topics settle and claim without a pause. Renewals of the lease
// and changes by operators must still get their turn.
func testTurnsOfLease(t *testing.T, s *rig) {
	epoch := s.lease()
	s.write(event("1", "k"))
	f := s.claim(epoch, 1)
	s.advance(epoch, &outbox.Settlement{Flight: f.ID, Failed: []outbox.Setback{parked(f.Refs[0])}}, nil)
	ctx, stop := context.WithCancel(s.ctx())
	defer stop()
	var busy sync.WaitGroup
	for i := range 6 {
		busy.Go(func() {
			for ctx.Err() == nil {
				_, err := s.Store.Advance(ctx, epoch, nil, &outbox.Claim{Topic: fmt.Sprint("u", i), Events: 1, Bytes: 1})
				if err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	patient, cancel := context.WithTimeout(s.ctx(), patience)
	defer cancel()
	for range 5 {
		_, err := s.Store.Renew(patient, epoch, time.Hour)
		s.check(err)
		_, err = s.Store.Retry(patient, []int64{1 << 40})
		s.check(err)
	}
	stop()
	busy.Wait()
}

// place is a sink that stores what it receives.
type place struct {
	mu     sync.Mutex
	got    []outbox.Record
	most   int                                      // largest batch
	refuse func(batch []outbox.Record, i int) error // nil: accept everything
}

func (p *place) Send(_ context.Context, records []outbox.Record) []error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.most = max(p.most, len(records))
	results := make([]error, len(records))
	behind := make(map[string]bool)
	for i, r := range records {
		switch {
		case r.Key != "" && behind[r.Key]:
			results[i] = outbox.ErrBehind
			continue
		case p.refuse != nil:
			results[i] = p.refuse(records, i)
		}
		if results[i] != nil {
			behind[r.Key] = true
			continue
		}
		p.got = append(p.got, r)
	}
	return results
}

func (p *place) Close() error { return nil }

func (p *place) set(refuse func(batch []outbox.Record, i int) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = refuse
}

func (p *place) ids() (ids []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.got {
		ids = append(ids, r.ID)
	}
	return ids
}

func (p *place) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.got)
}

// orderOf returns the received IDs of a key.
func (p *place) orderOf(key string) (ids []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.got {
		if r.Key == key {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// testInterleavings runs writers that commit and roll back at random, some late, with
// several keys at a time, while relays start and stop. It checks that exactly the committed
// events are delivered, that the first deliveries of a key have the order of its commits,
// and that sequences have no gap.
func testInterleavings(t *testing.T, s *rig) {
	const keys, writers, rounds = 5, 4, 25
	var p place
	p.set(func([]outbox.Record, int) error {
		switch rand.IntN(40) {
		case 0:
			return fmt.Errorf("the place fails at times")
		case 1:
			return &outbox.Failure{Class: 4, Reason: "this once"} // bezoar.Invalid
		}
		return nil
	})
	ctx, stop := context.WithCancel(s.ctx())
	defer stop()
	var relays, app sync.WaitGroup
	for i := range 2 {
		store := s.Reopen(t)
		relays.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				life, end := context.WithTimeout(ctx, time.Duration(20+rand.IntN(150))*time.Millisecond)
				r, err := outbox.New(fast(outbox.Config{
					Store: store, Owner: fmt.Sprint("relay ", i, n), ParkAfter: 1000, Events: 7, Grace: time.Millisecond,
					Sinks: []outbox.Route{{Name: "place", Topics: []string{"*"}, Sink: &p}},
				}))
				if err != nil {
					t.Error(err)
				} else if err := r.Run(life); err != nil {
					t.Error(err)
				}
				end()
			}
		})
	}
	o := newOracle()
	for range writers {
		app.Go(func() {
			for range rounds {
				o.transaction(t, s, keys)
			}
		})
	}
	app.Wait()
	s.eventually("all is delivered", func() bool { return len(s.waiting("")) == 0 })
	stop()
	relays.Wait()
	o.compare(t, p.got)
	proof, err := s.Store.Verify(s.ctx(), outbox.VerifyQuery{})
	s.check(err)
	s.equal("findings", proof.Findings, []outbox.Finding(nil))
}

// oracle records what was committed, in order.
type oracle struct {
	mu        sync.Mutex
	locks     []sync.Mutex // of keys: they fix the order of the commits of a key
	committed map[string][]string
	dead      map[string]bool
	next      int
}

func newOracle() *oracle {
	return &oracle{locks: make([]sync.Mutex, 100), committed: make(map[string][]string), dead: make(map[string]bool)}
}

// transaction writes events of some keys in one transaction, and may roll it back.
func (o *oracle) transaction(t *testing.T, s *rig, keys int) {
	var events []outbox.Event
	chosen := rand.Perm(keys)[:1+rand.IntN(2)]
	o.mu.Lock()
	for _, k := range chosen {
		for range 1 + rand.IntN(2) {
			o.next++
			events = append(events, event(fmt.Sprint("e", o.next), fmt.Sprint("k", k)))
		}
	}
	o.next++
	events = append(events, event(fmt.Sprint("e", o.next), ""))
	o.mu.Unlock()

	tx, err := s.Begin(s.ctx())
	if err != nil {
		t.Error(err)
		return
	}
	if err := tx.Write(s.ctx(), events...); err != nil {
		if s.Victim == nil || !s.Victim(err) {
			t.Error(err)
			return
		}
		if err := tx.Rollback(s.ctx()); err != nil {
			t.Error(err)
		}
		o.note(o.dead, events)
		return
	}
	if rand.IntN(3) == 0 { // late
		time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond)
	}
	if rand.IntN(4) == 0 {
		err = tx.Rollback(s.ctx())
		o.note(o.dead, events)
	} else {
		// The keys are locked until the commit, so that no other transaction records them
		// meanwhile.
		o.mu.Lock()
		for _, e := range events {
			o.committed[e.Key] = append(o.committed[e.Key], e.ID)
		}
		o.mu.Unlock()
		err = tx.Commit(s.ctx())
	}
	if err != nil {
		t.Error(err)
	}
}

func (o *oracle) note(in map[string]bool, events []outbox.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range events {
		in[e.ID] = true
	}
}

func (o *oracle) compare(t *testing.T, got []outbox.Record) {
	t.Helper()
	first := make(map[string][]string)
	seen := make(map[string]outbox.Record)
	for _, r := range got {
		suite.ErrorIf(t, o.dead[r.ID], "%s was rolled back, and delivered", r.ID)
		if was, dup := seen[r.ID]; dup {
			suite.ErrorIf(t, was.Position != r.Position || was.Sequence != r.Sequence, "%s was delivered as two events", r.ID)
			continue
		}
		seen[r.ID] = r
		first[r.Key] = append(first[r.Key], r.ID)
	}
	for key, want := range o.committed {
		if key == "" {
			suite.ErrorIf(t, len(first[key]) != len(want), "%d events without a key were delivered, %d were committed", len(first[key]), len(want))
			continue
		}
		suite.ErrorIf(t, fmt.Sprint(first[key]) != fmt.Sprint(want), "key %s: delivered %v, committed %v", key, first[key], want)
	}
}
