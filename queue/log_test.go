package queue_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/queue"
)

// asking is a log that asks the engine how it is, on a goroutine of its own, and
// waits for the answer: an engine that logs while it holds its lock never gives
// one.
type asking struct {
	t      *testing.T
	engine *queue.Engine

	mu   sync.Mutex // guards said
	said []string
}

func (a *asking) Enabled(context.Context, slog.Level) bool { return true }
func (a *asking) WithAttrs([]slog.Attr) slog.Handler       { return a }
func (a *asking) WithGroup(string) slog.Handler            { return a }

func (a *asking) Handle(_ context.Context, r slog.Record) error {
	a.mu.Lock()
	a.said = append(a.said, r.Message)
	a.mu.Unlock()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		a.engine.Conditions(context.Background())
	}()
	select {
	case <-answered:
	case <-time.After(10 * time.Second):
		a.t.Errorf("the engine holds its lock while it logs %q", r.Message)
	}
	return nil
}

// garbled is a shared store with marks that cannot be read.
type garbled struct{ distant }

func (g *garbled) Marks(_ context.Context, prefix string) ([]queue.Mark, error) {
	return []queue.Mark{{Key: prefix + "jobs", Version: 9, Doc: []byte("{")}}, nil
}

// Whatever the engine logs about pauses and breakers it logs when others can go
// on: a log may block, and may ask.
func TestNothingIsLoggedUnderTheLock(t *testing.T) {
	release := func(failure string) func(t *testing.T, e *queue.Engine) {
		return func(t *testing.T, e *queue.Engine) {
			for i := range 10 {
				if _, err := e.Send(t.Context(), "jobs", queue.SendInput{Body: fmt.Appendf(nil, "a body like no other: %d", i)}); err != nil {
					t.Fatal(err)
				}
			}
			messages, err := e.Receive(t.Context(), "jobs", queue.ReceiveInput{Max: 10, Worker: "w"})
			if err != nil || len(messages) != 10 {
				t.Fatalf("%d messages, %v", len(messages), err)
			}
			for _, m := range messages {
				o := &queue.Outcome{Class: bezoar.Transient, Failure: failure}
				if failure == "" {
					o.Failure = m.ID // no two alike
				}
				if err := e.Release(t.Context(), "jobs", queue.ReleaseInput{Receipt: m.Receipt, Outcome: o}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, tc := range []struct {
		name  string
		store func(queue.Store) queue.Store
		do    func(t *testing.T, e *queue.Engine)
		says  string
	}{
		{"a pause", nil, release("connection refused"), "queue paused"},
		{"a breaker", nil, release(""), "breaker opened"},
		{"a mark that cannot be read", func(s queue.Store) queue.Store { return &garbled{distant{Store: s}} }, func(t *testing.T, e *queue.Engine) {
			e.Conditions(t.Context())
		}, "queue upkeep fails"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			log, store := &asking{t: t}, memoryStore(t)
			if tc.store != nil {
				store = tc.store(store)
			}
			log.engine = engine(t, queue.Config{Log: slog.New(log)}, store)
			s := queue.DefaultSettings()
			s.Downstream = "db"
			if _, err := log.engine.CreateQueue(t.Context(), "jobs", s, nil); err != nil {
				t.Fatal(err)
			}
			tc.do(t, log.engine)
			log.mu.Lock()
			defer log.mu.Unlock()
			if all := strings.Join(log.said, "\n"); !strings.Contains(all, tc.says) {
				t.Errorf("the log says %q, want something about %q", all, tc.says)
			}
		})
	}
}
