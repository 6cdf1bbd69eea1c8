package queuetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/each"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/queue"
)

// Harness makes stores to test.
type Harness struct {
	// Open returns an empty store of the test's own.
	Open func(t *testing.T) queue.Store
	// Age makes everything in the store older by d, as if its clock had
	// gone on.
	Age func(t testing.TB, s queue.Store, d time.Duration)
	// Reopen closes the store and opens it again; nil if nothing is to
	// outlive it.
	Reopen func(t *testing.T, s queue.Store) queue.Store
	// Convict writes a quarantined case of each payload, the i-th touched at
	// i+1 and otherwise empty, where that is faster than a transaction for
	// each; nil has the store write them.
	Convict func(t testing.TB, s queue.Store, id int64, payloads []bezoar.Fingerprint)
	// Games bounds the random games against an oracle, each of some 30
	// moves; 0 means as many as rapid plays, as do -rapid.checks and BEZOAR_SOAK.
	Games int64
	// Game runs one random game, when each has a time of its own, as in a
	// bubble: rapid itself has to see the world's. nil has all of them run by
	// one Around.
	Game func(t *testing.T, game func(*testing.T))
	// Again says that another Harness holds the same store to all of the contract, and
	// that only the way differs in which its statements are run: what the random games
	// play is left to them, unless BEZOAR_SOAK is set.
	Again bool
	// Around runs one test; nil calls it.
	Around func(t *testing.T, test func(*testing.T))
}

// Run holds the stores that h makes to the contract.
func Run(t *testing.T, h Harness) {
	if h.Around == nil {
		h.Around = func(t *testing.T, test func(*testing.T)) { t.Helper(); test(t) }
	}
	alone := []map[string]func(*rig){queueTests(), moveTests(), caseTests(), markTests(), setAsideTests(), triageTests(), trashTests(), retryTests(), contentTests()}
	if !h.Again || os.Getenv("BEZOAR_SOAK") != "" { // the random games play them
		alone = append(alone, messageTests(), receiptTests(), deadLetterTests(), fifoTests(), copyTests(), poisonTests(), letterTests())
	}
	for _, group := range alone {
		for name, test := range group {
			t.Run(name, func(t *testing.T) {
				h.alone(t)
				h.Around(t, func(t *testing.T) { test(newRig(t, h)) })
			})
		}
	}
	for _, group := range []map[string]func(*rig){waitTests(), concurrentTests()} {
		for name, test := range group {
			t.Run(name, func(t *testing.T) {
				h.Around(t, func(t *testing.T) { test(newRig(t, h)) })
			})
		}
	}
	for name, play := range models() {
		t.Run(name, func(t *testing.T) {
			if h.Game != nil {
				games(t, h, play)
				return
			}
			h.Around(t, func(t *testing.T) { games(t, h, play) })
		})
	}
	t.Run("Linearizable", func(t *testing.T) { h.Around(t, func(t *testing.T) { testLinearizable(t, h) }) })
	if h.Reopen != nil {
		for name, test := range map[string]func(*testing.T, Harness){"Reopen": testReopen, "ReopenWork": testReopenWork} {
			t.Run(name, func(t *testing.T) {
				h.alone(t)
				h.Around(t, func(t *testing.T) { test(t, h) })
			})
		}
	}
}

// alone skips a test of one goroutine under the race detector, but not of a store in
// memory: it takes no time, and the engine's part of the test is the same there.
func (h Harness) alone(t *testing.T) {
	t.Helper()
	if h.Reopen != nil {
		pace.Alone(t)
	}
}

// rig is a store and an engine over it.
type rig struct {
	*testing.T
	harness Harness
	store   queue.Store
	tasks   int // started by redrive
	*queue.Engine
}

// errorIf is Errorf, if something is bad.
func (r *rig) errorIf(bad bool, format string, args ...any) {
	r.Helper()
	suite.ErrorIf(r, bad, format, args...)
}

// fatalIf is Fatalf, if something is bad.
func (r *rig) fatalIf(bad bool, format string, args ...any) {
	r.Helper()
	suite.FatalIf(r, bad, format, args...)
}

// check fails with err, and goes on.
func (r *rig) check(err error) {
	r.Helper()
	if err != nil {
		r.Error(err)
	}
}

// same fails if got is not what is wanted; the text says of what.
func (r *rig) same(want, got any, format string, args ...any) {
	r.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		r.Errorf("%s: %s", fmt.Sprintf(format, args...), diff)
	}
}

func newRig(t *testing.T, h Harness) *rig {
	t.Helper()
	return rigOver(t, h, h.Open(t))
}

