package worker

import (
	"context"
	"sync"
)

// slots are places for messages that run.
type slots struct {
	most int

	mu    sync.Mutex // guards all below
	busy  int
	freed chan struct{} // signalled when busy falls
}

func newSlots(most int) *slots { return &slots{most: most, freed: make(chan struct{}, 1)} }

// wait waits until at least one is free and returns how many are; 0 when ctx
// ends.
func (s *slots) wait(ctx context.Context) int {
	for ctx.Err() == nil {
		s.mu.Lock()
		n := s.most - s.busy
		s.mu.Unlock()
		if n > 0 {
			return n
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
	s.busy += n
	s.mu.Unlock()
}

func (s *slots) give() {
	s.mu.Lock()
	s.busy--
	s.mu.Unlock()
	select {
	case s.freed <- struct{}{}:
	default:
	}
}

// running is how many messages run.
func (s *slots) running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy
}
