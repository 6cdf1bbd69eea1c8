package sim

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// none is no index.
const none = int32(-1)

type state uint8

const (
	down state = iota
	serving
	apart // the lane
	leaving
)

// worker is one place in the fleet.
type worker struct {
	epoch    uint64
	inFlight int32
	head     int32 // first request in flight
	free     int32 // its place in world.free, or none
	state    state
	hung     int32              // the pill its event loop is stuck on, or none
	mute     bool               // its event loop is stuck
	silent   bool               // … which has been noticed: it gets nothing new while others speak
	gone     bool               // it is dead, and nobody has noticed
	bad      bool               // runs the bad build
	armed    bool               // the next request kills it
	primed   bool               // a request that fires kills it
	leaked   int                // requests that take something for good
	served   int32              // deliveries that it has survived
	left     int64              // when the last one ended; 0 never
	shift    int32              // that it is the lane of, or none
	laned    bezoar.Fingerprint // what ran there last as in the lane
}

// world is one run of a scenario.
type world struct {
	Scenario
	set   settings
	rule  blame.Rule
	now   int64
	heap  heap
	state *blame.State

	workers []worker
	names   []string
	free    []int32 // workers that serve
	epochs  uint64
	fewDie  bool // the mass crash hit too few to be one
	badNow  bool // new lives run the bad build

	requests   []request
	slots      []int32                                // free places in requests
	duplicates map[bezoar.Fingerprint][]duplicateWait // who waits for a copy
	waiting    []int32                                // who waits for a worker
	line       []int32                                // who is held back; the first asks again
	asking     bool                                   // evLine is on its way
	lane       laneState
	left       int // requests to arrive
	inside     int // requests that have arrived and not left

	siege     *siege // nil without an adversary
	traffic   *traffic
	pills     []pill
	abandoned []abandonedAttempt
	pick      *rand.Rand

	laws   laws
	stats  Stats
	trace  io.Writer // the story of the run; nil for none
	faults faults
}

// faults are mistakes made on purpose, to see that the laws find them.
type faults struct {
	reportPlanned bool // planned ends are reported as crashes
	noLane        bool // suspects run in the fleet
	noDuplicates  bool // copies do not wait
	killLane      bool // every run in the lane ends in a crash
	oneName       bool // all workers have the same name
	keepTickets   bool // tickets are not closed
}

func (w *world) tracef(format string, args ...any) {
	if w.trace != nil {
		fmt.Fprintf(w.trace, "%12v ", time.Duration(w.now-w.start()))
		fmt.Fprintf(w.trace, format+"\n", args...)
	}
}

// Stats says what became of the requests of a run.
type Stats struct {
	Events, Arrived                                        int
	Answered, Refused, ShapeRefused                        int
	Unavailable, Failed, TimedOut, Aborted, Cut            int
	InnocentsShapeRefused, InnocentsUnavailable, Excused   int
	Paced                                                  int // times that work was told to wait for the pace of what it belongs to
	Beside                                                 int // attempts beside copies that take long
	HeldBack                                               int // pieces of work that waited because most of the fleet had just died
	Attempts, LaneRuns, Deaths, PillDeaths, Pills, Convict int
	MostDeaths                                             int // by one pill, all in all
	WorstPill                                              int // deaths of the costliest deterministic pill, without what is named in law 3
	Unlucky                                                int // innocents alone in the lane when noise killed it
	MaxCases, MaxLane                                      int
	Virtual                                                time.Duration
}

// Run runs s to its end and returns the first law that it breaks.
func Run(s Scenario) (Stats, error) { return newWorld(s).run() }

// Trace does what [Run] does, and writes the story to out.
func Trace(s Scenario, out io.Writer) (Stats, error) {
	w := newWorld(s)
	w.trace = out
	return w.run()
}

