package fleet

import (
	"context"
	"slices"
)

// Retire gives a life no new work, for good, and frees its place for another life. Its work in flight goes on in parallel,
// until Down. It returns false if the life does not hold its place.
func (f *Fleet) Retire(worker string, epoch uint64) bool {
	f.mu.Lock()
	s := f.slots[worker]
	if s == nil || s.life == nil || s.life.epoch != epoch {
		f.mu.Unlock()
		return false
	}
	w := s.life
	s.life, s.retired = nil, append(s.retired, w)
	w.leaving = true
	if w.state == Serving {
		w.state = Draining
	}
	f.settled(w)
	f.unlock()
	f.changed()
	return true
}

// Retired waits until nothing is in flight on a life, or it has ended.
func (f *Fleet) Retired(ctx context.Context, worker string, epoch uint64) error {
	f.mu.Lock()
	return f.waitFor(ctx, worker, f.find(worker, epoch))
}

// take takes the life with the epoch out of its place; nil if it is not there. present reports that it held the place and
// was not retired. The caller holds mu.
func (s *slot) take(epoch uint64) (w *Worker, present bool) {
	if s.life != nil && s.life.epoch == epoch {
		w, s.life = s.life, nil
		return w, true
	}
	if i := slices.IndexFunc(s.retired, func(w *Worker) bool { return w.epoch == epoch }); i >= 0 {
		w = s.retired[i]
		s.retired = slices.Delete(s.retired, i, i+1)
	}
	return w, false
}
