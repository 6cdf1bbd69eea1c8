package fleet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/policy/balance"
	"github.com/bezoar-dev/bezoar/policy/shard"
)

// Errors of Acquire and Reserve.
var (
	// ErrNoWorker means that no worker became free in time.
	ErrNoWorker = errors.New("no worker is available")
	// ErrBusy means that too many calls wait already.
	ErrBusy = errors.New("too many wait for a worker")
)

// Fleet is a set of workers. Create it with [New].
type Fleet struct {
	cfg   Config                        // mu guards what Tune changes
	eject atomic.Pointer[balance.Eject] // cfg.Eject, or what Tune made of it

	mu          sync.Mutex // guards everything below
	keeper      Keeper
	slots       map[string]*slot
	places      []*slot   // in the order of Add
	hashes      []uint64  // of their names
	generation  int32     // counts changes of places
	free        []*Worker // workers that take work and have room; no waiter may have one of them
	waiting     []*waiter
	mayOverflow int // waiters that are not bound to their shard
	everUp      bool
	lanes       int // number of lane workers
	parked      int // of these, workers that are only watched
	epochs      uint64
	rand        *rand.Rand

	up, well   int  // lives that serve or are the lane; of these, lives not held out
	panic      bool // health is ignored
	allSilent  bool // every worker that takes work is silent
	panicSince time.Time
	rampEnd    time.Time     // when the last slow start ends; zero: none runs
	weighted   bool          // some place has a weight other than 1
	sums       []int         // partial sums of the places' weights; nil until needed
	notes      []Judgement   // unlock reports them
	patience   time.Duration // how long a worker may give no answer before it is silent
	fooled     time.Time     // when patience was last too short, or was halved
	longest    time.Duration // the longest silence that ended with an answer; forgotten slowly
	spokeAt    time.Time     // when that was, or when it was halved

	quiet   bool          // the last Listen found nothing in flight, and nothing has begun since
	stirred chan struct{} // has a value when something began after that; not guarded

	panics, ejections, overflowed uint64

	shardCache                 []cachedShard    // nil until there is one
	scratchShard, scratchOther []int            // scratch
	samples                    []balance.Sample // scratch
}

// slot is the place of a worker, across its lives.
type slot struct {
	name    string
	weight  float64 // see SetWeight
	life    *Worker // nil while down
	retired []*Worker
	before  *Worker // the previous life; nil: none
	wanted  int     // number of waiters with it in their shard
	last    *End    // of the previous life
	deaths  int     // number of unplanned ends
	lives   int
	lastEnd time.Time
}

// New returns a fleet without workers.
func New(cfg Config) (*Fleet, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("fleet %s: %w", cfg.Name, err)
	}
	f := &Fleet{
		cfg: cfg.withDefaults(), slots: map[string]*slot{},
		rand:    rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())),
		stirred: make(chan struct{}, 1),
	}
	f.eject.Store(&f.cfg.Eject)
	return f, nil
}

func (f *Fleet) Name() string { return f.cfg.Name }

// Keep sets the keeper of the workers. Call it before the first Up.
func (f *Fleet) Keep(k Keeper) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keeper = k
}

// Add makes a place for a worker. The worker is down until Up.
func (f *Fleet) Add(worker string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.slots[worker] == nil {
		s := &slot{name: worker, weight: 1}
		f.slots[worker] = s
		f.places = append(f.places, s)
		f.hashes = append(f.hashes, shard.Name(worker))
		f.sums = nil
		f.generation++
	}
}

// Remove removes the place of a worker that is down, with the record of its lives. Shards that had it get one other worker
// instead. Cells and canaries go by the order of places, and later places move up. If there is no such place, Remove does
// nothing.
func (f *Fleet) Remove(worker string) error {
	f.mu.Lock()
	s := f.slots[worker]
	if s == nil {
		f.mu.Unlock()
		return nil
	}
	if s.life != nil || len(s.retired) > 0 {
		state := Draining
		if s.life != nil {
			state = s.life.state
		}
		f.mu.Unlock()
		return fmt.Errorf("remove worker %s of fleet %s: it is not down but %s", worker, f.cfg.Name, state)
	}
	for _, wt := range f.waiting {
		f.count(wt, -1) // their shards are places that move
	}
	i := slices.Index(f.places, s)
	f.places = slices.Delete(f.places, i, i+1)
	f.hashes = slices.Delete(f.hashes, i, i+1)
	delete(f.slots, worker)
	f.sums = nil
	f.generation++
	for _, wt := range f.waiting {
		f.count(wt, 1)
	}
	f.serve(nil)
	f.unlock()
	f.changed()
	return nil
}

