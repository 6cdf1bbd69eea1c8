package circuit_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/policy/breaker"
)

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
		if x := a.Stats(); x.Pending != 0 || x.Breakers != 0 {
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

// Without breakers the store is looked at rarely. A mark whose deletion takes long and fails is deleted soon all the same.
func TestADeletionThatFailsLateIsRepeatedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		n := newNode(t, s, "a").run()
		n.calls(2, failed)
		pass(time.Second)
		n.view.setFault(func(op string) (bool, time.Duration, error) {
			if op == "delete" {
				return false, time.Minute, errors.New("too late")
			}
			return false, 0, nil
		})
		n.Remove(name)
		for n.view.calls("delete") == 0 {
			pass(10 * time.Millisecond)
		}
		pass(time.Second) // the deletion is under way
		n.view.setFault(nil)
		pass(5 * time.Second)
		if got := s.keys(); got != "" {
			t.Errorf("there is %q after %d deletions", got, n.view.calls("delete"))
		}
	})
}
