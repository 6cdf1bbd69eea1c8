package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/backoff"
)

func quiet() *alarms { return newAlarms(slog.New(slog.DiscardHandler)) }

func TestCacheForgetsTheOldest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testCache)
}

func testCache(t *testing.T) {
	record := func(i int64) Record {
		return Record{Position: i, Event: Event{Topic: fmt.Sprint("t", i%2), Payload: make([]byte, 744)}}
	}
	c := newCache(10_000) // ten of 1,000 bytes
	for i := range int64(500) {
		c.put(t.Context(), []Record{record(i), record(i)})
		if c.bytes > c.limit {
			t.Fatalf("%d bytes after %d", c.bytes, i)
		}
		if i%7 == 0 {
			if found, missing := c.take([]Ref{{Position: i, Attempts: 3}, {Position: i + 1}}); len(found) != 1 || len(missing) != 1 || found[0].Attempts != 3 {
				t.Fatalf("found %v, missing %v", found, missing)
			}
		}
	}
	if !c.stuck {
		t.Fatal("whoever puts waits again although nothing leaves")
	}
	found, missing := c.take([]Ref{{Position: 1}, {Position: 498}, {Position: 499}})
	if len(found) != 2 || len(missing) != 1 || missing[0].Position != 1 {
		t.Fatalf("found %v, missing %v", found, missing)
	}
	var rest []Ref
	for i := range int64(500) {
		rest = append(rest, Ref{Position: i})
	}
	c.take(rest)
	if c.bytes != 0 || c.has("t0") || c.has("t1") || len(c.order) > 128 || c.stuck {
		t.Fatalf("%d bytes, %v, %d positions are left", c.bytes, c.topics, len(c.order))
	}
}

// TestGate lets one batch try after a pause, and the others when it worked.
func TestGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(0, "s", backoff.Config{Strategy: backoff.Exponential, Base: time.Second, Cap: 4 * time.Second}, quiet())
		enter := func() (most int, calm bool) {
			t.Helper()
			most, calm, ok := g.enter(t.Context(), 1000)
			if !ok {
				t.Fatal("the gate is closed")
			}
			return most, calm
		}
		if most, calm := enter(); most != 1000 || !calm {
			t.Fatal(most, calm)
		}
		why := errors.New("away")
		g.fail(why, 0, false)
		g.fail(why, 0, false) // another batch of the same moment
		for i, want := range []struct {
			most int
			wait time.Duration
		}{{125, time.Second}, {15, 2 * time.Second}, {1, 4 * time.Second}, {1, 4 * time.Second}} {
			began := time.Now()
			most, calm := enter()
			if took := time.Since(began); most != want.most || calm || took != want.wait {
				t.Fatalf("try %d: %d events after %v", i, most, took)
			}
			g.fail(why, 0, true)
		}
		if s := g.stats(); !s.Paused || s.Reason != "away" || s.Pauses != 5 || len(g.alarms.list()) != 1 {
			t.Fatalf("%+v", s)
		}
		enter()
		other := make(chan int)
		go func() {
			most, _, _ := g.enter(t.Context(), 1000)
			other <- most
		}()
		synctest.Wait()
		select {
		case <-other:
			t.Fatal("two tried")
		default:
		}
		g.pass(0)
		if most := <-other; most != 1 || g.paused() || len(g.alarms.list()) != 0 {
			t.Fatal(most, g.stats())
		}
		for range maxShift {
			g.pass(0)
		}
		if most := g.most(1000); most != 1000 {
			t.Fatal(most)
		}
		// The place says when to come back.
		g.fail(why, time.Minute, false)
		began := time.Now()
		enter()
		if took := time.Since(began); took != time.Minute {
			t.Fatalf("it came back after %v", took)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, ok := g.enter(ended, 1); ok {
			t.Fatal("it let in whoever has ended")
		}
	})
}

