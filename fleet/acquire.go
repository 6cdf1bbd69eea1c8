package fleet

import (
	"context"
	"time"
)

// Want narrows [Fleet.Acquire].
type Want struct {
	Avoid  string // prefer any other worker than this one
	Canary bool   // prefer the canaries: the first eighth of the fleet
	Caller uint64 // keyed hash of who asks; 0 means unknown, who has the whole fleet
	Hand   int    // how many workers the caller may use; 0 means all, of its cell
	Cells  int    // into how many fixed cells the fleet is cut; 0 and 1 mean none
	Spill  Spill  // when the caller may use others
}

// scanUpTo is the fleet size up to which all workers are compared; above it
// two at random are (Mitzenmacher, "The Power of Two Choices", 2001).
const scanUpTo = 16

// TryAcquire hands out a worker if one is free and nobody waits. The caller
// owes [Fleet.Release].
func (f *Fleet) TryAcquire(want Want) *Worker {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.waiting) > 0 || len(f.free) == 0 {
		return nil
	}
	return f.take(want)
}

// Acquire hands out a worker, waiting for one until ctx ends. The caller owes
// [Fleet.Release].
func (f *Fleet) Acquire(ctx context.Context, want Want) (*Worker, error) {
	if w := f.TryAcquire(want); w != nil {
		return w, nil
	}
	f.mu.Lock()
	if len(f.waiting) >= f.cfg.MaxWaiting {
		f.mu.Unlock()
		return nil, ErrBusy
	}
	wt := &waiter{got: make(chan *Worker, 1), want: want, queued: true}
	f.waiting = append(f.waiting, wt)
	f.serve()
	f.mu.Unlock()
	select {
	case w := <-wt.got:
		return w, nil
	case <-ctx.Done():
	}
	f.mu.Lock()
	if wt.queued {
		for i, o := range f.waiting {
			if o == wt {
				f.waiting = append(f.waiting[:i], f.waiting[i+1:]...)
				break
			}
		}
		f.mu.Unlock()
		return nil, ErrNoWorker
	}
	f.mu.Unlock()
	f.Release(<-wt.got) // it came in the same moment
	return nil, ErrNoWorker
}

// take picks from free, which is not empty. mu is held.
func (f *Fleet) take(want Want) *Worker {
	var w *Worker
	if want.Canary {
		w = f.canary()
	}
	if w == nil {
		w = f.leastLoaded(want.Avoid)
	}
	w.inFlight++
	if f.full(w) {
		f.withdraw(w)
	}
	return w
}

func (f *Fleet) leastLoaded(avoid string) *Worker {
	n := len(f.free)
	if n == 1 {
		return f.free[0]
	}
	if n > scanUpTo {
		i, j := f.rand.IntN(n), f.rand.IntN(n-1)
		if j >= i {
			j++
		}
		a, b := f.free[i], f.free[j]
		if a.name == avoid || b.name != avoid && b.inFlight < a.inFlight {
			return b
		}
		return a
	}
	// Start at random, so that ties do not all fall on the first.
	start := f.rand.IntN(n)
	var best *Worker
	for k := range n {
		w := f.free[(start+k)%n]
		if w.name != avoid && (best == nil || w.inFlight < best.inFlight) {
			best = w
		}
	}
	return best
}

// canary returns the least loaded worker of the first eighth of the fleet, or
// nil when none of them is free or the fleet is too small to set any apart.
func (f *Fleet) canary() *Worker {
	if len(f.slots) < 3 {
		return nil
	}
	var best *Worker
	for _, name := range f.order[:(len(f.order)+7)/8] {
		w := f.slots[name].life
		if w == nil || w.state != Serving || f.full(w) {
			continue
		}
		if best == nil || w.inFlight < best.inFlight {
			best = w
		}
	}
	return best
}

// Release gives back a worker that Acquire handed out.
func (f *Fleet) Release(w *Worker) {
	w.served.Add(1)
	f.mu.Lock()
	w.inFlight--
	if w.inFlight == 0 {
		w.wakeIdle()
	}
	if f.cfg.MaxInFlight > 0 && w.state == Serving {
		f.offer(w)
	}
	f.mu.Unlock()
}

// drainPatience is how long Reserve waits for one worker to run empty before
// it looks for a less busy one.
const drainPatience = time.Second

