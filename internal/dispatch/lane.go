package dispatch

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/policy/blame"
	"github.com/bezoar-dev/bezoar/policy/lane"
)

// overflowAt is the length of the lane's queue above which work that may also run in the fleet does so.
const overflowAt = 8

// entry is a call that waits for its turn in the lane.
type entry struct {
	lane.Entry
	caller uint64
	settle time.Duration          // a stream leaves with the worker after this time
	window time.Duration          // the worker stays in the lane for this long after its answer
	clean  bool                   // its run decides: it needs a worker that has answered nothing for quiet
	quiet  time.Duration          // …
	group  *company               // the company with which it died in the lane
	doubt  *company               // the company in which it was last one of the likely killers
	must   bool                   // it must run alone also for other reasons
	lifted func() bool            // whether nothing is held against it any more; nil: it does not wait for long
	turn   chan *fleet.Worker     // buffered, one worker; the receiver must call finish
	done   chan struct{}          // closed when its run is over
	told   atomic.Pointer[notice] // who is told then; set before its turn

	ran     time.Duration // how long it had run when its worker died
	unsent  atomic.Bool   // nothing has run, so its worker need not be watched
	began   atomic.Bool   // its answer has begun
	started time.Time     // set by the lane when its turn came

	mu       sync.Mutex // guards what follows
	released bool       // the lane no longer watches it
	next     func(ctx context.Context)
}

// notice tells a lane worker that one of its runs is over.
type notice struct{ ended chan *entry }

// finish ends e's run.
func (e *entry) finish() {
	close(e.done)
	if n := e.told.Load(); n != nil {
		n.ended <- e // it has room for all that may run
	}
}

// handOver leaves f to the lane, which calls it once done is closed. It returns false if the lane no longer watches e.
func (e *entry) handOver(f func(ctx context.Context)) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.released {
		e.next = f
	}
	return !e.released
}

// release calls what was left to the lane. The lane does nothing with e after that.
func (e *entry) release(ctx context.Context) {
	e.mu.Lock()
	f := e.next
	e.released = true
	e.mu.Unlock()
	if f != nil {
		f(ctx)
	}
}

type laneQueue struct {
	mu      sync.Mutex // guards what follows but wake
	entries []*entry
	running int                        // entries that run, on all lane workers
	run     time.Duration              // moving average of the time of a run
	ran     map[uint64]int             // runs by caller, since since
	since   time.Time                  // start of ran
	active  int                        // number of lane workers
	kicks   map[chan struct{}]struct{} // of the lane workers
	wake    chan struct{}              // buffered, one: more lane workers may be useful
	view    []lane.Entry               // scratch
}

// Bounds of the fairness between callers.
const (
	ranFor   = 10 * time.Second
	maxRan   = 4096
	firstRun = 50 * time.Millisecond // the assumed time of a run at first
)

func (q *laneQueue) init() {
	q.wake = make(chan struct{}, 1)
	q.ran = map[uint64]int{}
	q.kicks = map[chan struct{}]struct{}{}
	q.run = firstRun
}

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
	q.alert()
	for c := range q.kicks {
		signal(c)
	}
	return true
}

// alert wakes the goroutine that starts lane workers.
func (q *laneQueue) alert() { signal(q.wake) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// enlist counts one more lane worker if it is useful, and reports whether it is.
func (q *laneQueue) enlist(most int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.entries) == 0 || q.active > 0 && (q.active >= most || len(q.entries) <= q.active) {
		return false
	}
	q.active++
	return true
}

// park stops counting a lane worker that only waits, so that another may take its place.
func (q *laneQueue) park() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.active--
	if len(q.entries) > 0 {
		q.alert()
	}
}

// dismiss undoes enlist.
func (q *laneQueue) dismiss(parked bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !parked {
		q.active--
	}
	if len(q.entries) > 0 {
		q.alert()
	}
}

// listen registers a lane worker that waits for newcomers.
func (q *laneQueue) listen() (kick chan struct{}, stop func()) {
	kick = make(chan struct{}, 1)
	q.mu.Lock()
	q.kicks[kick] = struct{}{}
	q.mu.Unlock()
	return kick, func() {
		q.mu.Lock()
		delete(q.kicks, kick)
		q.mu.Unlock()
	}
}

// remove takes e back; false if its turn has come already.
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

