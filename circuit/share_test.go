package circuit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/policy/breaker"
)

func TestATripIsKnownToAllNodesWithinAPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		a, b, c := newNode(t, s, "a").run(), newNode(t, s, "b").run(), newNode(t, s, "c").run()
		a.calls(2, failed)
		pass(500 * time.Millisecond)
		for _, n := range []*node{b, c} {
			if _, d := n.allow(); d.Allowed || !strings.Contains(d.Reason, "2 calls in a row") {
				t.Errorf("got %+v", d)
			}
			n.wantStory("closed → open (remote): 2 calls in a row failed, the limit is 2\n")
		}
		pass(5 * time.Second)
		b.calls(1, good) // claims
		b.calls(1, good)
		b.wantState(breaker.Closed)
		pass(500 * time.Millisecond)
		a.wantState(breaker.Closed)
		c.calls(1, good)
		for _, n := range []*node{a, b, c} {
			if x := n.Stats(); x.Pending != 0 || x.StoreErrors != 0 || x.Alone != 0 || time.Since(x.Read) > 500*time.Millisecond {
				t.Errorf("%+v", x)
			}
			if !n.status().Told || n.log.Len() > 0 {
				t.Errorf("%+v, logged %s", n.status(), n.log)
			}
		}
	})
}

func TestOnlyOneNodeProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		a, b := newNode(t, s, "a").run(), newNode(t, s, "b").run()
		a.calls(2, failed)
		pass(5*time.Second + 400*time.Millisecond)
		slow := func(op string) (bool, time.Duration, error) { return false, 50 * time.Millisecond, nil }
		a.view.setFault(slow)
		b.view.setFault(slow)
		type answer struct {
			n *node
			breaker.Ticket
			breaker.Decision
		}
		answers := make(chan answer, 20)
		for i := range 20 { // all at once, on both
			go func() {
				n := []*node{a, b}[i%2]
				tk, d := n.allow()
				answers <- answer{n, tk, d}
			}()
		}
		var probe []answer
		for range 20 {
			if x := <-answers; x.Allowed {
				probe = append(probe, x)
			}
		}
		if len(probe) != 1 || !probe[0].Probe {
			t.Fatalf("%d calls were let through: %+v", len(probe), probe)
		}
		holder, other := probe[0].n, a
		if holder == a {
			other = b
		}
		if _, d := other.allow(); d.Allowed || !strings.Contains(d.Reason, "is testing it") {
			t.Errorf("the other got %+v", d)
		}
		other.wantState(breaker.HalfOpen)
		holder.b.Done(time.Now(), probe[0].Ticket, failed)
		pass(time.Second)
		other.wantState(breaker.Open)
		if got := other.status(); got.Level != 2 || got.Reason != "a probe failed" {
			t.Errorf("%+v", got)
		}
	})
}

// A store that hangs costs the first call after a trip ClaimFor, and no call
// while the breaker is closed or open anything.
func TestAStoreThatHangsHoldsUpOneCallShortly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, newShelf(), "a").run()
		n.view.setFault(func(string) (bool, time.Duration, error) { return false, time.Hour, nil })
		took := func(f func()) time.Duration { at := time.Now(); f(); return time.Since(at) }
		if d := took(func() { n.calls(2, failed); n.allow() }); d != 0 {
			t.Errorf("a trip took %v", d)
		}
		pass(5 * time.Second)
		var d breaker.Decision
		if got := took(func() { _, d = n.allow() }); got != 100*time.Millisecond || !d.Allowed || !d.Probe {
			t.Errorf("after %v: %+v", got, d)
		}
		if got := took(func() { n.allow() }); got != 0 {
			t.Errorf("the next took %v", got)
		}
		pass(time.Minute)
		if x := n.Stats(); x.Alone != 1 || x.StoreErrors == 0 || x.Pending != 1 {
			t.Errorf("%+v", x)
		}
		if n.status().Told || strings.Count(n.log.String(), "\n") != 1 || !strings.Contains(n.log.String(), "on their own") {
			t.Errorf("%+v, logged %s", n.status(), n.log)
		}
	})
}

// A caller who hangs up does not spoil the claim.
func TestAClaimOutlivesItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, newShelf(), "a").run()
		n.calls(2, failed)
		pass(5 * time.Second)
		n.view.setFault(func(string) (bool, time.Duration, error) { return false, 10 * time.Millisecond, nil })
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if _, d := n.b.Allow(ctx, time.Now()); !d.Allowed || n.Stats().Alone != 0 {
			t.Errorf("%+v, %+v", d, n.Stats())
		}
	})
}

func TestAStoreThatIsDownIsLoggedOnceAndCaughtUpWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		a, b := newNode(t, s, "a").run(), newNode(t, s, "b").run()
		a.view.cut()
		a.calls(2, failed)
		pass(time.Minute)
		b.wantState(breaker.Closed)
		if got := a.log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, errDown.Error()) {
			t.Errorf("logged %s", got)
		}
		a.view.mend()
		pass(time.Second)
		b.wantState(breaker.Open)
		pass(time.Second)
		if got := a.log.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "there again") {
			t.Errorf("logged %s", got)
		}
		if puts := a.view.calls("put"); puts > 200 {
			t.Errorf("%d puts in a minute", puts)
		}
	})
}

