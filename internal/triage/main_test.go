package triage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/store/memory"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/queue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is an engine and a service that run, in a bubble.
type rig struct {
	*testing.T
	*triage.Service
	engine *queue.Engine
	store  queue.Store
	source *source
	asked  asked
	stop   func() // stops the service
}

// asked is an engine that counts how often it is asked for marks.
type asked struct {
	*queue.Engine
	times  atomic.Int64
	shared atomic.Bool // it says that other processes use the store
}

func (a *asked) Shared() bool { return a.shared.Load() || a.Engine.Shared() }

func (a *asked) Marks() queue.Marks {
	a.times.Add(1)
	return a.Engine.Marks()
}

const (
	jobs = "jobs"
	dlq  = "jobs-dlq"
	ann  = triage.Actor("ann")
)

// test runs f in a bubble. The source is at the service when with is not nil.
func test(t *testing.T, with *source, f func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		db, err := memory.Open(memory.Config{})
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{T: t, store: db.Queue(), source: with}
		if r.engine, err = queue.New(queue.Config{}, r.store); err != nil {
			t.Fatal(err)
		}
		r.asked.Engine = r.engine
		r.Service = r.service()
		settings := queue.DefaultSettings()
		r.must(r.engine.CreateQueue(t.Context(), dlq, settings, nil))
		settings.DeadLetter = queue.DeadLetter{Queue: dlq, MaxReceives: 3}
		r.must(r.engine.CreateQueue(t.Context(), jobs, settings, nil))
		r.run(r.engine.Run)
		r.stop = r.run(r.Service.Run)
		f(r)
	})
}

