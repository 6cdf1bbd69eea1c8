package queue_test

import (
	"context"
	"errors"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/store/memory"
	"github.com/bezoar-dev/bezoar/queue"
)

// hangUp is a store whose caller goes away in the middle of a claim.
type hangUp struct {
	queue.Store
	cancel context.CancelFunc
}

func (s *hangUp) Receive(ctx context.Context, id int64, c queue.Claim) (queue.Claimed, error) {
	claimed, err := s.Store.Receive(ctx, id, c)
	if s.cancel != nil {
		s.cancel()
	}
	return claimed, err
}

func TestNothingIsLeasedToCallersWhoAreGone(t *testing.T) {
	db, err := memory.Open(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := &hangUp{Store: db.Queue()}
	e, err := queue.New(queue.Config{}, s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.CreateQueue(t.Context(), "jobs", queue.DefaultSettings(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Send(t.Context(), "jobs", queue.SendInput{Body: []byte("a message of some length")}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.cancel = cancel
	if m, err := e.Receive(ctx, "jobs", queue.ReceiveInput{}); !errors.Is(err, context.Canceled) || len(m) > 0 {
		t.Fatalf("received %v, %v", m, err)
	}
	s.cancel = nil
	m, err := e.Receive(t.Context(), "jobs", queue.ReceiveInput{})
	if err != nil || len(m) != 1 || m[0].Receives != 1 {
		t.Fatalf("received %+v, %v; want the message for the first time", m, err)
	}
}
