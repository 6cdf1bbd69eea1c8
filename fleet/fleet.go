package fleet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/policy/balance"
)

// Errors of Acquire and Reserve.
var (
	// ErrNoWorker means that no worker became free in time.
	ErrNoWorker = errors.New("no worker is available")
	// ErrBusy means that too many already wait for one.
	ErrBusy = errors.New("too many wait for a worker")
)

// Config describes a fleet. Only Name is required.
type Config struct {
	Name        string
	MaxInFlight int                                        // per worker; 0 means no limit
	MaxWaiting  int                                        // who may wait in Acquire; default 4,096
	Connect     func(addr string) any                      // what the wire keeps for one epoch; closed with it if an io.Closer
	Opened      func(epoch uint64, worker string)          // before the epoch gets work
	Ended       func(epoch uint64, worker string, end End) // before Settle tells anybody
	Changed     func()                                     // after any change of state; must not block
	NextEpoch   func() uint64                              // default: counts from 1
	SlowStart   time.Duration                              // over which a fresh worker's share grows; default 0: at once
	Eject       balance.Eject                              // when a worker is an outlier
	PanicBelow  float64                                    // share of well workers below which opinions are distrusted; default 0.5
	Judged      func(Judgement)                            // after a worker or the fleet came to look otherwise; must not block
}

// Fleet is a set of workers. Create it with [New].
type Fleet struct {
	cfg Config

	mu      sync.Mutex // guards everything below
	keeper  Keeper
	slots   map[string]*slot
	order   []string  // slot names in the order they were added
	free    []*Worker // serving, with room
	waiting []*waiter
	lane    *Worker
	epochs  uint64
	rand    *rand.Rand
}

// slot is the place of one worker across its lives.
type slot struct {
	life    *Worker // nil while down
	last    *End    // of the life before
	deaths  int     // unplanned ends
	lives   int
	lastEnd time.Time
}

type waiter struct {
	got    chan *Worker // buffered, one worker
	want   Want
	queued bool
}

// New returns a fleet without workers.
func New(cfg Config) (*Fleet, error) {
	if cfg.Name == "" {
		return nil, errors.New("fleet: Name is empty")
	}
	if cfg.MaxInFlight < 0 || cfg.MaxWaiting < 0 {
		return nil, fmt.Errorf("fleet %s: MaxInFlight is %d and MaxWaiting %d, want 0 or more", cfg.Name, cfg.MaxInFlight, cfg.MaxWaiting)
	}
	if cfg.MaxWaiting == 0 {
		cfg.MaxWaiting = 4096
	}
	return &Fleet{cfg: cfg, slots: map[string]*slot{}, rand: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))}, nil
}

// Name returns the fleet's name.
func (f *Fleet) Name() string { return f.cfg.Name }

// Keep says who keeps the workers. Call it before the first Up.
func (f *Fleet) Keep(k Keeper) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keeper = k
}

// Add makes a place for a worker, which is down until Up.
func (f *Fleet) Add(worker string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.slots[worker] == nil {
		f.slots[worker] = &slot{}
		f.order = append(f.order, worker)
	}
}

// Size returns the number of places.
func (f *Fleet) Size() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.slots)
}

// Up begins a new life of worker at addr and returns its epoch. A life that
// was never ended is ended as interrupted.
func (f *Fleet) Up(worker, addr string) uint64 {
	f.Add(worker)
	f.mu.Lock()
	old := f.slots[worker].life
	f.mu.Unlock()
	if old != nil {
		f.Down(worker, old.epoch, End{Planned: true, At: time.Now(), Detail: "replaced by a new life"})
	}
	w := &Worker{name: worker, addr: addr, since: time.Now(), ended: make(chan struct{}), state: Serving}
	if f.cfg.Connect != nil {
		w.conn = f.cfg.Connect(addr)
	}
	f.mu.Lock()
	if f.cfg.NextEpoch == nil {
		f.epochs++
		w.epoch = f.epochs
	}
	f.mu.Unlock()
	if f.cfg.NextEpoch != nil {
		w.epoch = f.cfg.NextEpoch()
	}
	if f.cfg.Opened != nil {
		f.cfg.Opened(w.epoch, worker)
	}
	f.mu.Lock()
	s := f.slots[worker]
	s.life = w
	s.lives++
	f.offer(w)
	f.mu.Unlock()
	f.changed()
	return w.epoch
}

// Down ends an epoch. It does nothing when that epoch is over already.
func (f *Fleet) Down(worker string, epoch uint64, end End) {
	f.mu.Lock()
	s := f.slots[worker]
	if s == nil || s.life == nil || s.life.epoch != epoch {
		f.mu.Unlock()
		return
	}
	w := s.life
	s.life, s.last, s.lastEnd = nil, &end, end.At
	if !end.Planned {
		s.deaths++
	}
	f.withdraw(w)
	w.state = Down
	if f.lane == w {
		f.lane = nil
	}
	w.wakeIdle()
	f.mu.Unlock()
	if f.cfg.Ended != nil {
		f.cfg.Ended(epoch, worker, end)
	}
	w.finish(end)
	f.changed()
}

// Drain gives worker no new work; what is in flight goes on.
func (f *Fleet) Drain(worker string) {
	f.mu.Lock()
	if s := f.slots[worker]; s != nil && s.life != nil {
		switch s.life.state {
		case Serving:
			f.withdraw(s.life)
			s.life.state = Draining
		case Lane:
			s.life.leaving = true
		case Down, Draining: // nothing to do
		}
	}
	f.mu.Unlock()
	f.changed()
}

// Resume takes back a Drain.
func (f *Fleet) Resume(worker string) {
	f.mu.Lock()
	if s := f.slots[worker]; s != nil && s.life != nil {
		s.life.leaving = false
		if s.life.state == Draining {
			s.life.state = Serving
			f.offer(s.life)
		}
	}
	f.mu.Unlock()
	f.changed()
}

// Idle waits until nothing is in flight on worker, or its life has ended.
func (f *Fleet) Idle(ctx context.Context, worker string) error {
	f.mu.Lock()
	s := f.slots[worker]
	if s == nil || s.life == nil || s.life.inFlight == 0 {
		f.mu.Unlock()
		return nil
	}
	w := s.life
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

// offer makes w available: to the first who waits for it, or to all. mu is held.
func (f *Fleet) offer(w *Worker) {
	if w.state != Serving || f.full(w) || slices.Contains(f.free, w) {
		return
	}
	f.free = append(f.free, w)
	f.serve()
}

// serve hands free workers to those who wait, first come first served. mu is held.
func (f *Fleet) serve() {
	for len(f.waiting) > 0 && len(f.free) > 0 {
		wt := f.waiting[0]
		f.waiting[0] = nil
		f.waiting = f.waiting[1:]
		wt.queued = false
		wt.got <- f.take(wt.want)
	}
}

// withdraw makes w unavailable. mu is held.
func (f *Fleet) withdraw(w *Worker) {
	if i := slices.Index(f.free, w); i >= 0 {
		f.free = slices.Delete(f.free, i, i+1)
	}
}

func (f *Fleet) full(w *Worker) bool {
	return f.cfg.MaxInFlight > 0 && w.inFlight >= f.cfg.MaxInFlight
}
