package dispatch

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/policy/lane"
)

// Run keeps the lane until ctx ends: it sets workers apart while suspects wait, more than one if many wait, and starts the
// suspects whose turn it is.
func (d *Dispatcher) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { d.listen(ctx) })
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-d.lane.wake:
		}
		for d.lane.enlist(d.cfg.Fleet.Lanes()) {
			wg.Go(func() {
				parked := false
				defer func() { d.lane.dismiss(parked) }()
				for !parked && d.lane.len() > 0 && ctx.Err() == nil {
					parked = d.shift(ctx)
				}
			})
		}
	}
}

// held is how long a run may keep a lane worker to itself, unless its run decides or it must not have company.
const held = 5 * time.Second

// shift is one lane worker's time in the lane. It reports whether another lane worker may have taken its place meanwhile.
func (d *Dispatcher) shift(ctx context.Context) (parked bool) {
	// Check now and then whether anybody still waits.
	rctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	w, err := d.cfg.Fleet.Reserve(rctx, fleet.LaneWant{Clean: d.lane.clean(), More: true, Streams: d.cfg.Ledger.Streams})
	cancel()
	if err != nil {
		return false
	}
	defer d.cfg.Fleet.Unreserve(w)
	kick, stop := d.lane.listen()
	defer stop()
	s := &laneShift{d: d, w: w, kick: kick, notice: notice{ended: make(chan *entry, maxQueue+1)}}
	defer s.leave(ctx)
	for ctx.Err() == nil {
		if _, ended := w.End(); ended {
			break
		}
		if d.cfg.Fleet.Leaving(w) && len(s.running) == 0 || !s.turn(ctx) {
			break
		}
	}
	return s.parked
}

// laneShift is the state of one lane worker.
type laneShift struct {
	d         *Dispatcher
	w         *fleet.Worker
	kick      chan struct{}
	notice    notice
	running   []*entry
	exclusive bool
	parked    bool
	last      time.Time
	hold      time.Duration
}

// turn starts what may start, or waits for a change. It returns false if the worker must go back.
func (s *laneShift) turn(ctx context.Context) bool {
	now := time.Now()
	if s.settled(now) {
		return false // only streams are left: the worker is no longer the lane's
	}
	var after time.Duration
	if s.d.cfg.Fleet.Leaving(s.w) {
		s.giveWay()
	} else {
		var picked []*entry
		picked, s.exclusive, after = s.pick(now)
		if len(picked) > 0 {
			s.start(ctx, now, picked)
			return true
		}
	}
	if len(s.running) == 0 && after == 0 {
		return s.lingers(ctx)
	}
	wait := lookEvery
	if after > 0 {
		wait = min(wait, after)
	}
	select {
	case e := <-s.notice.ended:
		return s.over(ctx, e)
	case <-s.w.Ended():
	case <-time.After(wait):
	case <-s.kick:
	case <-ctx.Done():
	}
	return true
}

// pick asks the queue what starts now, in addition to what runs.
func (s *laneShift) pick(now time.Time) (picked []*entry, exclusive bool, after time.Duration) {
	if left := s.d.companies.returning(now); left > 0 && len(s.running) == 0 {
		return nil, s.exclusive, left
	}
	run := lane.Running{Count: len(s.running), Exclusive: s.exclusive, Last: s.last, Hold: s.hold}
	for _, e := range s.running {
		if e.Limit > 0 && (run.Limit == 0 || e.Limit < run.Limit) {
			run.Limit = e.Limit
		}
	}
	if s.exclusive && len(s.running) == 1 && s.dragging(s.running[0], now) {
		run.Exclusive = false
	}
	picked, exclusive, after = s.d.lane.next(now, run, s.d.cfg.Fleet.Lanes())
	if len(picked) == 0 {
		exclusive = s.exclusive
	}
	return picked, exclusive, after
}

