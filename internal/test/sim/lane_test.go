package sim

import (
	"math"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
	"github.com/bezoar-dev/bezoar/policy/lane"
)

// laneState is who waits for the lane, and the workers that are the lane, as
// dispatch keeps them. Who starts when is decided by policy/lane.
type laneState struct {
	queue     []int32
	shifts    []shift
	idle      []int32                    // places in shifts
	active    int                        // shifts that are not parked
	reserved  int                        // workers set apart, but for those parked
	parked    int                        // workers that are only watched
	running   int                        // runs, on all of them
	run       time.Duration              // moving average of how long one takes
	ran       map[bezoar.Fingerprint]int // runs by caller, since
	since     int64                      // …
	companies map[uint64]*company        // by epoch
	seen      []int32                    // scratch
	view      []lane.Entry               // …
	picked    []int                      // …
}

// What the lane of dispatch does when.
const (
	linger    = 100 * time.Millisecond
	lookUp    = 2 * time.Second // a search for a worker ends
	firstRun  = 50 * time.Millisecond
	ranFor    = 10 * time.Second
	held      = 5 * time.Second
	breath    = 30 * time.Millisecond
	laneShare = 0.25
)

type phase uint8

const (
	off      phase = iota
	seeking        // for a worker
	emptying       // its worker runs empty
	working
	lingering
	settling // its worker is getting clean
	watching // what its worker does after an answer
)

// shift is one worker's time in the lane.
type shift struct {
	phase     phase
	worker    int32
	turn      uint32 // counts what it does, so that old timers know
	clean     bool   // a worker is sought on which nothing was answered lately
	tried     bool   // a settled worker was sought in vain
	until     int64  // when the search ends
	running   []int32
	next      []int32 // who starts when the worker is clean
	exclusive bool
	parked    bool
	last      int64         // when the last run started
	hold      time.Duration // of what started last
}

func (l *laneState) init() {
	l.run = firstRun
	l.ran = map[bezoar.Fingerprint]int{}
	l.companies = map[uint64]*company{}
}

// lanes is how many workers may be the lane at the same time.
func (w *world) lanes() int { return max(1, int(laneShare*float64(w.Workers))) }

// laneAlert begins shifts while more of them are of use.
func (w *world) laneAlert() {
	l := &w.lane
	for len(l.queue) > 0 && (l.active == 0 || l.active < w.lanes() && len(l.queue) > l.active) {
		i := int32(len(l.shifts))
		if n := len(l.idle); n > 0 {
			i, l.idle = l.idle[n-1], l.idle[:n-1]
		} else {
			l.shifts = append(l.shifts, shift{})
		}
		s := &l.shifts[i]
		*s = shift{phase: seeking, worker: none, turn: s.turn + 1, until: w.now + int64(lookUp), running: s.running[:0]}
		s.clean = slices.ContainsFunc(l.queue, func(slot int32) bool { return w.requests[slot].clean })
		l.active++
		w.after(0, evShift, i, s.turn)
	}
}

// laneKick lets shifts look whether a newcomer may start.
func (w *world) laneKick() {
	for i := range w.lane.shifts {
		if s := &w.lane.shifts[i]; s.phase == working || s.phase == lingering {
			w.shiftTurn(int32(i))
		}
	}
	w.laneAlert()
}

// handleShift does what a shift has waited for.
func (w *world) handleShift(i int32) {
	s := &w.lane.shifts[i]
	switch s.phase {
	case seeking:
		w.reserve(i)
	case emptying:
		s.tried = true
		w.unreserve(i)
		w.reserve(i)
	case working:
		w.shiftTurn(i)
	case lingering:
		if len(w.lane.queue) > 0 {
			w.shiftTurn(i)
			return
		}
		w.endShift(i)
	case settling:
		s.phase = working
		next := s.next
		s.next = nil
		w.startRuns(i, next)
		w.shiftTurn(i)
	case watching:
		if s.parked {
			w.endShift(i)
			return
		}
		s.phase = working
		w.shiftTurn(i)
	case off:
	}
}