func rigOver(t *testing.T, h Harness, s queue.Store) *rig {
	t.Helper()
	e, err := queue.New(queue.Config{SweepEvery: 20 * time.Millisecond, ExpireEvery: 20 * time.Millisecond, PollEvery: 20 * time.Millisecond}, s)
	suite.Must(t, err)
	return &rig{t, h, s, 0, e}
}

func (r *rig) ctx() context.Context { return r.T.Context() }

func (r *rig) age(d time.Duration) {
	r.Helper()
	r.harness.Age(r.T, r.store, d)
}

// run starts the engine's upkeep and stops it before the test ends.
func (r *rig) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		r.check(r.Engine.Run(ctx))
	})
	stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	r.Cleanup(stop)
	return stop
}

// sweep sets aside what is due.
func (r *rig) sweep() queue.Swept {
	r.Helper()
	s, err := r.store.Sweep(r.ctx(), 100)
	r.must(err)
	return s
}

// create makes a queue; edit changes the default settings, with which what is
// released comes back at once.
func (r *rig) create(name string, edit func(*queue.Settings)) queue.Queue {
	r.Helper()
	s := queue.DefaultSettings()
	s.Retry.Strategy = backoff.Immediate
	if edit != nil {
		edit(&s)
	}
	q, err := r.CreateQueue(r.ctx(), name, s, nil)
	r.must(err)
	return q
}

// createFIFO makes a FIFO queue without content deduplication.
func (r *rig) createFIFO(name string, edit func(*queue.Settings)) queue.Queue {
	r.Helper()
	return r.create(name, func(s *queue.Settings) {
		s.FIFO = true
		if edit != nil {
			edit(s)
		}
	})
}

func deadLetter(name string, receives int) func(*queue.Settings) {
	return func(s *queue.Settings) { s.DeadLetter = queue.DeadLetter{Queue: name, MaxReceives: receives} }
}

// text is a message with nothing but a body.
func text(body string) queue.SendInput { return queue.SendInput{Body: []byte(body)} }

// in is a message of a FIFO queue; its body is its deduplication id.
func in(group, body string) queue.SendInput {
	return queue.SendInput{Body: []byte(body), Group: group, Dedup: body}
}

func (r *rig) send(name string, in queue.SendInput) queue.Sent {
	r.Helper()
	sent, err := r.Send(r.ctx(), name, in)
	r.must(err)
	return sent
}

// receive takes up to n messages now.
func (r *rig) receive(name string, n int) []queue.Message {
	r.Helper()
	m, err := r.Receive(r.ctx(), name, queue.ReceiveInput{Max: n, Worker: "w1"})
	r.must(err)
	return m
}

// one takes the only message there is.
func (r *rig) one(name string) queue.Message {
	r.Helper()
	m := r.receive(name, 10)
	r.fatalIf(len(m) != 1, "%d messages were received from %s, want 1: %v", len(m), name, bodies(m))
	return m[0]
}

func (r *rig) none(name string) {
	r.Helper()
	if m := r.receive(name, 10); len(m) > 0 {
		r.Fatalf("received %v from %s, want nothing", bodies(m), name)
	}
}

// wantBodies receives up to n and compares.
func (r *rig) wantBodies(name string, n int, want ...string) []queue.Message {
	r.Helper()
	m := r.receive(name, n)
	got := bodies(m)
	r.fatalIf(len(got) != len(want), "received %v from %s, want %v", got, name, want)
	for i := range got {
		r.fatalIf(got[i] != want[i], "received %v from %s, want %v", got, name, want)
	}
	return m
}

func bodies(m []queue.Message) []string {
	return each.Of(m, func(m queue.Message) string { return strings.TrimSuffix(string(m.Body), tail) })
}

func (r *rig) wantErr(err error, want queue.Code) {
	r.Helper()
	r.fatalIf(!errors.Is(err, want) || queue.CodeOf(err) != want, "error %v, want %v", err, want)
}

func (r *rig) must(err error) {
	r.Helper()
	suite.Must(r, err)
}

func (r *rig) wantCounts(name string, visible, inFlight, delayed int64) {
	r.Helper()
	c, err := r.Counts(r.ctx(), name)
	r.must(err)
	c.Oldest = 0
	if want := (queue.Counts{Visible: visible, InFlight: inFlight, Delayed: delayed}); c != want {
		r.Fatalf("%s holds %+v, want %+v", name, c, want)
	}
}

// until polls a condition.
func (r *rig) until(what string, ok func() bool) {
	r.Helper()
	deadline, cancel := context.WithTimeout(r.ctx(), 10*time.Second)
	defer cancel()
	for !ok() {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-deadline.Done():
			r.Fatalf("not within 10 s: %s", what)
		}
	}
}