// Reserve sets one worker apart as the lane and returns it once nothing is in
// flight on it. It takes the least busy one, and only when another worker
// serves besides, unless the fleet has a single place. It waits until ctx ends.
// The caller owes [Fleet.Unreserve].
func (f *Fleet) Reserve(ctx context.Context) (*Worker, error) {
	var tick *time.Timer
	for settled := true; ; settled = false {
		w, idle := f.reserve(settled)
		if w != nil && idle == nil {
			return w, nil
		}
		wait := 5 * time.Millisecond // nobody to reserve: look again soon
		if w != nil {
			wait = drainPatience
			if settled {
				wait = settledPatience
			}
		}
		if tick == nil {
			tick = time.NewTimer(wait)
			defer tick.Stop()
		} else {
			tick.Reset(wait)
		}
		select {
		case <-ctx.Done():
			if w != nil {
				f.Unreserve(w)
			}
			return nil, ErrNoWorker
		case <-idle:
			if _, ended := w.End(); !ended && f.isIdle(w) {
				return w, nil
			}
		case <-tick.C:
		}
		if w != nil {
			f.Unreserve(w)
		}
	}
}

func (f *Fleet) isIdle(w *Worker) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return w.state == Lane && w.inFlight == 0
}

// reserve marks the worker that suits best as the lane. The channel is nil when
// it is idle already.
func (f *Fleet) reserve(settled bool) (*Worker, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lane != nil {
		return nil, nil
	}
	best, serving := f.reservable(settled)
	if best == nil || serving < 2 && len(f.slots) > 1 {
		return nil, nil
	}
	f.withdraw(best)
	best.state, f.lane = Lane, best
	if best.inFlight == 0 {
		return best, nil
	}
	return best, best.waitIdle()
}

// What makes a younger life fit for the lane.
const (
	settledAfter    = 8 // deliveries that it has survived
	settledExtra    = 2 // in flight beyond the least busy worker
	settledPatience = drainPatience / 4
)

// reservable returns the least busy worker and how many serve. Among equals the
// oldest life wins: it is the build that is known to work. If settled, a younger
// life that has shown that it works comes first: a deploy takes down the old
// ones one after another, and would find innocents in the lane. mu is held.
func (f *Fleet) reservable(settled bool) (best *Worker, serving int) {
	for _, name := range f.order {
		w := f.slots[name].life
		if w == nil || w.state != Serving {
			continue
		}
		serving++
		if best == nil || w.inFlight < best.inFlight || w.inFlight == best.inFlight && w.epoch < best.epoch {
			best = w
		}
	}
	if best == nil || !settled {
		return best, serving
	}
	most := best.inFlight + settledExtra
	for _, name := range f.order {
		w := f.slots[name].life
		if w != nil && w.state == Serving && w.inFlight <= most && w.epoch > best.epoch && w.served.Load() >= settledAfter {
			best = w
		}
	}
	return best, serving
}

// Unreserve returns the lane's worker to the fleet.
func (f *Fleet) Unreserve(w *Worker) {
	f.mu.Lock()
	if f.lane == w {
		f.lane = nil
		w.state = Serving
		if w.leaving {
			w.state = Draining
		}
		f.offer(w)
	}
	f.mu.Unlock()
	f.changed()
}

// Leaving reports whether the lane's worker has been told to drain: it should
// be given back soon.
func (f *Fleet) Leaving(w *Worker) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return w.leaving
}

// Enter counts work in flight on the lane's worker. The caller owes Release.
func (f *Fleet) Enter(w *Worker) {
	f.mu.Lock()
	w.inFlight++
	f.mu.Unlock()
}

// endPatience bounds the wait for a Down that a keeper says has been called.
const endPatience = 2 * time.Second

// Settle asks the keeper what became of w and returns once it is known. Callers
// with the same doubt at the same time share one look.
func (f *Fleet) Settle(ctx context.Context, w *Worker, doubt Doubt) Health {
	f.mu.Lock()
	k := f.keeper
	c := w.check
	if c != nil && c.doubt == doubt {
		f.mu.Unlock()
		select {
		case <-c.done:
			return c.health
		case <-w.ended:
			return Gone
		}
	}
	if _, ended := w.End(); ended || k == nil {
		f.mu.Unlock()
		if ended {
			return Gone
		}
		return Alive
	}
	c = &check{doubt: doubt, done: make(chan struct{})}
	w.check = c
	f.mu.Unlock()

	c.health = k.Check(context.WithoutCancel(ctx), w.name, w.epoch, doubt)
	if c.health == Gone {
		// Down may be under way in another goroutine: its judgement counts.
		timer := time.NewTimer(endPatience)
		defer timer.Stop()
		select {
		case <-w.ended:
		case <-timer.C:
		}
	} else if _, ended := w.End(); ended {
		c.health = Gone
	}
	f.mu.Lock()
	if w.check == c {
		w.check = nil
	}
	f.mu.Unlock()
	close(c.done)
	return c.health
}

// Kill ends w's life because it hangs, and waits until it has ended.
func (f *Fleet) Kill(ctx context.Context, w *Worker, why string) {
	f.mu.Lock()
	k := f.keeper
	f.mu.Unlock()
	if k == nil {
		return
	}
	k.Kill(w.name, w.epoch, why)
	select {
	case <-w.ended:
	case <-ctx.Done():
	}
}
