package startlog

import "sync"

// syncer lets callers that come together share one sync of the file. Each waits for a sync that began after its own write.
type syncer struct {
	sync func() error

	mu       sync.Mutex // guards all below; never held during sync
	begun    uint64
	finished uint64
	running  bool
	turn     *sync.Cond
	failed   error // of the last sync
}

func (s *syncer) wait() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == nil {
		s.turn = sync.NewCond(&s.mu)
	}
	for mine := s.begun + 1; s.finished < mine; {
		if s.running {
			s.turn.Wait()
			continue
		}
		s.running = true
		s.begun++
		n := s.begun
		s.mu.Unlock()
		err := s.sync()
		s.mu.Lock()
		s.running, s.finished = false, n
		if err != nil {
			s.failed = err // after one error the disk may have lost data, so it is never retried
		}
		s.turn.Broadcast()
	}
	return s.failed
}
