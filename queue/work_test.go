package queue_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/fingerprint"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/queue"
)

func TestBodiesThatMeanTheSameAreOnePayload(t *testing.T) {
	key := fingerprint.Key{1}
	payload := func(c queue.Config, q queue.Quarantine, body string) (p bezoar.Fingerprint) {
		bubble(t, c, func(r *rig) {
			r.create("jobs", func(s *queue.Settings) { s.Quarantine = q })
			r.send("jobs", body)
			p = r.one("jobs", "").Payload
		})
		return p
	}
	c, none := queue.Config{Key: key}, queue.Quarantine{}
	base := payload(c, none, `{"a": 1, "b": [true, "x"]}`)
	big := strings.Repeat("x", 100<<10)
	for name, tc := range map[string]struct {
		c     queue.Config
		q     queue.Quarantine
		body  string
		equal bool
	}{
		"in another order":   {c, none, ` {"b":[true,"\u0078"],"a":1}`, true},
		"another value":      {c, none, `{"a": 2, "b": [true, "x"]}`, false},
		"another key":        {queue.Config{Key: fingerprint.Key{2}}, none, `{"a": 1, "b": [true, "x"]}`, false},
		"a random key":       {queue.Config{}, none, `{"a": 1, "b": [true, "x"]}`, false},
		"another's path":     {c, queue.Quarantine{Ignore: []string{"$.at", "$.b[*].id"}}, `{"a": 1, "b": [true, "x"], "at": "noon"}`, true},
		"a path that counts": {c, none, `{"a": 1, "b": [true, "x"], "at": "noon"}`, false},
	} {
		if got := payload(tc.c, tc.q, tc.body); (got == base) != tc.equal || got.IsZero() {
			t.Errorf("%s: equal is %v, want %v", name, got == base, tc.equal)
		}
	}
	if payload(c, none, big+"1") == payload(c, none, big+"2") {
		t.Error("large bodies that differ at the end are one payload")
	}
	for _, brief := range []string{`{"a":1}`, "17", "ok", "{}"} {
		if one := payload(c, none, brief); one.IsZero() || one != payload(c, none, brief) || one == payload(c, none, "18") {
			t.Errorf("%s is not recognised, or as something else", brief)
		}
	}
	if !payload(c, queue.Quarantine{Off: true}, `{"a": 1, "b": [true, "x"]}`).IsZero() {
		t.Error("something is recognised though that is switched off")
	}
}

// Where a brief body is not all of a message, its attributes tell it apart.
func TestBriefBodiesAreToldApartByTheirAttributes(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", nil)
		seen := map[bezoar.Fingerprint]string{}
		for body, equal := range map[string]bool{"go": false, "a body of some length": true} {
			for _, value := range []string{"a", "b"} {
				_, err := r.Send(r.Context(), "jobs", queue.SendInput{Body: []byte(body), Attributes: map[string]queue.Attribute{"Do": {DataType: "String", String: value}}})
				r.must(err)
				m := r.one("jobs", "")
				r.delete("jobs", m)
				if other, same := seen[m.Payload]; same != (equal && value == "b") {
					r.Errorf("%s with %s is the same as %s", body, value, other)
				}
				seen[m.Payload] = body + value
			}
		}
	})
}

// Whatever the body, what a message does counts: at the second death it is set
// aside, without any RedrivePolicy. Below min_bytes only for the message itself.
func TestBriefBodiesThatKillAreSetAside(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		kill := func(name string) {
			for range 2 {
				m := r.one(name, "")
				r.fails(name, m, bezoar.Crash, "")
				pass(time.Second)
			}
		}
		instantly := func(least int) func(*queue.Settings) {
			return func(s *queue.Settings) { s.Retry.Strategy, s.Quarantine.MinBytes = backoff.Immediate, least }
		}
		for name, copies := range map[string]int64{"recognised": 0, "apart": 1} {
			r.create(name, instantly(int(copies)*20))
			r.send(name, "17")
			kill(name)
			r.wantCounts(name+"-dlq", 1, 0, 0)
			r.send(name, "17")
			if got := int64(len(r.receive(name, "", 10))); got != copies {
				r.Errorf("%s: %d copies are delivered, want %d", name, got, copies)
			}
		}
	})
}