// shiftTurn starts what may start on the shift's worker, or waits for something to
// happen.
func (w *world) shiftTurn(i int32) {
	l := &w.lane
	for {
		s := &l.shifts[i]
		if s.next != nil {
			return // what has just been let go has come back, and its turn is next
		}
		k := &w.workers[s.worker]
		s.turn++
		if k.gone {
			return // its end will be noticed in a moment
		}
		if w.streams(s) {
			w.endShift(i)
			return
		}
		var after time.Duration
		if k.state == apart {
			var picked []int32
			if picked, after = w.pickNext(i); len(picked) > 0 {
				w.laneAlert()
				s = &l.shifts[i] // it may have moved
				r := &w.requests[picked[0]]
				quiet := r.quiet
				if !r.clean {
					quiet = breath
				}
				if left := quiet - w.quiet(s.worker); (r.clean || s.exclusive) && left > 0 {
					s.phase, s.next = settling, picked
					w.after(left, evShift, i, s.turn)
					return
				}
				w.startRuns(i, picked)
				continue
			}
		}
		if s.phase = working; len(s.running) == 0 && after == 0 {
			s.phase = lingering
			w.after(linger, evShift, i, s.turn)
			return
		}
		wait := w.nextLook(s)
		if after > 0 {
			wait = min(wait, after)
		}
		w.after(wait, evShift, i, s.turn)
		return
	}
}

// streams reports whether all that runs are answers that have been streaming for a
// while.
func (w *world) streams(s *shift) bool {
	for _, slot := range s.running {
		if r := &w.requests[slot]; !r.begun || w.now-r.started < int64(r.settle) {
			return false
		}
	}
	return len(s.running) > 0
}

func (w *world) nextLook(s *shift) time.Duration {
	wait := held
	for _, slot := range s.running {
		r := &w.requests[slot]
		ran := time.Duration(w.now - r.started)
		if r.begun {
			wait = min(wait, r.settle-ran)
		}
		wait = min(wait, held-ran)
	}
	return max(wait, 10*time.Millisecond)
}

// quiet is how long nothing has been answered on a worker.
func (w *world) quiet(i int32) time.Duration {
	if k := &w.workers[i]; k.left != 0 {
		return time.Duration(w.now - k.left)
	}
	return math.MaxInt64
}

// pickNext takes out of the queue what starts now on shift i's worker.
func (w *world) pickNext(i int32) ([]int32, time.Duration) {
	l := &w.lane
	s := &l.shifts[i]
	run := lane.Running{Count: len(s.running), Exclusive: s.exclusive, Last: time.Unix(0, s.last), Hold: s.hold}
	for _, slot := range s.running {
		if r := &w.requests[slot]; r.limit > 0 && (run.Limit == 0 || r.limit < run.Limit) {
			run.Limit = r.limit
		}
	}
	if s.exclusive && len(s.running) == 1 {
		r := &w.requests[s.running[0]]
		if !r.clean && r.limit != 1 && r.window == 0 && w.now-r.started >= int64(held) {
			run.Exclusive = false // it drags
		}
	}
	if w.now-l.since > int64(ranFor) {
		clear(l.ran)
		l.since = w.now
	}
	l.view = l.view[:0]
	var expected time.Duration
	for _, slot := range l.queue {
		r := &w.requests[slot]
		expected += max(l.run, r.ran)
		r.limit = r.group.limit(w.now, r.limit)
		if g := r.doubted; g != nil && g.found && !r.must && (r.suspectOf != nil || r.clean) {
			r.leaveCompany(false) // the killer has been found: it need not run alone any more
			r.alone, r.clean, r.single, r.hold = false, false, false, 0
		}
		l.view = append(l.view, lane.Entry{
			Score: r.score, Proven: r.proven, Single: r.alone, Likely: r.likely(), Died: int(r.died), Since: time.Unix(0, r.waitFrom),
			Limit: r.limit, Hold: r.hold, Late: r.window > 0, Ran: l.ran[r.work.Client],
		})
	}
	known := len(l.queue) + l.running
	crowded := known > 1 && lane.Crowded(expected+time.Duration(l.running)*l.run, w.lanes())
	idx, exclusive, after := lane.Next(w.at(), l.view, run, crowded, lane.Delay(known, w.lanes()), l.picked)
	if len(idx) == 0 {
		return nil, after
	}
	l.picked, s.exclusive = idx, exclusive
	slots := make([]int32, len(idx))
	for n, j := range idx {
		slots[n] = l.queue[j]
		r := &w.requests[slots[n]]
		r.where = waitsTurn
		l.ran[r.work.Client]++
	}
	l.running += len(slots)
	l.queue = slices.DeleteFunc(l.queue, func(slot int32) bool { return slices.Contains(slots, slot) })
	return slots, 0
}

