package worker_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/worker"
)

func TestMain(m *testing.M) {
	if os.Getenv("BE_A_WORKER") != "" {
		beAWorker()
		return
	}
	goleak.VerifyTestMain(m)
}

func eachSource(t *testing.T, test func(t *testing.T, r *rig, kind string)) {
	for _, kind := range []string{"direct", "bezoar", "foreign"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, newRig(t), kind)
		})
	}
}

func TestEveryMessageIsDoneOnce(t *testing.T) {
	eachSource(t, func(t *testing.T, r *rig, kind string) {
		r.create("jobs", plain)
		want := map[string]int{}
		for i := range 50 {
			body := fmt.Sprintf("message number %d", i)
			want[body] = 1
			r.send("jobs", body)
		}
		var mu sync.Mutex
		got := map[string]int{}
		stop := r.start(worker.Config{Source: r.source(kind, "jobs"), Handler: func(_ context.Context, m worker.Message) error {
			mu.Lock()
			defer mu.Unlock()
			got[string(m.Body)]++
			return nil
		}})
		all := r.waitFor(50)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		for _, e := range all {
			if e.Outcome != worker.OutcomeDone || e.Class != bezoar.Done || e.Queue != "jobs" || e.Receives != 1 {
				t.Errorf("event %+v", e)
			}
		}
		r.counts("jobs", 0, 0, 0)
	})
}

// What a handler returns decides what becomes of the message.
func TestClasses(t *testing.T) {
	errs := map[string]error{
		"invalid":       worker.Invalid(errors.New("no such field")),
		"transient":     worker.Transient(errors.New("not now")),
		"throttled":     worker.Throttled(errors.New("slowly"), 40*time.Second),
		"throttled, so": worker.Throttled(errors.New("slowly"), 0),
		"outage":        worker.Outage(errors.New("gone away"), "billing"),
		"bug":           errors.New("some error"),
	}
	eachSource(t, func(t *testing.T, r *rig, kind string) {
		r.create("jobs", func(s *queue.Settings) {
			s.Quarantine.Off = kind == "foreign"
			s.Retry = queue.Retry{Strategy: backoff.Fixed, Base: time.Minute}
		})
		r.create("dead", nil)
		for name := range errs {
			r.send("jobs", name+", a message")
		}
		r.send("jobs", "panic, a message")
		source := r.source(kind, "jobs")
		if s, ok := source.(*worker.SQSQueue); ok && kind == "foreign" {
			s.DeadLetter = r.foreign + "dead"
		}
		stop := r.start(worker.Config{
			Source: source, Retry: backoff.Config{Strategy: backoff.Fixed, Base: time.Minute},
			Handler: func(_ context.Context, m worker.Message) error {
				name, _, _ := strings.Cut(string(m.Body), ", a")
				if name == "panic" {
					panic("at the disco")
				}
				return errs[name]
			},
		})
		all := r.waitFor(len(errs) + 1)
		if err := stop(); err != nil {
			t.Error(err)
		}
		classes := map[string]int{}
		for _, e := range all {
			classes[e.Class.String()]++
			want := worker.OutcomeReported
			if kind == "foreign" {
				want = worker.OutcomeRetry
				if e.Class == bezoar.Invalid {
					want = worker.OutcomeDead
				}
			}
			if e.Outcome != want {
				t.Errorf("%s is %s, want %s: %+v", e.Class, e.Outcome, want, e)
			}
			if wait := map[bezoar.Class]time.Duration{bezoar.Throttled: time.Minute, bezoar.Invalid: 0}; kind == "foreign" && e.Class != bezoar.Invalid && e.Delay < max(time.Minute, wait[e.Class]) {
				t.Errorf("%s waits %v", e.Class, e.Delay)
			}
		}
		if diff := cmp.Diff(map[string]int{"invalid": 1, "transient": 1, "throttled": 2, "outage": 1, "bug": 1, "crash": 1}, classes); diff != "" {
			t.Error(diff)
		}
		dead := "jobs-dlq"
		if kind != "foreign" {
			r.counts("jobs", 0, 0, 6)
		} else {
			r.counts("jobs", 0, 6, 0) // which is how SQS makes a message wait
			dead = "dead"
			if a := r.messages(dead)[0].Attributes; a["BezoarClass"].String != "invalid" || a["BezoarReason"].String != "no such field" || a["BezoarOrigin"].String != "jobs" {
				t.Errorf("the letter says %+v", a)
			}
		}
		r.counts(dead, 1, 0, 0)
		if m := r.messages(dead)[0]; string(m.Body) != "invalid, a message" {
			t.Errorf("the letter is %s", m.Body)
		}
	})
}

// The lease of a message that takes long is extended, so that nobody else gets
// it; one that is lost all the same is stopped.
func TestLeases(t *testing.T) {
	eachSource(t, func(t *testing.T, _ *rig, kind string) {
		given(t, func(lease time.Duration) bool { return extends(t, kind, lease) })
	})
}

