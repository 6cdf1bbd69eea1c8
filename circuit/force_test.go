package circuit_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/policy/breaker"
)

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
