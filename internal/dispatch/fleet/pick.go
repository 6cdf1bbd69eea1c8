package fleet

import (
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/policy/balance"
	"github.com/bezoar-dev/bezoar/policy/shard"
)

// scanUpTo is the fleet size up to which all workers are compared. In larger fleets two random workers are compared
// (Mitzenmacher, "The Power of Two Choices", 2001).
const scanUpTo = 16

// shardOf returns the places that want may use, valid until the next call; nil means all. The caller holds mu.
func (f *Fleet) shardOf(want *Want) []int {
	n := len(f.places)
	if n == 0 || want.Caller == 0 || want.Cells <= 1 && (want.Shard <= 0 || want.Shard >= n) {
		return nil
	}
	k, cells := want.Shard, min(want.Cells, n)
	if k <= 0 || k > n {
		k = n
	}
	if members, ok := f.lookupShard(want.Caller, k, cells); ok {
		return members
	}
	if cells <= 1 {
		f.scratchShard = shard.Assign(want.Caller, f.hashes, k, f.scratchShard[:0])
	} else {
		cell := shard.Cell(want.Caller, cells)
		f.scratchShard = shard.AssignAmong(want.Caller, f.hashes, k, f.scratchShard[:0], func(i int) bool {
			return shard.WorkerCell(i, cells) == cell
		})
	}
	f.cacheShard(want.Caller, k, cells, f.scratchShard)
	return f.scratchShard
}

// pick returns a worker with room, or nil. members is the result of shardOf for want. The caller holds mu.
func (f *Fleet) pick(want *Want, members []int) *Worker {
	if want.Epoch != 0 {
		return f.ofEpoch(want.Epoch, members)
	}
	if members != nil {
		return f.pickShard(want, members)
	}
	if len(f.free) == 0 {
		return nil
	}
	if want.Canary {
		if w := f.canary(); w != nil {
			return w
		}
	}
	return f.leastLoaded(want.Avoid)
}

// ofEpoch returns the worker that has an epoch, if it is one of members and has room. The caller holds mu.
func (f *Fleet) ofEpoch(epoch uint64, members []int) *Worker {
	for _, w := range f.free {
		if w.epoch == epoch && (members == nil || slices.ContainsFunc(members, func(i int) bool { return f.places[i].life == w })) {
			return w
		}
	}
	return nil
}

// pickShard picks from a shard, or outside it as the overflow rule says.
func (f *Fleet) pickShard(want *Want, members []int) *Worker {
	w, takes := f.best(want, members, false)
	switch {
	case w != nil || takes && want.Overflow != OverflowBusy:
		return w
	case want.Overflow == OverflowNever:
		// A worker that looks unhealthy is better than none.
		w, _ = f.best(want, members, true)
		return w
	}
	// The next shard is chosen from workers that take work. It has the same size as the first one, and is the same each
	// time.
	k := want.Shard
	if k <= 0 {
		k = len(f.places)
	}
	f.scratchOther = shard.AssignAmong(want.Caller, f.hashes, k, f.scratchOther[:0], func(i int) bool {
		o := f.places[i].life
		return o != nil && f.takes(o) && (want.Overflow == OverflowDown || !f.full(o))
	})
	if w, _ = f.best(want, f.scratchOther, false); w != nil {
		f.overflowed++
	}
	return w
}

// These outweigh any load in best.
const (
	noCanary = 1e9
	avoided  = 1e12
)