func (w *world) run() (Stats, error) {
	w.plan()
	for w.laws.broken == nil {
		if w.left > 0 && (len(w.heap.es) == 0 || w.traffic.next <= w.heap.es[0].at) {
			w.now = w.traffic.next
			w.arrive()
		} else if len(w.heap.es) > 0 && (w.left > 0 || w.inside > 0 || w.besieged()) {
			e := w.heap.pop()
			w.now = e.at
			w.handle(&e)
		} else {
			break
		}
		w.stats.Events++
		w.check()
		if w.stats.Events > 1000*(1000+w.stats.Arrived) {
			w.laws.breakLaw(w, 8, "%d steps do not bring %d requests to an end", w.stats.Events, w.stats.Arrived)
		}
	}
	w.finishLaws()
	w.stats.Virtual = time.Duration(w.now - w.start())
	w.stats.Pills = len(w.pills)
	return w.stats, w.laws.broken
}

func newWorld(s Scenario) *world { return newWorldWith(s, s.settings()) }

func newWorldWith(s Scenario, set settings) *world {
	w := &world{
		Scenario: s, set: set,
		duplicates: map[bezoar.Fingerprint][]duplicateWait{},
		left:       s.Requests, pick: s.stream(1),
	}
	w.now = w.start()
	w.rule = blame.Rule{After: w.set.after}.WithDefaults()
	w.state = blame.New(blame.Config{Rule: w.rule, Rand: s.stream(2), Window: w.set.window}, w.at())
	w.state.SetFleet(s.Workers)
	w.lane.init()
	w.laws.init()
	w.workers = make([]worker, s.Workers)
	w.names = make([]string, s.Workers)
	for i := range w.workers {
		w.names[i] = "w" + strconv.Itoa(i)
		w.workers[i] = worker{head: none, free: none, hung: none, shift: none}
		w.up(int32(i))
	}
	w.traffic = newTraffic(w)
	return w
}

// besieged reports whether an adversary has something left to send.
func (w *world) besieged() bool { return w.siege != nil && w.siege.open > 0 }

// start is when every run begins: long enough after 1970 for any window.
func (w *world) start() int64 { return int64(1_000_000 * time.Second) }

func (w *world) at() time.Time { return time.Unix(0, w.now) }

func (w *world) after(d time.Duration, kind eventKind, a int32, b uint32) {
	w.heap.push(event{at: w.now + int64(d), kind: kind, a: a, b: b})
}

// up begins a new life of worker i.
func (w *world) up(i int32) {
	k := &w.workers[i]
	if k.state != down {
		return
	}
	w.epochs++
	k.epoch, k.state, k.mute, k.silent, k.gone, k.hung, k.bad, k.armed, k.primed, k.leaked = w.epochs, serving, false, false, false, none, w.badNow, false, false, 0
	k.served, k.left, k.laned = 0, 0, bezoar.Fingerprint{}
	w.state.OpenEpoch(k.epoch)
	w.offer(i)
}

func (w *world) offer(i int32) {
	if w.workers[i].silent {
		return
	}
	if k := &w.workers[i]; k.free == none {
		k.free = int32(len(w.free))
		w.free = append(w.free, i)
	}
	for len(w.waiting) > 0 && len(w.free) > 0 {
		slot := w.waiting[0]
		w.waiting = w.waiting[1:]
		w.overFleet(slot)
	}
}

func (w *world) withdraw(i int32) {
	k := &w.workers[i]
	if k.free == none {
		return
	}
	last := w.free[len(w.free)-1]
	w.free[k.free] = last
	w.workers[last].free = k.free
	w.free = w.free[:len(w.free)-1]
	k.free = none
}

// take picks a worker as package fleet does; none when nobody serves.
func (w *world) take(avoid int32, canary bool) int32 {
	n := len(w.free)
	if n == 0 {
		return w.anySilent()
	}
	if canary && w.Workers >= 3 {
		a, b := w.canary(), w.canary()
		if a != none && (b == none || w.workers[a].inFlight <= w.workers[b].inFlight) {
			return a
		} else if b != none {
			return b
		}
	}
	if n <= scanUpTo {
		return w.leastLoaded(avoid)
	}
	i, j := w.pick.IntN(n), w.pick.IntN(n-1)
	if j >= i {
		j++
	}
	a, b := w.free[i], w.free[j]
	if a == avoid || b != avoid && w.workers[b].inFlight < w.workers[a].inFlight {
		return b
	}
	return a
}

// scanUpTo is the fleet size up to which all workers are compared.
const scanUpTo = 16

