package worker

import (
	"context"
	"sync"
	"time"
)

// slots are places for messages that run. While messages are small, some more may
// be there, at the door.
type slots struct {
	most int
	run  chan struct{} // a token for each message that runs

	mu    sync.Mutex    // guards all below
	held  int           // messages that run, or wait for a place
	freed chan struct{} // signalled when held falls
}

func newSlots(most int) *slots {
	return &slots{most: most, run: make(chan struct{}, most), freed: make(chan struct{}, 1)}
}

// wait waits until there is room, with so many at the door, and returns for how
// many messages; 0 when ctx ends. It does not ask for one at a time where half of
// the door is free in a moment.
func (s *slots) wait(ctx context.Context, ahead int) int {
	for ctx.Err() == nil {
		s.mu.Lock()
		held := s.held
		s.mu.Unlock()
		if held < s.most || ahead > 0 && held <= s.most+ahead/2 {
			return s.most + ahead - held
		}
		select {
		case <-s.freed:
		case <-ctx.Done():
		}
	}
	return 0
}

func (s *slots) take(n int) {
	s.mu.Lock()
	s.held += n
	s.mu.Unlock()
}

func (s *slots) give() {
	s.mu.Lock()
	s.held--
	s.mu.Unlock()
	select {
	case s.freed <- struct{}{}:
	default:
	}
}

// running is how many messages are here.
func (s *slots) running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// begin waits for a place to run in; false when the message should not wait any
// longer.
func (s *slots) begin(ctx context.Context) bool {
	select {
	case s.run <- struct{}{}:
		return true
	default:
	}
	select {
	case s.run <- struct{}{}:
		return true
	case <-ctx.Done():
	case <-time.After(doorPatience):
	}
	return false
}

func (s *slots) end() { <-s.run }

// doorPatience is how long a message waits for a place. It is long only when
// those that run are suddenly no small ones any more.
const doorPatience = time.Second