// The store does what it was asked for, but the node hears of an error, or
// nothing.
func TestALostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		a, b := newNode(t, s, "a").run(), newNode(t, s, "b").run()
		a.view.setFault(func(op string) (bool, time.Duration, error) {
			if op == "put" {
				return true, 0, errDown
			}
			return false, 0, nil
		})
		a.calls(2, failed)
		pass(5 * time.Second)
		tk, d := a.allow()
		if !d.Probe {
			t.Fatalf("got %+v", d)
		}
		pass(time.Second)
		if _, d := b.allow(); d.Allowed || !strings.Contains(d.Reason, `node "a" is testing it`) {
			t.Errorf("got %+v", d)
		}
		a.view.mend()
		a.b.Done(time.Now(), tk, good)
		a.calls(1, good)
		pass(time.Second)
		b.wantState(breaker.Closed)
		a.wantState(breaker.Closed)
		if !a.status().Told {
			t.Error("it is not told")
		}
	})
}

// What a node reads while its own claim is on the way is no leave to write over
// it.
func TestReadingDuringAClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		often := func(c *circuit.Config) { c.Poll = 10 * time.Millisecond }
		a, b := newNode(t, s, "a", often).run(), newNode(t, s, "b", often).run()
		a.calls(2, failed)
		pass(5 * time.Second)
		slow := func(d time.Duration) func(string) (bool, time.Duration, error) {
			return func(op string) (bool, time.Duration, error) {
				if op == "put" {
					return false, d, nil
				}
				return false, 0, nil
			}
		}
		a.view.setFault(slow(10 * time.Millisecond))
		b.view.setFault(slow(80 * time.Millisecond))
		var first breaker.Decision
		done := make(chan struct{})
		go func() { defer close(done); _, first = a.allow() }()
		pass(time.Millisecond) // so that b's claim is the newer one
		_, second := b.allow()
		<-done
		if !first.Probe || second.Allowed {
			t.Errorf("the first got %+v, the second %+v", first, second)
		}
		pass(time.Second)
		if x := b.status(); x.Node != "a" || !x.Told {
			t.Errorf("%+v", x)
		}
	})
}

func TestAProbeThatWasSentAloneIsToldLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		a, b := newNode(t, s, "a").run(), newNode(t, s, "b").run()
		a.calls(2, failed)
		pass(5 * time.Second)
		a.view.cut()
		if _, d := a.allow(); !d.Probe || a.Stats().Alone != 1 {
			t.Fatalf("got %+v, %+v", d, a.Stats())
		}
		a.view.mend()
		pass(time.Second)
		if _, d := b.allow(); d.Allowed || !strings.Contains(d.Reason, `node "a" is testing it`) {
			t.Errorf("got %+v", d)
		}
	})
}

// A store that tried twice says that what a node wrote is in its way.
func TestAClaimInItsOwnWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		n := newNode(t, s, "a").run()
		n.calls(2, failed)
		pass(5 * time.Second)
		n.view.twice = true
		tk, d := n.allow()
		if !d.Probe {
			t.Fatalf("got %+v", d)
		}
		n.b.Done(time.Now(), tk, good)
		n.calls(1, good)
		n.wantState(breaker.Closed)
	})
}

func TestAMarkThatCannotBeReadIsWrittenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		s.set("search%2Fitems", `{"state":"ajar"}`)
		n := newNode(t, s, "a").run()
		n.calls(1, good)
		pass(time.Minute)
		if got := n.log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "ajar") {
			t.Errorf("logged %s", got)
		}
		n.calls(2, failed)
		pass(time.Second)
		var doc breaker.Snapshot
		if err := json.Unmarshal([]byte(s.doc("search%2Fitems")), &doc); err != nil || doc.State != breaker.Open {
			t.Errorf("%+v, %v", doc, err)
		}
	})
}

func TestMarksOfOthersAreLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		s.set("other", `{"generation":1,"state":"open"}`)
		n := newNode(t, s, "a").run()
		pass(time.Minute)
		if got := s.keys(); got != "other" || len(n.List()) != 1 {
			t.Errorf("%q, %v", got, n.List())
		}
		if reads := n.view.calls("list"); reads < 60 || reads > 180 {
			t.Errorf("%d reads in a minute", reads)
		}
	})
}

// Many changes at once are told at once, and a store that fails is not asked for
// each of them.
func TestManyBreakers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		a, b := newNode(t, s, "a"), newNode(t, s, "b")
		const many = 500
		for i := range many {
			for _, n := range []*node{a, b} {
				n.breaker(fmt.Sprint("many/", i), quick)
			}
		}
		a.run()
		b.run()
		a.view.setFault(func(op string) (bool, time.Duration, error) { return false, time.Minute, nil })
		for i := range many {
			x := a.breaker(fmt.Sprint("many/", i), quick)
			for range 2 {
				tk, _ := x.Allow(t.Context(), time.Now())
				x.Done(time.Now(), tk, failed)
			}
		}
		before := a.view.calls("put")
		pass(time.Minute)
		if puts := a.view.calls("put") - before; puts > 60 {
			t.Errorf("%d puts in a minute to a store that hangs", puts)
		}
		if x := a.Stats(); x.Pending != many {
			t.Errorf("%+v", x)
		}
		a.view.mend()
		pass(6 * time.Second) // until a read that hangs has given up
		open := 0
		for _, x := range b.List() {
			if x.State == breaker.Open {
				open++
			}
		}
		if open != many {
			t.Errorf("%d of %d are open on the other node", open, many)
		}
	})
}

func TestTheStoreIsReadOnlyWhileThereAreBreakers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, newShelf(), "a").run()
		n.Remove(name)
		pass(5 * time.Second)
		reads := 0
		n.view.setFault(func(op string) (bool, time.Duration, error) { reads++; return false, 0, nil })
		pass(time.Minute)
		if reads > 0 {
			t.Errorf("without breakers, the store was asked %d times in a minute", reads)
		}
		n.breaker("another", quick)
		pass(time.Second)
		if reads == 0 {
			t.Error("a new breaker does not learn what other nodes know")
		}
	})
}
