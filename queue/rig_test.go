package queue_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/queue"
)

// rig is an engine over a memory store that is run, in a bubble of its own time.
type rig struct {
	*testing.T
	*queue.Engine
	store queue.Store
}

// bubble runs f in a bubble, with an engine that is run.
func bubble(t *testing.T, c queue.Config, f func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, store: memoryStore(t)}
		r.Engine = r.node(c, r.store)
		f(r)
	})
}

// node runs one more engine over a store.
func (r *rig) node(c queue.Config, s queue.Store) *queue.Engine {
	r.Helper()
	e := engine(r.T, c, s)
	done := make(chan error, 1)
	go func() { done <- e.Run(r.Context()) }()
	r.Cleanup(func() { // the context is over by then
		if err := <-done; err != nil {
			r.Errorf("Run: %v", err)
		}
	})
	return e
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) create(name string, edit func(*queue.Settings)) {
	r.Helper()
	s := queue.DefaultSettings()
	if edit != nil {
		edit(&s)
	}
	_, err := r.CreateQueue(r.Context(), name, s, nil)
	r.must(err)
}

func (r *rig) send(name string, bodies ...string) {
	r.Helper()
	for _, b := range bodies {
		_, err := r.Send(r.Context(), name, queue.SendInput{Body: []byte(b)})
		r.must(err)
	}
}

// sendMany sends n different bodies.
func (r *rig) sendMany(name string, n int) {
	r.Helper()
	for i := range n {
		r.send(name, fmt.Sprintf(`{"job": %d, "of": "many"}`, i))
	}
}

func (r *rig) receive(name, worker string, limit int) []queue.Message {
	r.Helper()
	m, err := r.Receive(r.Context(), name, queue.ReceiveInput{Max: limit, Worker: worker})
	r.must(err)
	return m
}

func (r *rig) one(name, worker string) queue.Message {
	r.Helper()
	m := r.receive(name, worker, 1)
	if len(m) != 1 {
		r.Fatalf("nothing was received from %s", name)
	}
	return m[0]
}

func (r *rig) none(name, worker string) {
	r.Helper()
	if m := r.receive(name, worker, 10); len(m) > 0 {
		r.Fatalf("received %q from %s, want nothing", m[0].Body, name)
	}
}

func (r *rig) fails(name string, m queue.Message, class bezoar.Class, failure string) {
	r.Helper()
	r.must(r.Release(r.Context(), name, queue.ReleaseInput{Receipt: m.Receipt, Outcome: &queue.Outcome{Class: class, Failure: failure}}))
}

func (r *rig) delete(name string, m queue.Message) {
	r.Helper()
	r.must(r.Delete(r.Context(), name, m.Receipt))
}

// states are the conditions as name=state, forced ones with an exclamation mark.
func states(all []queue.Condition) (out []string) {
	for _, c := range all {
		s := c.Queue + c.Group + "=" + c.State
		if c.Forced {
			s += "!"
		}
		out = append(out, s)
	}
	return out
}

func (r *rig) wantStates(e *queue.Engine, want ...string) []queue.Condition {
	r.Helper()
	all := e.Conditions(r.Context())
	if got := states(all); !slices.Equal(got, want) {
		r.Fatalf("conditions are %q, want %q", got, want)
	}
	return all
}

func (r *rig) wantCounts(name string, visible, inFlight, delayed int64) {
	r.Helper()
	c, err := r.Counts(r.Context(), name)
	r.must(err)
	if c.Visible != visible || c.InFlight != inFlight || c.Delayed != delayed {
		r.Fatalf("%s: %d visible, %d in flight, %d delayed; want %d, %d, %d", name, c.Visible, c.InFlight, c.Delayed, visible, inFlight, delayed)
	}
}

// pass lets time go by.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
