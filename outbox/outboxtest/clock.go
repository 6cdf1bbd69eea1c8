package outboxtest

import (
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/outbox"
)

// testSetBack sets the database's clock back by an hour. The lease and the wait of an event
// then last an hour longer than requested.
func testSetBack(_ *testing.T, s *rig) {
	retrying := func(epoch int64) {
		f := s.claim(epoch, 1)
		s.advance(epoch, &outbox.Settlement{Flight: f.ID, Failed: []outbox.Setback{failed(f.Refs[0], 0, time.Hour)}}, nil)
	}
	one := func() outbox.Waiting {
		w := s.waiting(outbox.Retrying)
		s.equal("retrying", len(w), 1)
		return w[0]
	}
	s.write(event("a", "k"))
	first, err := s.Store.Acquire(s.ctx(), "one", time.Hour)
	s.check(err)
	retrying(first.Epoch)
	l, err := s.Store.Renew(s.ctx(), first.Epoch, 10*time.Second)
	s.check(err)
	if wait := time.Until(one().NotBefore); l.Left > 10*time.Second || wait > time.Minute {
		s.t.Fatalf("after the renewal %v are left of the lease, and the event waits for %v", l.Left, wait)
	}
	// Its owner dies before it renews the lease.
	_, err = s.Store.Retry(s.ctx(), []int64{one().Position})
	s.check(err)
	first, err = s.Store.Acquire(s.ctx(), "one", time.Hour)
	s.check(err)
	retrying(first.Epoch)
	_, err = s.Store.Acquire(s.ctx(), "two", 20*time.Minute)
	s.is("less than four times what is asked for", err, outbox.ErrHeld)
	second, err := s.Store.Acquire(s.ctx(), "two", 10*time.Second)
	s.check(err)
	if wait := time.Until(one().NotBefore); second.Epoch != first.Epoch+1 || wait > 2*time.Minute {
		s.t.Fatalf("the next epoch is %d, and the event waits for %v", second.Epoch, wait)
	}
}
