package worker_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/worker"
)

// taken is a Source of one message, which it takes back while that runs.
type taken struct {
	lost chan struct{}

	mu      sync.Mutex // guards all below
	given   bool
	calls   []string // that tell how it ended
	dropped chan string
}

func (s *taken) Open(context.Context) (worker.About, error) {
	return worker.About{Queue: "jobs", Batch: 1, DeadLetter: "dead"}, nil
}

func (s *taken) Receive(ctx context.Context, in worker.Receive) ([]worker.Message, error) {
	s.mu.Lock()
	first := !s.given
	s.given = true
	s.mu.Unlock()
	if first {
		return []worker.Message{{ID: "m", Body: []byte("body"), Receives: 1, Lost: s.lost}}, nil
	}
	select {
	case <-ctx.Done():
	case <-time.After(in.Wait):
	}
	return nil, nil
}

func (s *taken) called(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, name)
	return nil
}

func (s *taken) Extend(context.Context, worker.Message, time.Duration) error { return nil }
func (s *taken) Done(context.Context, worker.Message) error                  { return s.called("done") }

func (s *taken) Release(context.Context, worker.Message, worker.Release) error {
	return s.called("release")
}

func (s *taken) SetAside(context.Context, worker.Message, worker.Letter) error {
	return s.called("set aside")
}

func (s *taken) Dropped(m worker.Message) { s.dropped <- m.ID }

// What a source takes back is stopped at once, long before its lease ends; nothing is
// reported of it, and the source hears when it has stopped.
func TestASourceTakesAMessageBack(t *testing.T) {
	t.Parallel()
	s := &taken{lost: make(chan struct{}), dropped: make(chan string, 2)}
	running, stopped := make(chan struct{}), make(chan struct{})
	events := make(chan worker.Event, 10)
	w, err := worker.New(worker.Config{
		Source: s, Visibility: time.Hour, Observe: func(e worker.Event) { events <- e },
		Handler: func(ctx context.Context, _ worker.Message) error {
			close(running)
			<-ctx.Done()
			close(stopped)
			return ctx.Err()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	<-running
	close(s.lost)
	if e := <-events; e.Outcome != worker.OutcomeLost || e.ID != "m" {
		t.Errorf("%+v, want that it was lost", e)
	}
	select {
	case <-stopped:
	default:
		t.Error("it was reported before it had stopped")
	}
	if id := <-s.dropped; id != "m" {
		t.Errorf("%s was dropped", id)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if len(s.calls) > 0 || len(s.dropped) > 0 {
		t.Errorf("the source was told %v, and %d more were dropped", s.calls, len(s.dropped))
	}
}