func TestJudge(t *testing.T) {
	t.Parallel()
	l := &leader{Relay: &Relay{c: Config{ParkAfter: 2, Owner: "me"}.WithDefaults()}, epoch: 7}
	place, own := errors.New("away"), &Failure{Class: bezoar.Invalid, Reason: "bad"}
	throttled := &Failure{Class: bezoar.Throttled, RetryAfter: time.Minute}
	for _, test := range []struct {
		name      string
		refs      []Ref
		results   []error
		calm      bool
		delivered int
		failed    string // position, blamed, parked
		place     bool
	}{
		{"all well", refs(3), []error{nil, nil, nil}, true, 3, "", false},
		{"all away", refs(3), []error{place, place, place}, true, 0, "", true},
		{"most away", refs(3), []error{place, nil, throttled}, true, 1, "", true},
		{"few away", refs(5), []error{nil, nil, nil, nil, place}, true, 4, "5/0/false ", false},
		{"behind", refs(3), []error{own, ErrBehind, nil}, true, 1, "1/1/false ", false},
		{"one, away", refs(1), []error{place}, true, 0, "1/0/false ", true},
		{"one, again", []Ref{{Position: 1, Attempts: 1}}, []error{place}, true, 0, "1/0/false ", false},
		{"one, again, while the place is away", []Ref{{Position: 1, Attempts: 1}}, []error{place}, false, 0, "1/0/false ", true},
		{"its own fault, the last time", []Ref{{Position: 1, Attempts: 1, Blamed: 1}}, []error{own}, true, 0, "1/2/true ", false},
		{"no result", refs(2), []error{nil}, true, 1, "", true},
	} {
		var records []Record
		for _, r := range test.refs {
			records = append(records, Record{Position: r.Position})
		}
		v := l.judge(batchOf(&Flight{ID: 3, Refs: test.refs}, records), test.results, "s", test.calm)
		failed := ""
		for _, s := range v.done.Failed {
			failed += fmt.Sprintf("%d/%d/%v ", s.Position, s.Blamed, s.Parked)
			if s.Evidence.Relay != "me" || s.Evidence.Epoch != 7 || s.Evidence.Sink != "s" || !s.Parked && s.Wait <= 0 && s.Blamed == 0 {
				t.Errorf("%s: %+v", test.name, s)
			}
		}
		if len(v.done.Delivered) != test.delivered || failed != test.failed || (v.place != nil) != test.place || v.done.Flight != 3 {
			t.Errorf("%s: delivered %v, failed %q, place %v", test.name, v.done.Delivered, failed, v.place)
		}
	}
	gone := l.judge(batchOf(&Flight{Refs: refs(2)}, []Record{{Position: 1}}), []error{nil}, "s", true)
	if len(gone.done.Failed) != 1 || gone.done.Failed[0].Position != 2 || gone.done.Failed[0].Blamed != 1 {
		t.Errorf("an event without its payload: %+v", gone.done)
	}
}

func refs(n int64) (all []Ref) {
	for i := range n {
		all = append(all, Ref{Position: i + 1})
	}
	return all
}

func TestConfig(t *testing.T) {
	t.Parallel()
	err := Config{Sinks: []Route{{Topics: []string{"a b", "*a", "ok.*"}}}, Lease: 1, ParkAfter: -1, Events: 99_999, Bytes: -1, PollIdle: -1}.Validate()
	for _, want := range []string{"Store:", "Owner:", "Sinks[0]: needs", `"a b"`, `"*a"`, "Lease:", "ParkAfter:", "Events:", "Bytes:", "PollIdle:"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %s in %v", want, err)
		}
	}
	r := &Relay{c: Config{Sinks: []Route{{Topics: []string{"orders.*", "x"}}, {Topics: []string{"orders.paid", "*"}}}}}
	for topic, want := range map[string]int{"orders.paid": 0, "orders.": 0, "orders": 1, "x": 0, "xy": 1} {
		if got, ok := r.route(topic); !ok || got != want {
			t.Errorf("%s goes to sink %d", topic, got)
		}
	}
	if _, ok := (&Relay{c: Config{Sinks: []Route{{Topics: []string{"a"}}}}}).route("b"); ok {
		t.Error("b goes somewhere")
	}
}