// run runs a service until the test ends, or the returned function is called.
func (r *rig) run(service func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(r.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := service(ctx); err != nil {
			r.Errorf("a service ended with %v", err)
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	r.Cleanup(stop)
	return stop
}

func (r *rig) service() *triage.Service {
	c := triage.Config{Queue: &r.asked}
	if r.source != nil {
		c.Sources = []triage.Source{r.source}
	}
	d, err := triage.New(c)
	if err != nil {
		r.Fatal(err)
	}
	return d
}

// abandon makes it look as if the service that works on a run had died: another
// one is written down as its owner.
func (r *rig) abandon(id string) {
	r.Helper()
	marks, err := r.Marks().Marks(r.Context(), "triage/run/"+id)
	if err != nil || len(marks) != 1 {
		r.Fatalf("the run is %+v, %v", marks, err)
	}
	doc := map[string]any{}
	if err := json.Unmarshal(marks[0].Doc, &doc); err != nil {
		r.Fatal(err)
	}
	doc["Owner"] = "triage-that-died"
	marks[0].Doc, err = json.Marshal(doc)
	r.must(nil, err)
	r.must(r.Marks().PutMark(r.Context(), marks[0]))
}

func (r *rig) must(_ any, err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// kill makes n letters of one cause, a second apart, and returns their ids.
func (r *rig) kill(n int, failure string) (ids []string) {
	r.Helper()
	for i := range n {
		time.Sleep(time.Second)
		_, err := r.engine.Send(r.Context(), jobs, queue.SendInput{
			Body: fmt.Appendf(nil, "body %d of %s", i, failure),
			Attributes: map[string]queue.Attribute{
				"trace": {DataType: "String", String: "t"}, "Authorization": {DataType: "String", String: "hunter2"},
			},
		})
		if err != nil {
			r.Fatal(err)
		}
		ids = append(ids, r.reject(failure)...)
	}
	return ids
}

// reject makes letters of all that can be received, and returns their ids.
func (r *rig) reject(failure string) (ids []string) {
	r.Helper()
	for _, m := range r.receive() {
		err := r.engine.Reject(r.Context(), jobs, m.Receipt, queue.Outcome{Class: bezoar.Bug, Failure: failure, Reason: "it broke"})
		if err != nil {
			r.Fatal(err)
		}
		ids = append(ids, m.ID)
	}
	return ids
}

func (r *rig) receive() []queue.Message {
	r.Helper()
	m, err := r.engine.Receive(r.Context(), jobs, queue.ReceiveInput{Max: queue.MaxBatch})
	if err != nil {
		r.Fatal(err)
	}
	return m
}

// work is done with all that can be received of the jobs.
func (r *rig) work() {
	r.Helper()
	r.done(jobs)
}

// done is done with all that can be received of a queue.
func (r *rig) done(name string) {
	r.Helper()
	m, err := r.engine.Receive(r.Context(), name, queue.ReceiveInput{Max: queue.MaxBatch})
	r.must(m, err)
	for _, one := range m {
		r.must(nil, r.engine.Delete(r.Context(), name, one.Receipt))
	}
}

func (r *rig) task(id string) triage.Task {
	r.Helper()
	t, err := r.Task(r.Context(), id)
	r.must(t, err)
	return t
}

// pass lets time pass, that of the bubble.
func (r *rig) pass(d time.Duration) { time.Sleep(d) }

func (r *rig) count(s queue.Selection) int64 {
	r.Helper()
	n, err := r.Count(r.Context(), s)
	if err != nil {
		r.Fatal(err)
	}
	return n
}

// finish waits for a task to stand still, working on what comes meanwhile.
func (r *rig) finish(id string, work func()) triage.Task {
	r.Helper()
	for range 10_000 {
		t, err := r.Task(r.Context(), id)
		if err != nil {
			r.Fatal(err)
		}
		if t.Over() || t.State == queue.MoveHalted {
			return t
		}
		if work != nil {
			work()
		}
		time.Sleep(50 * time.Millisecond)
	}
	r.Fatalf("task %s does not end", id)
	return triage.Task{}
}

// log returns the newest entry of an action, or fails.
func (r *rig) log(action string) queue.AuditEntry {
	r.Helper()
	entries, err := r.AuditLog(r.Context(), 0, 100)
	if err != nil {
		r.Fatal(err)
	}
	i := slices.IndexFunc(entries, func(e queue.AuditEntry) bool { return e.Action == action })
	if i < 0 {
		r.Fatalf("the log has no %s but %+v", action, entries)
	}
	return entries[i]
}

func (r *rig) wants(err error, codes ...error) {
	r.Helper()
	for _, code := range codes {
		if !errors.Is(err, code) {
			r.Errorf("the error is %v, want %v", err, code)
		}
	}
}

// source is letters that are in no queue.
type source struct {
	*triage.Gateway
	kept *kept
}

func newSource() *source {
	k := &kept{outcome: map[string]queue.Outcome{}}
	return &source{Gateway: triage.NewGateway("search", k), kept: k}
}

// kept is a ledger of requests.
type kept struct {
	mu      sync.Mutex // guards what follows
	letters []bezoar.Letter
	outcome map[string]queue.Outcome // of a redrive; none: done
	ran     []string
	hang    chan struct{} // a redrive waits for it, if set
	began   chan string   // is told what a redrive runs, if set
}

// add keeps n requests, a second apart, and returns their ids, the oldest first.
func (k *kept) add(n int, class bezoar.Class) (ids []string) {
	for range n {
		time.Sleep(time.Second)
		k.mu.Lock()
		i := len(k.letters)
		id := fmt.Sprintf("dl-%012x", i)
		k.letters = append(k.letters, bezoar.Letter{
			ID: id, Fleet: "search", Fingerprint: bezoar.Fingerprint{1, byte(i)}, Class: class, Reason: "signal: killed", Copies: 2,
			First: time.Now(), Last: time.Now(), Request: bezoar.Request{
				Method: "POST", Target: "/search?q=1", Body: []byte("q"),
				Header: map[string][]string{"Cookie": {"[redacted]"}, "Accept": {"a", "b"}}, Client: "10.0.0.1",
			},
			Evidence: []bezoar.Evidence{{Worker: "w-1", At: time.Now(), Class: class, Detail: "killed", Stderr: []string{"oh"}}},
		})
		k.mu.Unlock()
		ids = append(ids, id)
	}
	return ids
}

func (k *kept) List(_ context.Context, offset, limit int) ([]bezoar.Letter, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	from := min(offset, len(k.letters))
	return slices.Clone(k.letters[from:min(from+limit, len(k.letters))]), nil
}

func (k *kept) Get(_ context.Context, id string) (bezoar.Letter, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, l := range k.letters {
		if l.ID == id {
			return l, nil
		}
	}
	return bezoar.Letter{}, queue.ErrLetterNotFound
}

func (k *kept) Redrive(ctx context.Context, id string) (queue.Outcome, error) {
	k.mu.Lock()
	k.ran = append(k.ran, id)
	hang, began := k.hang, k.began
	o := k.outcome[id]
	k.mu.Unlock()
	if began != nil {
		began <- id
	}
	if hang != nil {
		select {
		case <-hang:
		case <-ctx.Done():
			return queue.Outcome{Class: bezoar.Interrupted}, ctx.Err()
		}
	}
	if o.Class != bezoar.Done {
		return o, nil
	}
	return o, k.Discard(ctx, id)
}

func (k *kept) Discard(_ context.Context, id string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := len(k.letters)
	k.letters = slices.DeleteFunc(k.letters, func(l bezoar.Letter) bool { return l.ID == id })
	if len(k.letters) == n {
		return queue.ErrLetterNotFound
	}
	return nil
}

// empty is queues that hold nothing.
type empty struct{ all }

// all is what empty has by name only: Queue is a method, too.
type all = interface{ triage.Queue }

func (empty) Letters(context.Context, queue.Selection, int64, int) ([]queue.Death, error) {
	return nil, nil
}