// next removes the entries that start now on one of lanes lane workers, on which run runs.
func (q *laneQueue) next(now time.Time, run lane.Running, lanes int) (picked []*entry, exclusive bool, after time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now.Sub(q.since) > ranFor {
		clear(q.ran)
		q.since = now
	}
	q.view = q.view[:0]
	var expected time.Duration
	for _, e := range q.entries {
		expected += max(q.run, e.ran)
		e.Limit = e.group.limit(e.Limit)
		if (e.Hold > 0 || e.Likely > 0 || e.clean) && e.doubt.solved() && !e.must {
			e.Hold, e.Likely, e.Single, e.clean = 0, 0, false, false
		}
		v := e.Entry
		v.Ran = q.ran[e.caller]
		q.view = append(q.view, v)
	}
	crowded := len(q.entries)+q.running > 1 && lane.Crowded(expected+time.Duration(q.running)*q.run, lanes)
	idx, exclusive, after := lane.Next(now, q.view, run, crowded, lane.Delay(len(q.entries)+q.running, lanes), nil)
	for _, j := range idx {
		e := q.entries[j]
		picked = append(picked, e)
		if _, ok := q.ran[e.caller]; ok || len(q.ran) < maxRan {
			q.ran[e.caller]++
		}
	}
	q.running += len(picked)
	q.entries = slices.DeleteFunc(q.entries, func(e *entry) bool { return slices.Contains(picked, e) })
	if len(picked) > 0 && len(q.entries) > 0 {
		q.alert() // another lane worker may take some
	}
	return picked, exclusive, after
}

// over records that a run of length d has ended.
func (q *laneQueue) over(d time.Duration) {
	q.mu.Lock()
	q.running--
	q.run += (min(d, time.Minute) - q.run) / 8
	q.mu.Unlock()
}

// clean reports whether an entry waits for a clean worker.
func (q *laneQueue) clean() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.ContainsFunc(q.entries, func(e *entry) bool { return e.clean })
}

// inLane runs the ticket's work when its turn comes.
func (c *call) inLane(ctx context.Context, t blame.Ticket, dec blame.Decision) step {
	d := c.d
	if dec.Overflow && d.lane.len() >= overflowAt {
		return c.fleet(ctx, t, false)
	}
	clean := dec.Clean && c.hold == 0
	must := c.redrive || c.isolate || dec.Window > 0 || !c.w.Replayable || dec.Cause == blame.ByProbe || dec.Cause == blame.ByCondition
	for {
		e := &entry{
			Entry: lane.Entry{
				Likely: c.likely, Hold: c.hold,
				Score: dec.Score, Proven: dec.Proven && c.w.Replayable, Since: time.Now(), Died: c.died, Limit: c.limit, Late: dec.Window > 0,
				Single: must || c.single || clean,
			},
			caller: c.w.Caller, settle: lane.Settled(dec.Largest), window: dec.Window, clean: clean, quiet: dec.Quiet, group: c.group, doubt: c.doubted, must: must, ran: c.ran,
			turn: make(chan *fleet.Worker, 1), done: make(chan struct{}),
		}
		if e.window > 0 || e.clean { // those before it take seconds, and may explain what it is suspect of
			e.lifted = func() bool { return d.cfg.Ledger.Lifted(t) }
		}
		w, answer := c.queue(ctx, e)
		if w == nil {
			d.cfg.Ledger.Close(t, c.bw.Fingerprint)
			if answer == nil {
				return stepAgain
			}
			return c.done(*answer)
		}
		if c.overtaken(t, w) {
			e.unsent.Store(true)
			e.finish()
			return stepAgain
		}
		d.laneRuns.Add(1)
		s, sent := c.attempt(ctx, t, w, e)
		e.finish()
		if sent {
			return s
		}
		if s == stepAgain {
			s = c.mayRedial(ctx)
		}
		if s == stepDone {
			d.cfg.Ledger.Close(t, c.bw.Fingerprint)
			return s
		}
	}
}

// liftedEvery is how often the lane checks whether what waits there is still suspect.
const liftedEvery = 250 * time.Millisecond

// queue waits for e's turn and returns the lane's worker, on which the work counts as in flight, or the answer if there is
// no turn. It returns neither if nothing is held against the work any more.
func (c *call) queue(ctx context.Context, e *entry) (*fleet.Worker, *Answer) {
	d := c.d
	left := c.waitLeft()
	if left <= 0 || !d.lane.push(e, maxQueue) {
		return nil, new(c.unavailable(RuleLane, "it must run alone, and too many wait for that"))
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	look := time.NewTicker(liftedEvery)
	defer look.Stop()
	a := &Answer{Kind: Aborted, Reason: "the caller hung up"}
	for waiting := true; waiting; {
		select {
		case w := <-e.turn:
			return w, nil
		case <-look.C:
			if e.lifted != nil && e.lifted() && d.lane.remove(e) {
				return nil, nil
			}
			continue
		case <-ctx.Done():
		case <-timer.C:
			a = new(c.unavailable(RuleLane, "it must run alone, and no worker could be set apart in time"))
		}
		waiting = false
	}
	if d.lane.remove(e) {
		return nil, a
	}
	// Its turn has come, but perhaps not yet its worker, which must be clean first: give the place back.
	go func() {
		d.cfg.Fleet.Release(<-e.turn)
		e.unsent.Store(true)
		e.finish()
	}()
	return nil, a
}
