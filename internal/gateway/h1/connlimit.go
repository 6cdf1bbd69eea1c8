package h1

import (
	"context"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/connlimit"
)

const (
	// restAfter is how long a connection is idle before it releases its buffers.
	restAfter = time.Second
	// fresh is how long a connection keeps its place after it came or sent a complete request.
	fresh = connlimit.MinSilence
	// sample is the number of connections that are compared to find one that has been silent for long.
	sample = connlimit.Sample
)

// DefaultConns returns the default of how many connections a server has at once: 16,384, but at most half of the file
// descriptors that the process may have. The others are for other listeners, workers, stores and logs.
func DefaultConns() int { return connlimit.Share(16<<10, connlimit.Callers) }

// await waits for the first bytes of a request. A connection that stays idle holds no buffers, whatever its earlier
// requests needed.
func (x *Exchange) await() bool {
	x.narrow()
	err := x.fill()
	if err != errRest { //nolint:errorlint // never wrapped
		return err == nil
	}
	x.free()
	x.out, x.vec, x.slots = nil, nil, [3][]byte{}
	x.ConnData, x.Req, x.body = nil, Request{}, Body{}
	x.resting = true
	defer func() { x.resting = false }()
	if x.rest() != nil {
		return false
	}
	x.buf = x.pool.getSmall()
	return x.fill() == nil
}

// mayRest reports whether an idle connection should release its buffers.
func (x *Exchange) mayRest() bool {
	return canRest && !x.resting && x.base != nil && x.srv.cfg.IdleTimeout > restAfter
}

// acquire waits for a place among the connections. While there is none, silent connections are closed.
func (s *Server) acquire(ctx context.Context) error {
	select {
	case s.slots <- struct{}{}:
		return nil
	default:
	}
	again := time.NewTicker(fresh / 8)
	defer again.Stop()
	for {
		s.evictIdle()
		select {
		case s.slots <- struct{}{}:
			return nil
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// evictIdle closes one of the connections that have neither sent a complete request nor wait for an answer.
func (s *Server) evictIdle() {
	if x := s.silent(time.Now().Add(-fresh)); x != nil {
		x.leave.Store(true)
		x.wake()
	}
}

// silent compares a few connections, and returns the one that has been silent for the longest, if it has been silent since
// before.
func (s *Server) silent(before time.Time) *Exchange {
	var found *Exchange
	oldest, left := before.UnixNano(), sample
	s.mu.Lock()
	defer s.mu.Unlock()
	for x := range s.conns { // the iteration begins at a random place
		if x.phase.Load() != phaseBody && !x.leave.Load() {
			if at := x.mark.Load(); at < oldest {
				found, oldest = x, at
			}
		}
		if left--; left == 0 {
			break
		}
	}
	return found
}
