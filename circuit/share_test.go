package circuit_test

import (
	"context"
	"encoding/json"
	"errors"
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
			if x := n.Stats(); x.Untold != 0 || x.StoreErrors != 0 || x.Alone != 0 || time.Since(x.Read) > 500*time.Millisecond {
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
		if _, d := other.allow(); d.Allowed || !strings.Contains(d.Reason, "tries it") {
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
		if x := n.Stats(); x.Alone != 1 || x.StoreErrors == 0 || x.Untold != 1 {
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
		if _, d := b.allow(); d.Allowed || !strings.Contains(d.Reason, `node "a" tries it`) {
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
		if _, d := b.allow(); d.Allowed || !strings.Contains(d.Reason, `node "a" tries it`) {
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

func TestForceHoldsOnAllNodesUntilItExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		a, b := newNode(t, s, "a").run(), newNode(t, s, "b").run()
		until := time.Now().Add(time.Hour)
		if err := a.Force(t.Context(), name, breaker.Open, until, "ann"); err != nil {
			t.Fatal(err)
		}
		pass(500 * time.Millisecond)
		for _, n := range []*node{a, b} {
			if _, d := n.allow(); d.Allowed || !strings.Contains(d.Reason, "by ann") || d.RetryAfter < 59*time.Minute {
				t.Errorf("got %+v", d)
			}
			x := n.status()
			if x.State != breaker.Open || x.Forced == nil || x.Forced.By != "ann" || !x.Until.Equal(until) || x.Reason != "" {
				t.Errorf("%+v", x)
			}
		}

		// A process that starts knows before its first call.
		c := newNode(t, s, "c")
		if err := c.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.wantState(breaker.Open)

		pass(time.Hour)
		b.wantStory("closed → open (remote)\nopen → closed\n") // without any call
		for _, n := range []*node{a, b, c} {
			n.wantState(breaker.Closed)
			n.calls(1, good)
			if n.status().Forced != nil {
				t.Errorf("%+v", n.status())
			}
		}
	})
}

func TestForceClosedLetsEverythingPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, newShelf(), "a").run()
		n.calls(2, failed)
		n.wantState(breaker.Open)
		if err := n.Force(t.Context(), name, breaker.Closed, time.Now().Add(time.Minute), "ann"); err != nil {
			t.Fatal(err)
		}
		n.calls(50, failed)
		pass(time.Minute)
		n.wantState(breaker.Open) // where it was: nobody has tried it
		n.calls(1, failed)
		if _, d := n.allow(); d.Allowed {
			t.Error("it did not go on where it was")
		}
	})
}

// The newest order wins, also when its node had not heard of the one before.
func TestTheNewestOrderWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		a, b := newNode(t, s, "a"), newNode(t, s, "b") // neither polls
		if err := a.Force(t.Context(), name, breaker.Open, time.Now().Add(time.Hour), "ann"); err != nil {
			t.Fatal(err)
		}
		if err := b.Force(t.Context(), name, breaker.Open, time.Time{}, "bob"); err != nil {
			t.Fatal(err)
		}
		b.wantState(breaker.Closed)
		if err := a.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		a.wantState(breaker.Closed)
		if err := a.Force(t.Context(), name, breaker.Closed, time.Now().Add(time.Hour), "ann"); err != nil {
			t.Fatal(err)
		}
		if err := b.Force(t.Context(), name, breaker.Open, time.Now().Add(time.Hour), "bob"); err != nil {
			t.Fatal(err)
		}
		if err := a.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if x := a.status(); x.State != breaker.Open || x.Forced.By != "bob" {
			t.Errorf("%+v", x)
		}
	})
}

func TestForceSaysWhatIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		n := newNode(t, s, "a").run()
		if err := n.Force(t.Context(), "nobody", breaker.Open, time.Now().Add(time.Hour), "ann"); !errors.Is(err, circuit.ErrUnknown) || !strings.Contains(err.Error(), "nobody") {
			t.Errorf("a name that is not there: %v", err)
		}
		if err := n.Force(t.Context(), name, breaker.HalfOpen, time.Now().Add(time.Hour), "ann"); err == nil || !strings.Contains(err.Error(), "half-open") {
			t.Errorf("half-open: %v", err)
		}
		n.view.cut()
		err := n.Force(t.Context(), name, breaker.Open, time.Now().Add(time.Hour), "ann")
		if !errors.Is(err, errDown) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "so here") {
			t.Errorf("the store is down: %v", err)
		}
		n.wantState(breaker.Open)
		n.view.mend()
		pass(time.Second)
		if doc := s.doc("search%2Fitems"); !strings.Contains(doc, `"by":"ann"`) {
			t.Errorf("the others are told %s", doc)
		}
	})
}

