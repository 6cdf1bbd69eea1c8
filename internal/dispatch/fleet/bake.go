package fleet

// Bake sets whether a life must still prove itself. Such a worker gets work like every other one, but it is not taken as
// the lane while the fleet has other places. A death in the lane must say something about the work, so the worker must be
// known to work.
func (f *Fleet) Bake(worker string, epoch uint64, on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w := f.find(worker, epoch); w != nil {
		w.baking = on
	}
}

// Proof returns how many requests a life has answered (below 500, outside the lane), and what speaks against it: its health
// checks fail, even if this is ignored, or it is an outlier; "" for nothing. It also knows the newest life that has ended.
func (f *Fleet) Proof(worker string, epoch uint64) (answered uint64, out string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.slots[worker]
	if s == nil {
		return 0, ""
	}
	if w := s.before; w != nil && w.epoch == epoch {
		return w.answered.Load(), ""
	}
	w := s.life
	switch {
	case w == nil || w.epoch != epoch:
		return 0, ""
	case w.sick != "":
		out = "its health checks fail: " + w.sick
	case w.ejected != nil && !f.panic:
		out = "its answers are worse than those of the others"
	}
	return w.answered.Load(), out
}