func TestSettingsThatDoNotCompileAreRefused(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", nil)
		for want, edit := range map[string]func(*queue.Settings){
			"the schema at $.properties.a.type": func(s *queue.Settings) { s.Schema = `{"properties": {"a": {"type": "strong"}}}` },
			"line 1, column 10":                 func(s *queue.Settings) { s.Schema = `{"type": ]` },
			"contain all that it refers to":     func(s *queue.Settings) { s.Schema = `{"$ref": "https://example.com/"}` },
			"Quarantine.Ignore[1]":              func(s *queue.Settings) { s.Quarantine.Ignore = []string{"$.a", "a.b"} },
		} {
			_, err := r.SetSettings(r.Context(), "jobs", func(s *queue.Settings) error { edit(s); return nil })
			s := queue.DefaultSettings()
			edit(&s)
			_, err2 := r.CreateQueue(r.Context(), "new", s, nil)
			for _, err := range []error{err, err2} {
				if queue.CodeOf(err) != queue.ErrInvalid || !strings.Contains(err.Error(), want) {
					r.Errorf("%v, want %q in it", err, want)
				}
			}
		}
	})
}

const needsID = `{"type": "object", "required": ["id"], "properties": {"items": {"items": {"type": "integer"}}}}`

func TestBodiesThatTheSchemaForbidsAreNotSent(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", func(s *queue.Settings) { s.Schema = needsID })
		results, err := r.SendBatch(r.Context(), "jobs", []queue.SendInput{
			{Body: []byte(`{"id": 1}`)}, {Body: []byte(`{"items": []}`)}, {Body: []byte(`{"id": 1, "items": [1, "x"]}`)}, {Body: []byte("plain text")},
		})
		r.must(err)
		for i, want := range []string{"", "required at $: ", "type at $.items[1]: got string, want integer", "json at $: "} {
			err := results[i].Err
			if (err == nil) != (want == "") || err != nil && (queue.CodeOf(err) != queue.ErrSchema || !strings.Contains(err.Error(), want)) {
				r.Errorf("entry %d: %v, want %q", i, err, want)
			}
		}
		r.wantCounts("jobs", 1, 0, 0)
	})
}

func TestBodiesThatTheSchemaForbidsAreSetAsideAtReceive(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs", func(s *queue.Settings) { s.Schema, s.SchemaCheck = needsID, queue.CheckDeadLetter })
		for i := range 5 {
			r.send("jobs", fmt.Sprintf(`{"no": "id %d"}`, i))
		}
		r.send("jobs", `{"id": 1}`)
		if m := r.receive("jobs", "", 3); len(m) != 1 || string(m[0].Body) != `{"id": 1}` {
			r.Fatalf("received %d", len(m))
		}
		r.none("jobs", "")
		dead := r.receive("jobs-dlq", "", 10)
		if len(dead) != 5 {
			r.Fatalf("%d letters, want 5", len(dead))
		}
		l := dead[0].Letter
		if l.Class != bezoar.Invalid || l.Failure != "schema:required@$" || !strings.Contains(l.Reason, "required at $: missing property 'id'") || l.Group != "invalid:schema:required@$" {
			r.Errorf("the letter is %+v", l)
		}
	})
}

