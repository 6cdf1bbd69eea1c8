package circuit_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/policy/breaker"
)

const name = "search/items"

var (
	quick  = breaker.Config{Consecutive: 2, Probes: 2, Open: 5 * time.Second, ProbeFor: 10 * time.Second}
	failed = breaker.Result{Failed: true}
	good   = breaker.Result{}
)

// node is one process: its breakers, of which it uses one, and its way to the
// store.
type node struct {
	testing.TB
	*circuit.Circuits
	b    *circuit.Breaker
	view *view
	log  *strings.Builder

	mu     sync.Mutex
	events []circuit.Event
}

func newNode(t testing.TB, s *shelf, id string, change ...func(*circuit.Config)) *node {
	t.Helper()
	n := &node{TB: t, log: &strings.Builder{}}
	cfg := circuit.Config{Node: id, Log: slog.New(slog.NewTextHandler(n.log, nil))}
	if s != nil {
		n.view = s.view()
		cfg.Store = n.view
	}
	cfg.Observe = func(e circuit.Event) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.events = append(n.events, e)
	}
	for _, f := range change {
		f(&cfg)
	}
	var err error
	if n.Circuits, err = circuit.New(cfg); err != nil {
		t.Fatal(err)
	}
	n.b = n.breaker(name, quick)
	return n
}

func (n *node) breaker(name string, cfg breaker.Config) *circuit.Breaker {
	n.Helper()
	b, err := n.Breaker(name, cfg)
	if err != nil {
		n.Fatal(err)
	}
	return b
}

// run runs n until the test ends.
func (n *node) run() *node {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	n.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			n.Errorf("Run returned %v", err)
		}
	})
	synctest.Wait()
	return n
}

func (n *node) allow() (breaker.Ticket, breaker.Decision) {
	return n.b.Allow(n.Context(), time.Now())
}

// calls makes calls that must be allowed.
func (n *node) calls(count int, r breaker.Result) {
	n.Helper()
	for range count {
		t, d := n.allow()
		if !d.Allowed {
			n.Fatalf("refused: %+v", d)
		}
		n.b.Done(time.Now(), t, r)
	}
}

func (n *node) status() circuit.Status {
	n.Helper()
	for _, s := range n.List() {
		if s.Name == name {
			return s
		}
	}
	n.Fatalf("%s is not in the list", name)
	return circuit.Status{}
}

func (n *node) wantState(want breaker.State) {
	n.Helper()
	if s := n.status(); s.State != want {
		n.Fatalf("the breaker is %v, want %v: %+v", s.State, want, s)
	}
}

// story tells the events, one a line.
func (n *node) story() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var text strings.Builder
	for _, e := range n.events {
		fmt.Fprintf(&text, "%v → %v", e.From, e.State)
		if e.Remote {
			text.WriteString(" (remote)")
		}
		if e.Reason != "" {
			text.WriteString(": " + e.Reason)
		}
		text.WriteString("\n")
	}
	n.events = nil
	return text.String()
}

func (n *node) wantStory(want string) {
	n.Helper()
	synctest.Wait()
	if got := n.story(); got != want {
		n.Fatalf("what happened:\n%swant:\n%s", got, want)
	}
}

// pass lets time go by, and what happens then happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestConfigIsChecked(t *testing.T) {
	_, err := circuit.New(circuit.Config{Store: newShelf().view(), Max: -1, Poll: time.Hour, ClaimFor: time.Hour})
	for _, want := range []string{"Node is empty", "Max is -1", "Poll is 1h", "ClaimFor is 1h"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if _, err := circuit.New(circuit.Config{}); err != nil {
		t.Errorf("the zero Config: %v", err)
	}
}

func TestABreakerOfOneProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, nil, "").run()
		begin := time.Now()
		n.calls(3, good)
		n.calls(1, failed)
		if s := n.status(); s.Counts != (breaker.Counts{Calls: 4, Failed: 1, InARow: 1}) || s.State != breaker.Closed || !s.Told || !s.Since.Equal(begin) {
			t.Errorf("before the trip: %+v", s)
		}
		pass(time.Second)
		n.calls(1, failed)
		_, d := n.allow()
		if d.Allowed || d.RetryAfter < 3900*time.Millisecond || !strings.Contains(d.Reason, "2 calls in a row failed, the limit is 2") {
			t.Errorf("open: %+v", d)
		}
		if s := n.status(); s.State != breaker.Open || s.Since.Sub(begin) != time.Second || s.Until.Sub(s.Since) < 4*time.Second || s.Level != 1 || s.Reason == "" || !s.Told {
			t.Errorf("open: %+v", s)
		}
		pass(5 * time.Second)
		n.calls(1, good)
		n.wantState(breaker.HalfOpen)
		n.calls(1, good)
		if s := n.status(); s.State != breaker.Closed || !s.Until.IsZero() || s.Reason != "" || s.Level != 1 {
			t.Errorf("closed: %+v", s)
		}
		pass(6 * time.Minute)
		if s := n.status(); s.Level != 0 {
			t.Errorf("long after: %+v", s)
		}
		n.wantStory(`closed → open: 2 calls in a row failed, the limit is 2
open → half-open: 2 calls in a row failed, the limit is 2
half-open → closed
`)
	})
}

func TestNamesAndTheirNumberAreBounded(t *testing.T) {
	n := newNode(t, newShelf(), "a", func(c *circuit.Config) { c.Max = 2 })
	for _, bad := range []string{"", strings.Repeat("x", 248), strings.Repeat("/", 83)} {
		if _, err := n.Breaker(bad, quick); err == nil {
			t.Errorf("a name of %d bytes was accepted", len(bad))
		}
	}
	if _, err := n.Breaker("b", breaker.Config{Probes: 1000}); err == nil || !strings.Contains(err.Error(), "probes is 1000") || !strings.Contains(err.Error(), "circuit breaker b") {
		t.Errorf("a bad config: %v", err)
	}
	b := n.breaker(strings.Repeat("/", 82), quick)
	if len(b.Name()) != 82 {
		t.Errorf("it is called %q", b.Name())
	}
	if _, err := n.Breaker("third", quick); err == nil || !strings.Contains(err.Error(), "third") {
		t.Errorf("one too many: %v", err)
	}
	if n.breaker(b.Name(), quick) != b {
		t.Error("the same name is another breaker")
	}
	n.Remove(b.Name())
	n.Remove("nobody")
	n.breaker("third", quick)
	if s := n.Stats(); s.Breakers != 2 {
		t.Errorf("%+v", s)
	}
}

func TestAChangedConfigTakesEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, nil, "")
		n.calls(1, failed)
		n.breaker(name, breaker.Config{Consecutive: 4})
		n.calls(2, failed)
		n.wantState(breaker.Closed)
		n.calls(1, failed)
		n.wantState(breaker.Open)
	})
}

func TestIgnoredResultsDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, nil, "")
		n.calls(100, breaker.Result{Failed: true, Ignored: true})
		n.wantState(breaker.Closed)
		if c := n.status().Counts; c != (breaker.Counts{}) {
			t.Errorf("counted %+v", c)
		}
	})
}

func TestEventsThatNobodyTakesAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, nil, "")
		for range 600 { // without Run
			if err := n.Force(t.Context(), name, breaker.Open, time.Now().Add(time.Hour), "ann"); err != nil {
				t.Fatal(err)
			}
			if err := n.Force(t.Context(), name, breaker.Open, time.Time{}, "ann"); err != nil {
				t.Fatal(err)
			}
		}
		if s := n.Stats(); s.DroppedEvents != 1200-1024 {
			t.Errorf("%+v", s)
		}
		n.run()
		if got := strings.Count(n.story(), "\n"); got != 1024 {
			t.Errorf("%d events are told, want 1024", got)
		}
	})
}

func TestClosedAllocatesNothing(t *testing.T) {
	n := newNode(t, newShelf(), "a")
	now := time.Now()
	if got := testing.AllocsPerRun(1000, func() {
		now = now.Add(time.Millisecond)
		tk, _ := n.b.Allow(t.Context(), now)
		n.b.Done(now, tk, good)
	}); got != 0 {
		t.Errorf("%v allocations a call", got)
	}
	if calls := n.view.calls("put") + n.view.calls("list"); calls != 0 {
		t.Errorf("%d calls of the store", calls)
	}
	n.calls(2, failed)
	if got := testing.AllocsPerRun(1000, func() { n.b.Allow(t.Context(), now) }); got != 0 {
		t.Errorf("%v allocations a refusal", got)
	}
}