// leastLoaded picks from all that serve: the first of equals, from a random one on.
func (w *world) leastLoaded(avoid int32) int32 {
	n := len(w.free)
	start, best := w.pick.IntN(n), none
	for k := range n {
		i := w.free[(start+k)%n]
		if best == none || best == avoid || i != avoid && w.workers[i].inFlight < w.workers[best].inFlight {
			best = i
		}
	}
	return best
}

func (w *world) canary() int32 {
	i := int32(w.pick.IntN((w.Workers + 7) / 8))
	if w.workers[i].state != serving {
		return none
	}
	return i
}

// die ends a life: the state is told, and everything in flight finds out. cause
// is the pill that did it, or none.
func (w *world) die(i int32, class bezoar.Class, planned bool, cause int32) {
	k := &w.workers[i]
	if k.state == down {
		return
	}
	epoch := k.epoch
	w.withdraw(i)
	k.state, k.mute, k.silent = down, false, false
	if !planned {
		w.stats.Deaths++
		if w.siege != nil {
			w.siege.fell(w, i)
		}
	}
	if w.trace != nil {
		w.tracef("worker %d ends: %v, planned %v, bad %v, cause %d, in flight %s", i, class, planned, k.bad, cause, w.list(i))
	}
	if cause == none && k.inFlight == 0 && !k.laned.IsZero() {
		w.laws.unlucky[k.laned] = true
		w.stats.Unlucky++
	}
	name := w.names[i]
	if w.faults.oneName {
		name = w.names[0]
	}
	w.state.Crash(w.at(), epoch, planned && !w.faults.reportPlanned, bezoar.Evidence{Worker: name, Class: class, ExitCode: -1})
	w.laws.crashed(w, i, planned, cause)
	w.drain()
	if k.shift != none {
		w.endShift(k.shift)
	}
	for k.head != none {
		slot := k.head
		w.leave(slot)
		w.judge(slot, blame.Faulted)
	}
	w.after(w.set.restart/2+time.Duration(w.pick.Int64N(int64(w.set.restart))), evUp, i, 0)
}

// enter puts a request in flight on worker i.
func (w *world) enter(slot, i int32) {
	r, k := &w.requests[slot], &w.workers[i]
	r.worker, r.prev, r.next = i, none, k.head
	if k.head != none {
		w.requests[k.head].prev = slot
	}
	k.head = slot
	k.inFlight++
}

// leave takes a request off its worker.
func (w *world) leave(slot int32) {
	r := &w.requests[slot]
	i := r.worker
	k := &w.workers[i]
	if r.prev != none {
		w.requests[r.prev].next = r.next
	} else {
		k.head = r.next
	}
	if r.next != none {
		w.requests[r.next].prev = r.prev
	}
	r.worker = none
	r.gen++
	k.inFlight--
	k.served++
	k.left = w.now
	if r.inLane {
		k.laned = r.work.Fingerprint
	}
	if k.inFlight == 0 && k.state != down {
		switch {
		case k.state == leaving:
			w.after(0, evPlanned, i, uint32(k.epoch))
		case k.shift != none && w.lane.shifts[k.shift].phase == emptying:
			s := &w.lane.shifts[k.shift]
			s.phase = working
			s.turn++
			w.after(0, evShift, k.shift, s.turn)
		}
	}
}

// drain reads the state's decisions.
func (w *world) drain() {
	if !w.state.Pending() {
		return
	}
	w.laws.events = w.state.Drain(w.laws.events[:0])
	for i := range w.laws.events {
		e := &w.laws.events[i]
		if v := &e.Verdict; w.trace != nil && e.Kind != blame.EpochEnded {
			w.tracef("decision %v %s %s: %s, score %.2f, pace %.3f, %s%v", e.Kind, v.Scope, v.Fingerprint.Short(), v.State, v.Score, v.Pace, v.Reason, v.Features)
		}
		w.laws.decision(w, e)
	}
}

// list names what is in flight on worker i.
func (w *world) list(i int32) string {
	var out strings.Builder
	for s := w.workers[i].head; s != none; s = w.requests[s].next {
		r := &w.requests[s]
		fmt.Fprintf(&out, "[%d %s pill %d lane %v] ", s, r.work.Fingerprint.Short(), r.pill, r.inLane)
	}
	return out.String()
}
