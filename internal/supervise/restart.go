package supervise

import (
	"context"
	"errors"
	"fmt"
)

// replaced is the end of a process in whose place another was put.
const replaced = "replaced by a new process"

// Restart replaces the workers one at a time: the successor starts, and when it
// is ready the old process gets no new work, finishes what it has, and is
// stopped. A successor that does not get ready ends the restart; its worker and
// all that follow keep the process that they have. Places that come meanwhile begin
// with what is new; those that go are passed over. A [Supervisor.Replace] that is
// under way is waited for.
func (s *Supervisor) Restart(ctx context.Context) error {
	if !s.begun() {
		return fmt.Errorf("restart fleet %s: %w", s.name, ErrNotRunning)
	}
	if !s.rolling.CompareAndSwap(false, true) {
		return fmt.Errorf("restart fleet %s: %w", s.name, ErrRestarting)
	}
	defer s.rolling.Store(false)
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return fmt.Errorf("restart fleet %s: %w: %w", s.name, ErrReplacing, ctx.Err())
	}
	slots := s.places()
	s.log.Info("rolling restart", "workers", len(slots))
	for i, w := range slots {
		if err := w.replaceBy(ctx, replaced); err != nil && !errors.Is(err, errLeft) {
			return fmt.Errorf("restart fleet %s: stopped at worker %s, %d of %d replaced: %w",
				s.name, w.name, i, len(slots), err)
		}
	}
	s.log.Info("rolling restart done", "workers", len(slots))
	return nil
}

// Replace replaces one worker as [Supervisor.Restart] does each, and says why in
// the end of the old process. It begins while no other is being replaced, one or
// all; else the caller may ask again. When ctx ends, what has begun goes on
// without it.
func (s *Supervisor) Replace(ctx context.Context, worker, why string) error {
	if err := s.replace(ctx, worker, why); err != nil {
		return fmt.Errorf("replace worker %s: %w", worker, err)
	}
	return nil
}

func (s *Supervisor) replace(ctx context.Context, worker, why string) error {
	if !s.begun() {
		return ErrNotRunning
	}
	w := s.find(worker)
	if w == nil {
		return ErrNoWorker
	}
	if s.rolling.Load() {
		return ErrRestarting // it may wait for its turn
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	default:
		return ErrReplacing
	}
	s.log.Info("worker is being replaced", "worker", w.name, "why", why)
	return w.replaceBy(ctx, replaced+": "+why)
}

// begun reports whether Run has been called.
func (s *Supervisor) begun() bool {
	select {
	case <-s.running:
		return true
	default:
		return false
	}
}