// best returns the least loaded worker of a shard with room, and whether any worker takes work. With anyhow, it also
// considers workers that are held out.
func (f *Fleet) best(want *Want, members []int, anyhow bool) (best *Worker, takes bool) {
	if len(members) == 0 {
		return nil, false
	}
	now, ramping := f.ramping()
	start := f.rand.IntN(len(members)) // random, so that ties do not always go to the first
	least := 0.0
	for k := range members {
		i := members[(start+k)%len(members)]
		w := f.places[i].life
		if w == nil || !f.takes(w) && !(anyhow && w.state == Serving && w.place.weight > 0) {
			continue
		}
		takes = true
		if f.full(w) {
			continue
		}
		load := float64(w.inFlight)
		if ramping || f.weighted {
			load = f.load(w, now)
		}
		if want.Canary && i >= f.canaries() {
			load += noCanary
		}
		if w.name == want.Avoid {
			load += avoided
		}
		if best == nil || load < least {
			best, least = w, load
		}
	}
	return best, takes
}

// leastLoaded picks from free, which is not empty.
func (f *Fleet) leastLoaded(avoid string) *Worker {
	n := len(f.free)
	if n == 1 {
		return f.free[0]
	}
	if f.weighted || !f.rampEnd.IsZero() {
		if now, ramping := f.ramping(); ramping || f.weighted {
			return f.leastOfShare(avoid, now)
		}
	}
	if n > scanUpTo {
		a, b := f.two(n)
		if a.name == avoid || b.name != avoid && b.inFlight < a.inFlight {
			return b
		}
		return a
	}
	// Start at random, so that ties do not always go to the first.
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

// two returns two of the n free workers at random.
func (f *Fleet) two(n int) (a, b *Worker) {
	i, j := f.rand.IntN(n), f.rand.IntN(n-1)
	if j >= i {
		j++
	}
	return f.free[i], f.free[j]
}

// leastOfShare is leastLoaded while some workers are fresh or have weights.
func (f *Fleet) leastOfShare(avoid string, now time.Time) *Worker {
	n := len(f.free)
	if n > scanUpTo && f.weighted {
		a, b := f.byWeight(), f.byWeight()
		if a.name == avoid || b.name != avoid && f.loadOfDrawn(b, now) < f.loadOfDrawn(a, now) {
			return b
		}
		return a
	}
	if n > scanUpTo {
		a, b := f.two(n)
		if a.name == avoid || b.name != avoid && f.load(b, now) < f.load(a, now) {
			return b
		}
		return a
	}
	var best *Worker
	least := 0.0
	for _, w := range f.free {
		if load := f.load(w, now); w.name != avoid && (best == nil || load < least) {
			best, least = w, load
		}
	}
	return best
}

// load returns the load of w relative to its share. now is zero if no worker is fresh.
func (f *Fleet) load(w *Worker, now time.Time) float64 {
	return balance.Load(w.inFlight, w.place.weight*f.ramp(w, now), f.rand.Float64())
}

func (f *Fleet) ramp(w *Worker, now time.Time) float64 {
	if now.IsZero() {
		return 1
	}
	return balance.Ramp(now.Sub(w.fresh), f.cfg.SlowStart)
}

// ramping reports whether any worker may be fresh. The caller holds mu.
func (f *Fleet) ramping() (now time.Time, on bool) {
	if f.rampEnd.IsZero() {
		return now, false
	}
	now = time.Now()
	if now.Before(f.rampEnd) {
		return now, true
	}
	f.rampEnd = time.Time{}
	return time.Time{}, false
}

// freshen begins w's slow start. The caller holds mu.
func (f *Fleet) freshen(w *Worker) {
	if f.cfg.SlowStart > 0 {
		w.fresh = time.Now()
		f.rampEnd = w.fresh.Add(f.cfg.SlowStart)
	}
}

// canaries returns the number of canaries. They are the first places.
func (f *Fleet) canaries() int {
	if len(f.places) < 3 {
		return 0
	}
	return (len(f.places) + 7) / 8
}

// canary returns the least loaded canary; nil if none is free.
func (f *Fleet) canary() *Worker {
	var best *Worker
	for _, s := range f.places[:f.canaries()] {
		w := s.life
		if w != nil && w.at >= 0 && (best == nil || w.inFlight < best.inFlight) {
			best = w
		}
	}
	return best
}