// extends reports whether a lease was held for longer than it lasts.
func extends(t *testing.T, kind string, lease time.Duration) bool {
	r := newRig(t)
	r.create("jobs", nil)
	r.send("jobs", "this takes long", "this is taken away")
	ended := make(chan error, 100)
	started := make(chan worker.Message, 100)
	r.start(worker.Config{
		Source: r.source(kind, "jobs"), Visibility: lease, Heartbeat: lease / 10,
		Handler: func(ctx context.Context, m worker.Message) error {
			started <- m
			if strings.Contains(string(m.Body), "away") {
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return ctx.Err()
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(lease * 3 / 2):
				return nil
			}
		},
	})
	m := <-started
	for !strings.Contains(string(m.Body), "away") {
		m = <-started
	}
	receipt, err := queue.ParseReceipt(m.Receipt)
	if err != nil {
		t.Fatal(err)
	}
	if q, _ := r.engine.Queue(t.Context(), "jobs"); receipt.Queue == 0 {
		receipt.Queue = q.ID
	}
	if err := r.engine.Delete(t.Context(), "jobs", receipt); err != nil {
		t.Logf("it cannot be taken away: %v", err)
		return false
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("it was stopped because of %v", err)
	}
	outcomes := map[worker.Outcome]int{}
	for _, e := range r.waitFor(2) {
		outcomes[e.Outcome]++
	}
	if diff := cmp.Diff(map[worker.Outcome]int{worker.OutcomeDone: 1, worker.OutcomeLost: 1}, outcomes); diff != "" {
		t.Log(diff)
		return false
	}
	r.counts("jobs", 0, 0, 0)
	return true
}

// When it is to stop, a worker lets go on what runs, for a while, then interrupts
// it, and gives everything back.
func TestDrain(t *testing.T) {
	eachSource(t, func(t *testing.T, _ *rig, kind string) {
		given(t, func(drain time.Duration) bool {
			r := newRig(t)
			r.create("jobs", nil)
			r.send("jobs", "this ends soon", "this goes on and on")
			started, release := make(chan string, 2), make(chan struct{})
			stop := r.start(worker.Config{
				Source: r.source(kind, "jobs"), Drain: drain,
				Handler: func(ctx context.Context, m worker.Message) error {
					started <- string(m.Body)
					if strings.Contains(string(m.Body), "soon") {
						<-release
						return nil
					}
					<-ctx.Done()
					return ctx.Err()
				},
			})
			<-started
			<-started
			time.AfterFunc(drain/20, func() { close(release) })
			if err := stop(); err != nil {
				t.Error(err)
			}
			got := map[string]string{}
			for _, e := range r.waitFor(2) {
				got[e.Class.String()] = string(e.Outcome)
			}
			if len(got) == 1 && got["interrupted"] == "returned" {
				return false // what ends soon was too slow
			}
			if diff := cmp.Diff(map[string]string{"done": "done", "interrupted": "returned"}, got); diff != "" {
				t.Error(diff)
			}
			r.counts("jobs", 1, 0, 0)
			if m := r.messages("jobs"); kind != "foreign" && m[0].Receives != 0 {
				t.Errorf("an interruption cost a receive: %d", m[0].Receives)
			}
			return true
		})
	})
}

// The messages of one group are worked on in their order, also when one fails.
func TestGroupsKeepTheirOrder(t *testing.T) {
	eachSource(t, func(t *testing.T, r *rig, kind string) {
		r.create("jobs.fifo", plain)
		var want []string
		for i := range 6 {
			for _, g := range []string{"a", "b", "c"} {
				r.send("jobs.fifo", fmt.Sprint(g, i))
				if g == "a" {
					want = append(want, fmt.Sprint(g, i))
				}
			}
		}
		var mu sync.Mutex
		order, failed := map[string][]string{}, map[string]bool{}
		r.start(worker.Config{
			Source: r.source(kind, "jobs.fifo"), Concurrency: 8, Retry: backoff.Config{Strategy: backoff.Immediate},
			Handler: func(_ context.Context, m worker.Message) error {
				mu.Lock()
				defer mu.Unlock()
				body := string(m.Body)
				if body[1] == '2' && !failed[body] {
					failed[body] = true
					return worker.Transient(errors.New("once"))
				}
				order[m.Group] = append(order[m.Group], body)
				return nil
			},
		})
		r.wait(func(all []worker.Event) bool {
			n := 0
			for _, e := range all {
				if e.Outcome == worker.OutcomeDone {
					n++
				}
			}
			return n == 18
		})
		for _, g := range slices.Sorted(maps.Keys(order)) {
			if got := strings.ReplaceAll(strings.Join(order[g], " "), g, "a"); got != strings.Join(want, " ") {
				t.Errorf("group %s was worked on in the order %v", g, order[g])
			}
		}
		r.counts("jobs.fifo", 0, 0, 0)
	})
}