// startRuns lets those whose turn has come run on shift i's worker.
func (w *world) startRuns(i int32, slots []int32) {
	s := &w.lane.shifts[i]
	if s.last = w.now; len(slots) > 0 { // their callers may be gone
		s.hold = w.requests[slots[0]].hold
	}
	var stale []int32
	for _, slot := range slots {
		r := &w.requests[slot]
		r.shift, r.inLane, r.started = i, true, w.now
		s.running = append(s.running, slot)
		if w.state.Overtaken(w.at(), r.ticket) {
			stale = append(stale, slot)
			continue
		}
		if w.trace != nil {
			w.tracef("  lane: [%d] starts on worker %d beside %d of %d, alone %v clean %v window %v limit %d died %d", slot, s.worker, len(s.running)-1, len(w.lane.queue), r.alone, r.clean, r.window, r.limit, r.died)
		}
		w.enter(slot, s.worker)
		w.send(slot, true)
	}
	for _, slot := range stale {
		w.requests[slot].where = nowhere
		w.requests[slot].window = 0
		w.closeTicket(slot)
		w.runOver(slot)
		w.turn(slot)
	}
}

// runOver tells the lane that one of its runs is over.
func (w *world) runOver(slot int32) {
	r := &w.requests[slot]
	i := r.shift
	r.inLane = false
	if i == none {
		return
	}
	window := r.window
	w.forgetRun(slot)
	s := &w.lane.shifts[i]
	if s.phase == off || w.workers[s.worker].state == down {
		return
	}
	s.turn++
	if window == 0 {
		w.after(0, evShift, i, s.turn)
		return
	}
	if w.lane.parked < w.lanes() {
		s.parked = true
		w.lane.parked++
		w.lane.reserved--
		w.lane.active--
		w.laneAlert()
	}
	s = &w.lane.shifts[i]
	s.phase = watching
	w.after(window, evShift, i, s.turn)
}

// forgetRun takes a run off its shift.
func (w *world) forgetRun(slot int32) {
	l, r := &w.lane, &w.requests[slot]
	s := &l.shifts[r.shift]
	r.shift = none
	s.running = slices.DeleteFunc(s.running, func(o int32) bool { return o == slot })
	l.running--
	l.run += (min(time.Duration(w.now-r.started), time.Minute) - l.run) / 8
	if len(s.running) == 0 {
		s.exclusive = false
	}
}

// endShift ends a shift: what still runs goes on without the lane, and a worker that
// lives goes back to the fleet.
func (w *world) endShift(i int32) {
	l := &w.lane
	s := &l.shifts[i]
	s.phase = off
	for len(s.running) > 0 {
		w.forgetRun(s.running[0])
	}
	for _, slot := range s.next { // its worker has ended before they could start
		l.running--
		w.requests[slot].where = waitsLane
	}
	l.queue = append(l.queue, s.next...)
	s.next = nil
	if s.worker != none {
		w.unreserve(i)
	}
	s = &l.shifts[i]
	if !s.parked {
		l.active--
	}
	s.parked = false
	s.turn++
	l.idle = append(l.idle, i)
	w.laneAlert()
}

// intoLane queues an admitted request for the lane.
func (w *world) intoLane(slot int32, d *blame.Decision) {
	r := &w.requests[slot]
	if !w.patient(slot) || len(w.lane.queue) >= laneQueue {
		w.closeTicket(slot)
		w.end(slot, unavailable)
		return
	}
	r.score, r.settle, r.proven = d.Score, lane.Settled(d.Largest), d.Proven && !r.unsafe
	r.window, r.clean, r.quiet = d.Window, d.Clean && r.hold == 0, d.Quiet
	r.must = r.isolate || d.Window > 0 || r.unsafe || d.Cause == blame.ByProbe || d.Cause == blame.ByCondition
	r.alone = r.must || r.single || r.clean
	r.where, r.waitFrom = waitsLane, w.now
	w.lane.queue = append(w.lane.queue, slot)
	w.stats.MaxLane = max(w.stats.MaxLane, len(w.lane.queue))
	w.laneKick()
}
