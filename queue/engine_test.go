package queue_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar/internal/store/memory"
	"github.com/bezoar-dev/bezoar/queue"
)

// The engine's rules as callers see them are tested with every store, in
// queue/queuetest. Here is what needs no store, or a faulty one.

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func memoryStore(t testing.TB) queue.Store {
	t.Helper()
	db, err := memory.Open(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return db.Queue()
}

func engine(t testing.TB, c queue.Config, s queue.Store) *queue.Engine {
	t.Helper()
	e, err := queue.New(c, s)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestConfigNamesEveryFault(t *testing.T) {
	_, err := queue.New(queue.Config{SweepEvery: -1, ExpireEvery: time.Hour, PollEvery: -1}, memoryStore(t))
	if err == nil {
		t.Fatal("accepted")
	}
	for _, field := range []string{"SweepEvery", "ExpireEvery", "PollEvery"} {
		if !strings.Contains(err.Error(), field+" is ") {
			t.Errorf("%q does not name %s", err, field)
		}
	}
}

func TestSettingsNameEveryFault(t *testing.T) {
	err := queue.Settings{
		Visibility: -1, Delay: time.Hour, Wait: time.Hour, ContentDedup: true, DeadLetter: queue.DeadLetter{MaxReceives: 2000},
		Allow: queue.Allow{Mode: "some"}, Extra: map[string]string{"a": strings.Repeat("x", 1<<17)},
	}.Validate()
	if !errors.Is(err, queue.ErrInvalid) {
		t.Fatalf("Validate = %v", err)
	}
	for _, field := range []string{"Visibility", "Delay", "Wait", "Retention", "MaxBytes", "ContentDedup", "DeadLetter.Queue", "DeadLetter.MaxReceives", "Allow.Mode", "Extra"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("%q does not name %s", err, field)
		}
	}
}

// shared is a store whose other users' changes come late, and which fails now
// and then.
type shared struct {
	queue.Store
	fail chan error
}

func (shared) Shared() bool { return true }

func (s shared) Sweep(ctx context.Context, limit int) (queue.Swept, error) {
	select {
	case err := <-s.fail:
		return queue.Swept{}, err
	default:
		return s.Store.Sweep(ctx, limit)
	}
}

func TestOtherProcessesAreHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shared{Store: memoryStore(t)}
		here, there := engine(t, queue.Config{}, s), engine(t, queue.Config{}, s)
		if _, err := here.CreateQueue(t.Context(), "jobs", queue.DefaultSettings(), nil); err != nil {
			t.Fatal(err)
		}
		received := make(chan []queue.Message)
		go func() {
			m, err := here.Receive(t.Context(), "jobs", queue.ReceiveInput{Wait: new(queue.MaxWait)})
			if err != nil {
				t.Error(err)
			}
			received <- m
		}()
		synctest.Wait()
		began := time.Now()
		if _, err := there.Send(t.Context(), "jobs", queue.SendInput{Body: []byte("a")}); err != nil {
			t.Fatal(err)
		}
		if m := <-received; len(m) != 1 || time.Since(began) > 250*time.Millisecond {
			t.Errorf("received %v after %v, want the message within the poll", m, time.Since(began))
		}
		// Deleted and made anew there: the old id is of no use here.
		if err := there.DeleteQueue(t.Context(), "jobs"); err != nil {
			t.Fatal(err)
		}
		if _, err := there.CreateQueue(t.Context(), "jobs", queue.DefaultSettings(), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := here.Send(t.Context(), "jobs", queue.SendInput{Body: []byte("b")}); err != nil {
			t.Error(err)
		}
		if _, err := there.SetSettings(t.Context(), "jobs", func(s *queue.Settings) error { s.Delay = time.Minute; return nil }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if q, err := here.Queue(t.Context(), "jobs"); err != nil || q.Settings.Delay != time.Minute {
			t.Errorf("a second later the settings are %+v, %v", q.Settings, err)
		}
	})
}

func TestUpkeepSurvivesAFaultyStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shared{Store: memoryStore(t), fail: make(chan error, 3)}
		for range cap(s.fail) {
			s.fail <- errors.New("the disk is gone")
		}
		e := engine(t, queue.Config{}, s)
		set := queue.DefaultSettings()
		if _, err := e.CreateQueue(t.Context(), "dead", set, nil); err != nil {
			t.Fatal(err)
		}
		set.DeadLetter = queue.DeadLetter{Queue: "dead", MaxReceives: 1}
		if _, err := e.CreateQueue(t.Context(), "jobs", set, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Send(t.Context(), "jobs", queue.SendInput{Body: []byte("a")}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Receive(t.Context(), "jobs", queue.ReceiveInput{Visibility: new(time.Second)}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- e.Run(ctx) }()
		time.Sleep(10 * time.Second)
		if c, err := e.Counts(t.Context(), "dead"); err != nil || c.Visible != 1 {
			t.Errorf("after the faults: %+v, %v", c, err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run = %v", err)
		}
	})
}
