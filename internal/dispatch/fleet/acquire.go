package fleet

import (
	"context"
	"slices"
	"time"
)

// Want narrows [Fleet.Acquire].
type Want struct {
	Avoid    string   // prefer any other worker than this one
	Canary   bool     // prefer the canaries: the first eighth of the fleet
	Caller   uint64   // keyed hash of who asks; 0 means unknown, who has the whole fleet
	Shard    int      // how many workers the caller may use; 0 means all, of its cell
	Cells    int      // into how many fixed cells the fleet is cut; 0 and 1 mean none
	Overflow Overflow // when the caller may use others
	// Gone is asked every second of a wait in Acquire whether to wait no longer;
	// nil: nobody is.
	Gone func() bool
}

// goneEvery is how often Want.Gone is asked.
const goneEvery = time.Second

// waiter is one call of Acquire that waits.
type waiter struct {
	got        chan *Worker // buffered, one worker
	want       Want
	shard      []int // places; nil means the whole fleet
	generation int32 // when shard was computed
	queued     bool
}

// mayOverflow reports whether a worker outside the shard may do.
func (wt *waiter) mayOverflow() bool { return wt.shard == nil || wt.want.Overflow != OverflowNever }

// TryAcquire hands out a worker if one is free. The caller owes
// [Fleet.Release]. It overtakes nobody: a free worker is one for which nobody
// waits.
func (f *Fleet) TryAcquire(want Want) *Worker { return f.try(&want) }

func (f *Fleet) try(want *Want) *Worker {
	f.mu.Lock()
	var members []int
	if want.Caller != 0 {
		members = f.shardOf(want)
	}
	w := f.pick(want, members)
	if w != nil {
		f.grant(w)
	}
	f.mu.Unlock()
	return w
}

// Acquire hands out a worker, waiting for one until ctx ends or nobody wants it any
// more. The caller owes
// [Fleet.Release].
func (f *Fleet) Acquire(ctx context.Context, want Want) (*Worker, error) {
	if w := f.try(&want); w != nil {
		return w, nil
	}
	f.mu.Lock()
	wt := &waiter{got: make(chan *Worker, 1), want: want, queued: true}
	if !f.enqueue(wt) {
		f.mu.Unlock()
		return nil, ErrBusy
	}
	f.serve(nil)
	f.mu.Unlock()
	if w := wt.wait(ctx); w != nil {
		return w, nil
	}
	f.mu.Lock()
	if wt.queued {
		f.dequeue(slices.Index(f.waiting, wt))
		f.mu.Unlock()
		return nil, ErrNoWorker
	}
	f.mu.Unlock()
	f.Release(<-wt.got) // it came in the same moment
	return nil, ErrNoWorker
}

// wait returns the worker that came, nil if ctx ended or nobody wants it any more.
func (wt *waiter) wait(ctx context.Context) *Worker {
	var look <-chan time.Time
	if wt.want.Gone != nil {
		every := time.NewTicker(goneEvery)
		defer every.Stop()
		look = every.C
	}
	for {
		select {
		case w := <-wt.got:
			return w
		case <-ctx.Done():
			return nil
		case <-look:
			if wt.want.Gone() {
				return nil
			}
		}
	}
}

// enqueue lets wt wait, if there is room: for all of MaxWaiting, and for one
// caller as much of that as its shard is of the fleet. mu is held.
func (f *Fleet) enqueue(wt *waiter) bool {
	if len(f.waiting) >= f.cfg.MaxWaiting {
		return false
	}
	f.count(wt, 1)
	if wt.shard != nil {
		room := max(1, f.cfg.MaxWaiting*len(wt.shard)/len(f.places))
		for _, o := range f.waiting {
			if o.want.Caller == wt.want.Caller {
				room--
			}
		}
		if room <= 0 {
			f.count(wt, -1)
			return false
		}
	}
	f.waiting = append(f.waiting, wt)
	return true
}

// count gives a waiter its shard (by 1) and keeps count of who is waited for.
// mu is held.
func (f *Fleet) count(wt *waiter, by int) {
	if by > 0 {
		wt.shard, wt.generation = slices.Clone(f.shardOf(&wt.want)), f.generation
	}
	if wt.mayOverflow() {
		f.mayOverflow += by
	}
	for _, i := range wt.shard {
		f.places[i].wanted += by
	}
}

// dequeue takes the i-th out of the queue. mu is held.
func (f *Fleet) dequeue(i int) {
	wt := f.waiting[i]
	wt.queued = false
	f.count(wt, -1)
	if i == 0 {
		f.waiting[0] = nil
		f.waiting = f.waiting[1:]
		return
	}
	f.waiting = slices.Delete(f.waiting, i, i+1)
}

// serve hands out workers to those who wait, first come first served among
// those who may have them. w is the only one that has become free; nil means
// that anything may have changed. mu is held.
func (f *Fleet) serve(w *Worker) {
	if len(f.waiting) == 0 || w != nil && f.mayOverflow == 0 && w.place.wanted == 0 {
		return
	}
	for i := 0; i < len(f.waiting); {
		if len(f.free) == 0 && f.well == f.up {
			return
		}
		wt := f.waiting[i]
		if wt.generation != f.generation {
			f.count(wt, -1)
			f.count(wt, 1)
		}
		got := f.pick(&wt.want, wt.shard)
		if got == nil {
			i++
			continue
		}
		f.dequeue(i)
		f.grant(got)
		wt.got <- got
	}
}

// grant puts one more in flight on w. mu is held.
func (f *Fleet) grant(w *Worker) {
	w.inFlight++
	if f.full(w) {
		f.withdraw(w)
	}
}

// Release gives back a worker that Acquire handed out.
func (f *Fleet) Release(w *Worker) {
	w.served.Add(1)
	w.left.Store(max(1, int64(time.Since(w.since))))
	f.mu.Lock()
	w.inFlight--
	if w.inFlight == 0 {
		w.wakeIdle()
	}
	f.roomier(w)
	f.mu.Unlock()
}

// takes reports whether w takes work, busy or not. mu is held.
func (f *Fleet) takes(w *Worker) bool { return f.fit(w) && (f.allSilent || !w.silence.silent) }

// fit is takes, but for silence. mu is held.
func (f *Fleet) fit(w *Worker) bool {
	return w.state == Serving && w.place.weight > 0 && (f.panic || !w.heldOut())
}

func (f *Fleet) full(w *Worker) bool {
	return f.cfg.MaxInFlight > 0 && w.inFlight-w.streams >= f.cfg.MaxInFlight
}

// offer makes w available: to the first who waits for it, or to all. mu is held.
func (f *Fleet) offer(w *Worker) {
	if w.at >= 0 || f.full(w) || !f.takes(w) {
		return
	}
	w.at = len(f.free)
	f.free = append(f.free, w)
	f.serve(w)
}

// withdraw makes w unavailable. mu is held.
func (f *Fleet) withdraw(w *Worker) {
	if w.at < 0 {
		return
	}
	last := len(f.free) - 1
	f.free[w.at] = f.free[last]
	f.free[w.at].at = w.at
	f.free[last] = nil
	f.free = f.free[:last]
	w.at = -1
}
