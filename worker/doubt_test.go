package worker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/worker"
)

// A command that fails before it reads its message, before anything has worked,
// fails of itself: the worker stops, and gives everything back.
func TestACommandThatNeverReads(t *testing.T) {
	for _, n := range []int{1, 4} {
		eachSource(t, func(t *testing.T, r *rig, kind string) {
			r.create("jobs", func(s *queue.Settings) { s.Quarantine.Off = kind == "foreign" })
			for i := range n {
				r.send("jobs", fmt.Sprintf("an innocent message, number %d", i))
			}
			w, err := worker.New(worker.Config{
				Source: r.source(kind, "jobs"), Command: shell(`echo "cannot open nosuch.py" >&2; exit 2`),
				Retry: backoff.Config{Strategy: backoff.Immediate}, State: t.TempDir(), Visibility: worker.MinVisibility,
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			err = w.Run(ctx)
			if _, ok := errors.AsType[*worker.CommandError](err); !ok || !strings.Contains(err.Error(), "cannot open nosuch.py") {
				t.Errorf("the worker ended with %v", err)
			}
			r.counts("jobs", int64(n), 0, 0)
			for _, m := range r.messages("jobs") {
				if kind != "foreign" && m.Receives != 0 {
					t.Errorf("%s has %d receives", m.Body, m.Receives)
				}
			}
		})
	}
}

// One that has worked is believed, whether it reads or not.
func TestACommandThatNeverReadsAndWorks(t *testing.T) {
	eachSource(t, func(t *testing.T, r *rig, kind string) {
		r.create("jobs", func(s *queue.Settings) { s.Quarantine.Off = kind == "foreign" })
		r.create("dead", nil)
		for _, to := range []string{"works", "fails"} {
			in := queue.SendInput{Body: []byte("a message that " + to), Attributes: map[string]queue.Attribute{"Do": {DataType: "String", String: to}}}
			if _, err := r.engine.Send(t.Context(), "jobs", in); err != nil {
				t.Fatal(err)
			}
		}
		source := r.source(kind, "jobs")
		if s, ok := source.(*worker.SQSQueue); ok && kind == "foreign" {
			s.DeadLetter = r.foreign + "dead"
		}
		r.start(worker.Config{
			Source: source, Concurrency: 1, Retry: backoff.Config{Strategy: backoff.Immediate},
			Command: shell(`[ "$BEZOAR_ATTRIBUTE_DO" = works ] || { echo "Traceback (most recent call last):
  File \"/app/handler.py\", line 7, in work
    x = y['price']
KeyError: 'price'" >&2; exit 1; }`),
		})
		r.counts("jobs", 0, 0, 0)
		dead := "jobs-dlq"
		if kind == "foreign" {
			dead = "dead"
		}
		r.counts(dead, 1, 0, 0)
	})
}

// Whoever waits for messages learns that a pause holds them back.
func TestAPauseIsAnnounced(t *testing.T) {
	eachSource(t, func(t *testing.T, r *rig, kind string) {
		r.create("jobs", func(s *queue.Settings) { s.Quarantine.Off = kind == "foreign" })
		for i := range 8 {
			r.send("jobs", fmt.Sprintf("a message that fails as all others do, number %d", i))
		}
		log := &said{more: make(chan struct{}, 1)}
		w, err := worker.New(worker.Config{
			Source: r.source(kind, "jobs"), Visibility: worker.MinVisibility, Retry: backoff.Config{Strategy: backoff.Immediate},
			Handler: func(context.Context, worker.Message) error {
				return &worker.Error{Class: bezoar.Bug, Failure: "the database is gone", Err: errors.New("gone")}
			},
			Log: slog.New(slog.NewTextHandler(log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		defer func() { cancel(); <-ended }()
		log.waitFor(t, "no messages are received for now")
		if why := w.Held(t.Context()); !strings.Contains(why, "distinct") {
			t.Errorf("it is held back because %q", why)
		}
	})
}

// said is a log.
type said struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{}
}

func (l *said) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.more <- struct{}{}:
	default:
	}
	return l.text.Write(b)
}

func (l *said) waitFor(t *testing.T, what string) {
	t.Helper()
	over := time.After(patience)
	for {
		l.mu.Lock()
		text := l.text.String()
		l.mu.Unlock()
		if strings.Contains(text, what) {
			return
		}
		select {
		case <-l.more:
		case <-over:
			t.Fatalf("%q was not said: %s", what, text)
		}
	}
}
