package supervise

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// replaced is the reason in the end of a replaced process.
const replaced = "replaced by a new process"

// Restart replaces the workers one at a time. The successor starts; when it is ready, the old process gets no new work and
// finishes the work it has. The old process is stopped when the successor has passed its [Bake]; if the successor fails,
// the old process takes its place back.
//
// A successor that does not become ready ends the restart. So do successors that do not pass, by the rule in the package
// comment. Their worker and all later ones keep their processes. Workers that are added meanwhile begin with the new
// settings, or with Bake as before; removed ones are skipped. Restart waits for a [Supervisor.Replace] in progress.
func (s *Supervisor) Restart(ctx context.Context) (err error) {
	if !s.begun() {
		return fmt.Errorf("restart fleet %s: %w", s.name, ErrNotRunning)
	}
	if !s.rolling.CompareAndSwap(false, true) {
		return fmt.Errorf("restart fleet %s: %w", s.name, ErrRestarting)
	}
	defer s.rolling.Store(false)
	slots := s.places()
	r := newRollout(int(s.rollouts.Add(1)), len(slots), s.cfg.Load())
	s.roll.Store(r)
	defer func() { r.end(err) }()
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return fmt.Errorf("restart fleet %s: %w: %w", s.name, ErrReplacing, ctx.Err())
	}
	s.distrusted.Store(false)
	s.log.Info("rolling restart", "workers", len(slots))
	if err := s.replaceAll(ctx, slots, r); err != nil {
		return err
	}
	// Processes that died meanwhile were started with the earlier settings.
	now := s.cfg.Load()
	slots = slices.DeleteFunc(s.places(), func(w *slot) bool { return !now.Bake.on() || !w.outdated() })
	if len(slots) > 0 {
		r.again(len(slots))
		if err := s.replaceAll(ctx, slots, r); err != nil {
			return err
		}
	}
	if !s.Outdated() {
		s.trust(s.cfg.Load())
	}
	s.log.Info("rolling restart done", "workers", r.snapshot().Replaced)
	return nil
}

// replaceAll replaces workers one at a time.
func (s *Supervisor) replaceAll(ctx context.Context, slots []*slot, r *rollout) error {
	for _, w := range slots {
		r.place(w.name)
		err := s.renew(ctx, w, r)
		if errors.Is(err, errLeft) {
			continue
		}
		if err != nil {
			st := r.snapshot()
			return fmt.Errorf("restart fleet %s: stopped at worker %s, %d of %d replaced: %w",
				s.name, w.name, st.Replaced, st.Workers, err)
		}
		r.replaced()
	}
	return nil
}

// renew replaces one worker, with as many tries as r allows.
func (s *Supervisor) renew(ctx context.Context, w *slot, r *rollout) error {
	for {
		r.begin()
		err := w.replaceBy(ctx, replaced, r)
		var f *failure
		switch {
		case errors.Is(err, errSuperseded):
			if r.aim(s.cfg.Load()); !w.outdated() {
				return nil // its process has these settings again
			}
			continue
		case !errors.As(err, &f):
			return err
		}
		r.fail(f)
		if why := r.verdict(ctx); why != "" {
			s.distrusted.Store(true)
			return fmt.Errorf("%s; last, %w", why, err)
		}
		s.log.Warn("a new process did not prove itself: trying another", "worker", w.name, "why", f)
	}
}

// Replace replaces one worker as [Supervisor.Restart] does, and adds why to the end of the old process. It returns an error
// if another replacement or restart is in progress; the caller may try again. When ctx ends, a replacement that has begun
// continues without it.
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
		return ErrRestarting // it may be waiting for its turn
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	default:
		return ErrReplacing
	}
	s.log.Info("worker is being replaced", "worker", w.name, "why", why)
	return w.replaceBy(ctx, replaced+": "+why, nil)
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
