package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/test/suite"
	"github.com/bezoar-dev/bezoar/outbox"
)

// Outbox is a new outbox with its application.
type Outbox struct {
	Store outbox.Store
	// Reopen opens another store for the same outbox, like another process.
	Reopen func(t testing.TB) outbox.Store
	// Begin begins a transaction of the application.
	Begin func(ctx context.Context) (Transaction, error)
	// Serial means that the database has one writer at a time: a second Begin may wait for
	// the first transaction to end.
	Serial bool
	// Age makes the existing events older. nil: the suite does not test upkeep.
	Age func(t testing.TB, by time.Duration)
	// Spoil replaces the headers of an event by an array, or deletes its row, like a user
	// with SQL access.
	Spoil func(t testing.TB, id string, gone bool)
	// Victim reports whether the database ended a transaction to resolve a deadlock, so
	// that the application has to repeat it. nil: never.
	Victim func(err error) bool
}

// Transaction is a transaction of the application. Rollback after Commit does nothing.
type Transaction interface {
	Write(ctx context.Context, events ...outbox.Event) error
	Commit(ctx context.Context) error
	Rollback(ctx context.Context) error
}

// Run runs the suite. open creates an empty outbox and removes it after the test.
func Run(t *testing.T, open func(t testing.TB) Outbox) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(t *testing.T, o *rig)
	}{
		{"leases have one owner", testLeases},
		{"the clock is set back", testSetBack},
		{"a stale epoch changes nothing", testFence},
		{"records come back whole", testRecords},
		{"a rollback leaves nothing", testRollback},
		{"batches keep to their bounds", testBatches},
		{"blamed events fly alone", testAlone},
		{"a held key holds only itself", testHeld},
		{"many behind one", testManyBehind},
		{"retries wait", testRetries},
		{"people retry, edit and skip", testLetters},
		{"flights of the dead", testLost},
		{"a late commit is found late", testLateCommit},
		{"writers of one key take turns", testTurns},
		{"the lease under load", testTurnsOfLease},
		{"status and proof", testReports},
		{"upkeep spares what is not delivered", testUpkeep},
		{"a relay delivers in order", testRelayOrder},
		{"a relay parks what is refused", testRelayParks},
		{"rows that somebody changed", testSpoilt},
		{"a relay waits for a place that is away", testRelayPlaceAway},
		{"an event that fails alone does not stop the others", testRelayOneFails},
		{"a sink that panics", testRelayPanic},
		{"sinks are isolated", testRelayIsolated},
		{"a standby takes over", testRelayTakeOver},
		{"the database goes away", testRelayStoreAway},
		{"a feed saves reading", testRelayFeed},
		{"interleavings", testInterleavings},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, &rig{Outbox: open(t), t: t}) })
	}
}

// rig is an outbox with helpers. They fail the test on errors.
type rig struct {
	Outbox
	t testing.TB
}

// patience is the time limit of every wait.
const patience = 60 * time.Second

func (s *rig) ctx() context.Context { return s.t.Context() }

func (s *rig) check(err error) {
	s.t.Helper()
	suite.Must(s.t, err)
}

// write commits events in one transaction.
func (s *rig) write(events ...outbox.Event) {
	s.t.Helper()
	tx := s.begin()
	s.check(tx.Write(s.ctx(), events...))
	s.check(tx.Commit(s.ctx()))
}

func (s *rig) begin() Transaction {
	s.t.Helper()
	tx, err := s.Begin(s.ctx())
	s.check(err)
	return tx
}

// lease takes a long lease.
func (s *rig) lease() int64 {
	s.t.Helper()
	l, err := s.Store.Acquire(s.ctx(), "suite", time.Hour)
	s.check(err)
	return l.Epoch
}

func (s *rig) advance(epoch int64, done *outbox.Settlement, next *outbox.Claim) *outbox.Flight {
	s.t.Helper()
	f, err := s.Store.Advance(s.ctx(), epoch, done, next)
	s.check(err)
	return f
}

// claim claims up to n events of the topic t.
func (s *rig) claim(epoch int64, n int) *outbox.Flight {
	s.t.Helper()
	return s.advance(epoch, nil, &outbox.Claim{Topic: "t", Events: n, Bytes: 1 << 20})
}

// ids returns the IDs of the events of a flight; none for nil.
func (s *rig) ids(f *outbox.Flight) (ids []string) {
	s.t.Helper()
	if f == nil {
		return nil
	}
	records, err := s.Store.Read(s.ctx(), f.Refs)
	s.check(err)
	for _, r := range records {
		ids = append(ids, r.ID)
	}
	return ids
}

func delivered(f *outbox.Flight) *outbox.Settlement {
	done := &outbox.Settlement{Flight: f.ID}
	for _, r := range f.Refs {
		done.Delivered = append(done.Delivered, r.Position)
	}
	return done
}

// drain claims and delivers all ready events of the topic t, and returns their IDs.
func (s *rig) drain(epoch int64) (ids []string) {
	s.t.Helper()
	for f := s.claim(epoch, 10); f != nil; {
		ids = append(ids, s.ids(f)...)
		f = s.advance(epoch, delivered(f), &outbox.Claim{Topic: "t", Events: 10, Bytes: 1 << 20})
	}
	return ids
}

func (s *rig) waiting(state outbox.State) []outbox.Waiting {
	s.t.Helper()
	all, err := s.Store.Waiting(s.ctx(), outbox.Query{State: state, Limit: 10_000})
	s.check(err)
	return all
}

func event(id, key string) outbox.Event {
	return outbox.Event{ID: id, Topic: "t", Key: key, Payload: []byte(id)}
}

func (s *rig) equal(what string, got, want any) {
	s.t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		s.t.Fatalf("%s: %s, want %s", what, g, w)
	}
}

func (s *rig) is(what string, err, want error) {
	s.t.Helper()
	suite.FatalIf(s.t, !errors.Is(err, want), "%s: %v, want %v", what, err, want)
}

// eventually waits until ok.
func (s *rig) eventually(what string, ok func() bool) {
	s.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !ok(); {
		suite.FatalIf(s.t, time.Now().After(end), "waited %v: %s", patience, what)
		<-tick.C
	}
}