// An order waits for a claim that is under way, and both hold.
func TestForceDuringAClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, newShelf(), "a").run()
		n.calls(2, failed)
		pass(5 * time.Second)
		n.view.setFault(func(string) (bool, time.Duration, error) { return false, 50 * time.Millisecond, nil })
		var probe breaker.Decision
		done := make(chan struct{})
		go func() { defer close(done); _, probe = n.allow() }()
		synctest.Wait()
		if s := n.status(); s.State != breaker.Open {
			t.Errorf("a claim that may be conceded is shown: %+v", s)
		}
		if err := n.Force(t.Context(), name, breaker.Open, time.Now().Add(time.Minute), "ann"); err != nil {
			t.Fatal(err)
		}
		<-done
		if !probe.Probe {
			t.Errorf("the claim: %+v", probe)
		}
		if _, d := n.allow(); d.Allowed || !strings.Contains(d.Reason, "by ann") {
			t.Errorf("got %+v", d)
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if err := n.Force(ctx, name, breaker.Open, time.Time{}, ""); !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that is over: %v", err)
		}
	})
}

func TestAMarkGoesWithItsBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		a, b := newNode(t, s, "a").run(), newNode(t, s, "b").run()
		a.calls(2, failed)
		old := a.b
		pass(time.Second)
		a.view.cut()
		a.Remove(name)
		pass(time.Second)
		if got := s.keys(); got != "search%2Fitems" {
			t.Errorf("there is %q", got)
		}
		b.Remove(name)
		pass(time.Second)
		if got := s.keys(); got != "" {
			t.Errorf("after b's removal there is %q", got)
		}
		a.view.mend()
		pass(time.Second)
		if x := a.Stats(); x.Untold != 0 || x.Breakers != 0 {
			t.Errorf("%+v", x)
		}
		// Who still has it has one that nobody else hears of.
		pass(5 * time.Second)
		if _, d := old.Allow(t.Context(), time.Now()); !d.Probe {
			t.Errorf("got %+v", d)
		}
		pass(time.Second)
		if got := s.keys(); got != "" {
			t.Errorf("a removed breaker wrote %q", got)
		}
		if err := a.Force(t.Context(), name, breaker.Open, time.Now().Add(time.Hour), ""); !errors.Is(err, circuit.ErrUnknown) {
			t.Errorf("forced: %v", err)
		}
		// One of the same name is a new one.
		a.b = a.breaker(name, quick)
		a.calls(1, good)
	})
}

// What is under way when a breaker is removed, or made again, leaves the right
// mark in the end.
func TestRemovalWhileTheStoreIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		n := newNode(t, s, "a", func(c *circuit.Config) { c.Poll = 10 * time.Second }).run()
		n.view.setFault(func(op string) (bool, time.Duration, error) {
			if op == "put" {
				return false, 2 * time.Second, nil
			}
			return false, 0, nil
		})
		forced := make(chan error, 1)
		go func() { forced <- n.Force(t.Context(), name, breaker.Open, time.Now().Add(time.Hour), "ann") }()
		pass(time.Second)
		n.Remove(name)
		pass(3 * time.Second) // the mark is put after it was deleted
		if err := <-forced; err != nil || n.view.calls("delete") != 2 {
			t.Errorf("%v, %d deletions", err, n.view.calls("delete"))
		}
		if got := s.keys(); got != "" {
			t.Errorf("there is %q", got)
		}

		n.b = n.breaker(name, quick)
		n.view.cut()
		n.Remove(name) // cannot be told
		n.view.mend()
		n.b = n.breaker(name, quick)
		if err := n.Force(t.Context(), name, breaker.Open, time.Now().Add(time.Hour), "ann"); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if n.view.calls("delete") != 2 || s.keys() == "" {
			t.Errorf("%d deletions, there is %q", n.view.calls("delete"), s.keys())
		}
	})
}

// A node that has it still puts the mark back that another one removed.
func TestAMarkThatIsGoneIsWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		seldom := func(c *circuit.Config) { c.Poll = time.Minute }
		a, b := newNode(t, s, "a", seldom).run(), newNode(t, s, "b", seldom).run()
		if err := a.Force(t.Context(), name, breaker.Open, time.Now().Add(30*24*time.Hour), "ann"); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		a.Remove(name)
		pass(time.Minute)
		if !strings.Contains(s.doc("search%2Fitems"), "ann") {
			t.Errorf("there is %q", s.keys())
		}
		b.wantState(breaker.Open)
		pass(25 * 24 * time.Hour) // longer than a mark is kept
		if !strings.Contains(s.doc("search%2Fitems"), "ann") {
			t.Error("the mark of an override is gone")
		}
		if puts := b.view.calls("put"); puts > 5 {
			t.Errorf("%d puts to keep one mark", puts)
		}
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
		if x := a.Stats(); x.Untold != many {
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
