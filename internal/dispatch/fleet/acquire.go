package fleet

import (
	"context"
	"slices"
	"time"
)

// Want narrows [Fleet.Acquire].
type Want struct {
	Avoid    string   // prefer any other worker than this one
	Epoch    uint64   // only the worker that has this epoch; 0: any
	Canary   bool     // prefer the canaries: the first eighth of the fleet
	Caller   uint64   // keyed hash of the caller; 0: unknown, and may use the whole fleet
	Shard    int      // number of workers that the caller may use; 0: all of its cell
	Cells    int      // number of fixed cells of the fleet; 0 and 1: no cells
	Overflow Overflow // when the caller may use other workers
	// Gone is called every second during a wait in Acquire. If it returns true, the wait ends. nil: never.
	Gone func() bool
}

// goneEvery is how often Want.Gone is called.
const goneEvery = time.Second

// waiter is a waiting call of Acquire.
type waiter struct {
	got        chan *Worker // buffered, one worker
	want       Want
	shard      []int // places; nil: the whole fleet
	generation int32 // when shard was computed
	queued     bool
}

// mayOverflow reports whether a worker outside the shard is allowed.
func (wt *waiter) mayOverflow() bool { return wt.shard == nil || wt.want.Overflow != OverflowNever }

// TryAcquire hands out a worker if one is free. The caller must call [Fleet.Release]. It overtakes no waiting call: a
// worker is free only if none waits for it.
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

// Acquire hands out a worker. It waits for one until ctx ends or Want.Gone returns true. The caller must call
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
	f.Release(<-wt.got) // it came at the same moment
	return nil, ErrNoWorker
}

// wait returns the worker that came; nil if ctx ended or Want.Gone returned true.
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

// enqueue queues wt if there is room: MaxWaiting for all, and for one caller the same part of it as its shard is of the
// fleet. The caller holds mu.
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

// count gives a waiter its shard (by 1) or removes it (by -1), and counts the waiters for each place. The caller holds mu.
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

// dequeue removes the i-th waiter from the queue. The caller holds mu.
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

// serve hands out workers to waiters, first come first served among those that may have the same worker. w is the only
// worker that has become free; nil means that anything may have changed. The caller holds mu.
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

// grant counts one more in flight on w. The caller holds mu.
func (f *Fleet) grant(w *Worker) {
	w.inFlight++
	f.stir()
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

// takes reports whether w takes work, busy or not. The caller holds mu.
func (f *Fleet) takes(w *Worker) bool { return f.fit(w) && (f.allSilent || !w.silence.silent) }

// fit is takes without the rule of silence. The caller holds mu.
func (f *Fleet) fit(w *Worker) bool {
	return w.state == Serving && w.place.weight > 0 && (f.panic || !w.heldOut())
}

func (f *Fleet) full(w *Worker) bool {
	return f.cfg.MaxInFlight > 0 && w.inFlight-w.streams >= f.cfg.MaxInFlight
}

// offer makes w available to the first waiter for it, or to all. The caller holds mu.
func (f *Fleet) offer(w *Worker) {
	if w.at >= 0 || f.full(w) || !f.takes(w) {
		return
	}
	w.at = len(f.free)
	f.free = append(f.free, w)
	f.serve(w)
}

// withdraw makes w unavailable. The caller holds mu.
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