func TestARepeatedReceiveReturnsTheSame(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs.fifo", func(s *queue.Settings) { s.FIFO = true })
		for i := range 3 {
			r.sendOne("jobs.fifo", fmt.Sprint("body ", i))
		}
		again := func() []queue.Message {
			m, err := r.Receive(r.Context(), "jobs.fifo", queue.ReceiveInput{Max: 2, Attempt: "a1"})
			r.must(err)
			return m
		}
		first := again()
		pass(20 * time.Second)
		second := again()
		if len(first) != 2 || len(second) != 2 || second[0].Receipt != first[0].Receipt || second[0].Receives != 1 {
			r.Fatalf("received %d, then %d", len(first), len(second))
		}
		pass(20 * time.Second) // longer than the first lease
		r.delete("jobs.fifo", second[0])
		if third := again(); len(third) != 1 || third[0].ID != first[1].ID {
			r.Fatalf("of what is left %d were received, want 1", len(third))
		}
		pass(31 * time.Second)
		if m := again(); len(m) != 2 || m[0].Receives != 2 {
			r.Errorf("once the leases are over received %d", len(m))
		}
	})
}

func TestNoMoreThanSoManyAreInFlight(t *testing.T) {
	bubble(t, queue.Config{}, func(r *rig) {
		r.create("jobs.fifo", func(s *queue.Settings) { s.FIFO, s.ContentDedup = true, true })
		in := make([]queue.SendInput, queue.MaxBatch)
		for n := 0; n <= queue.MaxInFlightFIFO; n += len(in) {
			for i := range in {
				in[i] = queue.SendInput{Body: fmt.Append(nil, n+i), Group: fmt.Sprint(n + i)}
			}
			_, err := r.SendBatch(r.Context(), "jobs.fifo", in)
			r.must(err)
		}
		got := 0
		var err error
		for err == nil {
			var m []queue.Message
			m, err = r.Receive(r.Context(), "jobs.fifo", queue.ReceiveInput{Max: 100, Worker: "w", Visibility: new(time.Minute)})
			got += len(m)
		}
		if queue.CodeOf(err) != queue.ErrOverLimit || got != queue.MaxInFlightFIFO {
			r.Fatalf("%d are in flight, then %v", got, err)
		}
		pass(time.Minute)
		r.one("jobs.fifo", "w")
	})
}

// crowd is a store with many move tasks, each of which takes its time.
type crowd struct {
	queue.Store
	tasks  []queue.MoveTask
	steps  map[string]int
	sweeps []time.Time
}

func (c *crowd) Moves(context.Context, queue.MoveQuery) ([]queue.MoveTask, error) {
	return append([]queue.MoveTask(nil), c.tasks...), nil
}

func (c *crowd) StepMove(_ context.Context, id string, _ int) (queue.Step, error) {
	time.Sleep(2 * time.Millisecond)
	c.steps[id]++
	return queue.Step{Task: queue.MoveTask{ID: id, State: queue.MoveRunning}, Next: 10 * time.Second}, nil
}

func (c *crowd) Sweep(ctx context.Context, limit int) (queue.Swept, error) {
	c.sweeps = append(c.sweeps, time.Now())
	return c.Store.Sweep(ctx, limit)
}

// A thousand tasks all have their turns, and upkeep goes on meanwhile.
func TestManyTasksDoNotHogUpkeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{Store: memoryStore(t), steps: map[string]int{}}
		for i := range 1000 {
			c.tasks = append(c.tasks, queue.MoveTask{ID: fmt.Sprint(i), State: queue.MoveRunning})
		}
		c.tasks = append(c.tasks, queue.MoveTask{ID: "halted", State: queue.MoveHalted})
		e := engine(t, queue.Config{}, c)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- e.Run(ctx) }()
		time.Sleep(10 * time.Second)
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		for i := range 1000 {
			if n := c.steps[fmt.Sprint(i)]; n < 3 || n > 10 {
				t.Fatalf("task %d had %d steps in 10 s of 2 s rounds", i, n)
			}
		}
		if c.steps["halted"] != 0 {
			t.Error("a halted task had a step")
		}
		for i, at := range c.sweeps[1:] {
			if gap := at.Sub(c.sweeps[i]); gap > 250*time.Millisecond {
				t.Fatalf("upkeep stood still for %v", gap)
			}
		}
	})
}