// dragging reports whether e has had the worker to itself for long enough. A run that decides keeps it.
func (s *laneShift) dragging(e *entry, now time.Time) bool {
	return !e.clean && e.Limit != 1 && e.window == 0 && now.Sub(e.started) >= held
}

// settled reports whether all runs are answers that have been streaming for a while: they may never end, and have not
// killed the worker so far.
func (s *laneShift) settled(now time.Time) bool {
	if len(s.running) == 0 {
		return false
	}
	return !slices.ContainsFunc(s.running, func(e *entry) bool { return !e.began.Load() || now.Sub(e.started) < e.settle })
}

// lookEvery is how often the lane checks its runs: an answer may have begun, or a run may have had the worker to itself for
// long enough.
const lookEvery = 75 * time.Millisecond

// breath is how long a worker must not have answered before work runs alone on it.
const breath = 30 * time.Millisecond

// start starts picked. A run that decides waits until the worker is clean.
func (s *laneShift) start(ctx context.Context, now time.Time, picked []*entry) {
	switch e := picked[0]; {
	case e.clean:
		s.settle(ctx, e.quiet, e.lifted)
		now = time.Now()
	case s.exclusive:
		s.settle(ctx, breath, nil) // work that was answered just now may still kill
		now = time.Now()
	}
	for _, e := range picked {
		e.started = now
		e.told.Store(&s.notice)
		s.running = append(s.running, e)
	}
	for _, e := range picked {
		s.d.cfg.Fleet.Enter(s.w)
		e.turn <- s.w
	}
	s.last, s.hold = now, picked[0].Hold
}

// settle waits until the worker has not answered for quiet, or what waits for that is no longer suspect.
func (s *laneShift) settle(ctx context.Context, quiet time.Duration, lifted func() bool) {
	for left := quiet - s.w.Quiet(); left > 0; left = quiet - s.w.Quiet() {
		select {
		case <-time.After(min(left, quiet, liftedEvery)):
			if lifted == nil || !lifted() {
				continue
			}
		case <-s.w.Ended():
		case <-s.d.hurried:
		case <-ctx.Done():
		}
		return
	}
}

// over ends e's run. After work that may kill late, the worker gets no work for a while, and another worker may become the
// lane meanwhile. It returns false if the worker must go back.
func (s *laneShift) over(ctx context.Context, e *entry) bool {
	s.forget(e)
	e.release(ctx)
	if e.window == 0 || e.unsent.Load() {
		return true
	}
	s.giveWay()
	select {
	case <-time.After(e.window):
		return !s.parked
	case <-s.d.hurried:
		return !s.parked
	case <-s.w.Ended():
	case <-ctx.Done():
	}
	return false
}

// giveWay lets another worker be the lane in addition to this one, which starts nothing new: it is watched, or it leaves and
// its runs may take long, as when it hangs and another process has its place.
func (s *laneShift) giveWay() {
	if s.parked {
		return
	}
	if s.parked = s.d.cfg.Fleet.Park(s.w); s.parked {
		s.d.lane.park()
	}
}

func (s *laneShift) forget(e *entry) {
	if i := slices.Index(s.running, e); i >= 0 {
		s.running = slices.Delete(s.running, i, i+1)
		s.d.lane.over(time.Since(e.started))
	}
	if len(s.running) == 0 {
		s.exclusive = false
	}
}

// leave ends the shift: runs that are left go on outside the lane.
func (s *laneShift) leave(ctx context.Context) {
	if _, ended := s.w.End(); ended {
		// The entries that ran there will learn of it.
		for len(s.running) > 0 {
			e := <-s.notice.ended
			s.forget(e)
			e.release(ctx)
		}
		return
	}
	for _, e := range slices.Clone(s.running) {
		s.forget(e)
		e.release(ctx)
	}
}

// lingers waits a little for more suspects before the worker goes back.
func (s *laneShift) lingers(ctx context.Context) bool {
	select {
	case <-s.kick:
		return true
	case <-s.w.Ended():
	case <-time.After(linger):
	case <-ctx.Done():
	}
	return s.d.lane.len() > 0
}