// EverUp reports whether a worker has been up since the fleet was made.
func (f *Fleet) EverUp() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.everUp
}

// Size returns the number of places.
func (f *Fleet) Size() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.places)
}

// Up begins a new life of worker at addr and returns its epoch. If the previous life was never ended, Up ends it as
// interrupted.
func (f *Fleet) Up(worker, addr string) uint64 {
	f.Add(worker)
	f.mu.Lock()
	old := f.slots[worker].life
	f.mu.Unlock()
	if old != nil {
		f.Down(worker, old.epoch, End{Planned: true, At: time.Now(), Detail: "replaced by a new life"})
	}
	w := &Worker{name: worker, addr: addr, since: time.Now(), ended: make(chan struct{}), state: Serving, at: -1}
	if f.cfg.Connect != nil {
		w.conn = f.cfg.Connect(addr)
	}
	f.mu.Lock()
	f.epochs++
	w.epoch = f.epochs
	f.mu.Unlock()
	if f.cfg.Opened != nil {
		f.cfg.Opened(w.epoch, worker)
	}
	f.mu.Lock()
	s := f.slots[worker]
	s.life, w.place = w, s
	f.everUp = true
	s.lives++
	f.freshen(w)
	f.settled(w)
	f.unlock()
	f.changed()
	return w.epoch
}

// Down ends an epoch. It does nothing if that epoch is over already.
func (f *Fleet) Down(worker string, epoch uint64, end End) {
	f.mu.Lock()
	s := f.slots[worker]
	if s == nil {
		f.mu.Unlock()
		return
	}
	w, present := s.take(epoch)
	if w == nil {
		f.mu.Unlock()
		return
	}
	if present {
		s.before = w
	}
	s.last, s.lastEnd = &end, end.At
	if !end.Planned {
		s.deaths++
	}
	f.unlane(w)
	w.state = Down
	if w.ejected != nil {
		w.ejected.Stop()
		w.ejected = nil
	}
	w.wakeIdle()
	f.settled(w)
	f.unlock()
	if f.cfg.Ended != nil {
		f.cfg.Ended(epoch, worker, end)
	}
	w.finish(end)
	f.changed()
}

// Drain gives worker no new work; work in flight goes on.
func (f *Fleet) Drain(worker string) {
	f.mu.Lock()
	if s := f.slots[worker]; s != nil && s.life != nil {
		switch s.life.state {
		case Serving:
			s.life.state = Draining
			f.settled(s.life)
		case Lane:
			s.life.leaving = true
		case Down, Draining: // nothing to do
		}
	}
	f.unlock()
	f.changed()
}

// Resume undoes Drain.
func (f *Fleet) Resume(worker string) {
	f.mu.Lock()
	if s := f.slots[worker]; s != nil && s.life != nil {
		s.life.leaving = false
		if s.life.state == Draining {
			s.life.state = Serving
			f.settled(s.life)
		}
	}
	f.unlock()
	f.changed()
}

// Idle waits until nothing is in flight on worker, or its life has ended.
func (f *Fleet) Idle(ctx context.Context, worker string) error {
	f.mu.Lock()
	var w *Worker
	if s := f.slots[worker]; s != nil {
		w = s.life
	}
	return f.waitFor(ctx, worker, w)
}

// waitFor waits until nothing is in flight on w, or it has ended; w may be nil. The caller holds mu, and waitFor releases
// it.
func (f *Fleet) waitFor(ctx context.Context, worker string, w *Worker) error {
	if w == nil || w.inFlight == 0 {
		f.mu.Unlock()
		return nil
	}
	idle := w.waitIdle()
	f.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for worker %s to finish its work: %w", worker, ctx.Err())
	}
}

// waitIdle must be called with Fleet.mu held and inFlight above 0.
func (w *Worker) waitIdle() <-chan struct{} {
	if w.idle == nil {
		w.idle = make(chan struct{})
	}
	return w.idle
}

func (w *Worker) wakeIdle() {
	if w.idle != nil {
		close(w.idle)
		w.idle = nil
	}
}

func (f *Fleet) changed() {
	if f.cfg.Changed != nil {
		f.cfg.Changed()
	}
}
