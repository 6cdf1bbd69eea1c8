package dispatch

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/fleet"
	"github.com/bezoar-dev/bezoar/policy/blame"
	"github.com/bezoar-dev/bezoar/policy/lane"
)

// overflowAt is the length of the lane's queue from which work that may run in
// the fleet as well does.
const overflowAt = 8

// entry is a call that waits for its turn in the lane.
type entry struct {
	lane.Entry
	turn chan *fleet.Worker // buffered, one worker; the holder owes done
	done chan struct{}      // closed when its run is over

	began atomic.Bool // its answer has begun

	mu       sync.Mutex // guards what follows
	released bool       // the lane looks after it no longer
	next     func(ctx context.Context)
}

// handOver leaves f to the lane to do once done is closed. It reports false
// when the lane looks after e no longer.
func (e *entry) handOver(f func(ctx context.Context)) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.released {
		e.next = f
	}
	return !e.released
}

// release does what was left to the lane, the last thing that it does with e.
func (e *entry) release(ctx context.Context) {
	e.mu.Lock()
	f := e.next
	e.released = true
	e.mu.Unlock()
	if f != nil {
		f(ctx)
	}
}

// laneQueue is who waits for the lane.
type laneQueue struct {
	mu      sync.Mutex // guards entries
	entries []*entry
	wake    chan struct{} // buffered, one
}

func (q *laneQueue) init() { q.wake = make(chan struct{}, 1) }

func (q *laneQueue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.entries)
}

func (q *laneQueue) push(e *entry, limit int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.entries) >= limit {
		return false
	}
	q.entries = append(q.entries, e)
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return true
}

// remove takes e back; false when its turn has come already.
func (q *laneQueue) remove(e *entry) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.entries, e)
	if i < 0 {
		return false
	}
	q.entries = slices.Delete(q.entries, i, i+1)
	return true
}

// pick takes out those whose turn it is.
func (q *laneQueue) pick(now time.Time) []*entry {
	q.mu.Lock()
	defer q.mu.Unlock()
	view := make([]lane.Entry, len(q.entries))
	for i, e := range q.entries {
		view[i] = e.Entry
	}
	idx := lane.Pick(now, view, nil)
	picked := make([]*entry, len(idx))
	for i, j := range idx {
		picked[i] = q.entries[j]
	}
	q.entries = slices.DeleteFunc(q.entries, func(e *entry) bool { return slices.Contains(picked, e) })
	return picked
}

// inLane runs the ticket's work when its turn comes.
func (c *call) inLane(ctx context.Context, t blame.Ticket, dec blame.Decision) step {
	d := c.d
	if dec.Overflow && d.lane.len() >= overflowAt {
		return c.fleet(ctx, t, false)
	}
	for {
		e := &entry{
			Entry: lane.Entry{
				Score: dec.Score, Proven: dec.Proven, Since: time.Now(), Died: c.died,
				Single: c.single || c.redrive || dec.Cause == blame.ByProbe || dec.Cause == blame.ByShape,
			},
			turn: make(chan *fleet.Worker, 1), done: make(chan struct{}),
		}
		w, answer := c.queue(ctx, e)
		if w == nil {
			d.cfg.Ledger.Close(t, c.bw.Fingerprint)
			return done(answer)
		}
		if c.overtaken(t, w) {
			close(e.done)
			return step{again: true}
		}
		d.laneRuns.Add(1)
		s, sent := c.attempt(ctx, t, w, e)
		close(e.done)
		if sent {
			return s
		}
		if s.again {
			s = c.mayRedial(ctx)
		}
		if !s.again {
			d.cfg.Ledger.Close(t, c.bw.Fingerprint)
			return s
		}
	}
}

// queue waits for e's turn and returns the lane's worker, on which the work is
// counted in flight, or the answer when there will be none.
func (c *call) queue(ctx context.Context, e *entry) (*fleet.Worker, Answer) {
	d := c.d
	left := c.waitLeft()
	if left <= 0 || !d.lane.push(e, d.cfg.Queue) {
		return nil, c.unavailable(RuleLane, "it must run alone, and too many wait for that")
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	a := Answer{Kind: Aborted, Reason: "the caller hung up"}
	select {
	case w := <-e.turn:
		return w, Answer{}
	case <-ctx.Done():
	case <-timer.C:
		a = c.unavailable(RuleLane, "it must run alone, and no worker could be set apart in time")
	}
	if d.lane.remove(e) {
		return nil, a
	}
	// Its turn came in the same moment: give the place back.
	d.cfg.Fleet.Release(<-e.turn)
	close(e.done)
	return nil, a
}

// Run keeps the lane until ctx ends: it sets a worker apart while somebody
// waits, and lets those whose turn it is have it.
func (d *Dispatcher) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-d.lane.wake:
		}
		for d.lane.len() > 0 && ctx.Err() == nil {
			d.shift(ctx)
		}
	}
}

// shift is one lane worker's time in the lane.
func (d *Dispatcher) shift(ctx context.Context) {
	// Look up now and then whether anybody still waits.
	rctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	w, err := d.cfg.Fleet.Reserve(rctx)
	cancel()
	if err != nil {
		return
	}
	defer d.cfg.Fleet.Unreserve(w)
	for ctx.Err() == nil && !d.cfg.Fleet.Leaving(w) {
		picked := d.lane.pick(time.Now())
		if len(picked) == 0 {
			if !d.lingers(ctx, w) {
				return
			}
			continue
		}
		for _, e := range picked {
			d.cfg.Fleet.Enter(w)
			e.turn <- w
		}
		if !d.finish(ctx, picked) {
			return // a stream goes on there: the worker is not the lane's any more
		}
		if _, ended := w.End(); ended {
			return
		}
	}
}

// streamGrace is how long an answer that has begun keeps the lane to itself.
const streamGrace = 5 * time.Second

// finish waits until all of a batch have run. It reports false when what is
// left are answers that have been streaming for a while: a stream may never
// end, and has not killed its worker so far.
func (d *Dispatcher) finish(ctx context.Context, picked []*entry) bool {
	tick := time.NewTicker(streamGrace)
	defer tick.Stop()
	streaming := map[*entry]bool{}
	defer func() {
		for _, e := range picked {
			e.release(ctx)
		}
	}()
	for _, e := range picked {
		for waiting := true; waiting; {
			select {
			case <-e.done:
				waiting = false
			case <-tick.C:
				if streaming[e] {
					return false
				}
				streaming[e] = e.began.Load()
			}
		}
	}
	return true
}

// lingers waits a little for more suspects before the worker goes back.
func (d *Dispatcher) lingers(ctx context.Context, w *fleet.Worker) bool {
	timer := time.NewTimer(d.cfg.Linger)
	defer timer.Stop()
	select {
	case <-d.lane.wake:
		return true
	case <-w.Ended():
	case <-timer.C:
	case <-ctx.Done():
	}
	return d.lane.len() > 0
}
