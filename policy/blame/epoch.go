package blame

import (
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// maxAbandoned is how many abandoned attempts an epoch remembers. The caller hung
// up, but the worker may still be at it.
const maxAbandoned = 8

// abandonedFor is how long after the caller left a crash may still be its doing.
const abandonedFor = 5 * time.Second

type epoch struct {
	id            uint64
	head          uint32 // first ticket in flight, or none
	inFlight      int
	answered      int64 // latest start among the attempts that were answered
	abandoned     [maxAbandoned]abandonedAttempt
	nextAbandoned int
}

type abandonedAttempt struct {
	work    Work
	started int64
	left    int64
	overdue int64
	prior   float32
	begun   bool
	lane    bool
}

func (e *epoch) addAbandoned(g abandonedAttempt) {
	e.abandoned[e.nextAbandoned%maxAbandoned] = g
	e.nextAbandoned++
}

// OpenEpoch says that a worker has begun a new life. Ids are never reused.
func (state *State) OpenEpoch(id uint64) {
	if _, ok := state.byEpoch[id]; ok {
		return
	}
	var i uint32
	if n := len(state.freeEpochs); n > 0 {
		i = state.freeEpochs[n-1]
		state.freeEpochs = state.freeEpochs[:n-1]
	} else {
		state.epochs = append(state.epochs, epoch{})
		i = uint32(len(state.epochs) - 1)
	}
	state.epochs[i] = epoch{id: id, head: none}
	state.byEpoch[id] = i
}

func (state *State) link(t, e uint32) {
	ep, tk := &state.epochs[e], &state.tickets[t]
	tk.epoch, tk.prev, tk.next = e, none, ep.head
	if ep.head != none {
		state.tickets[ep.head].prev = t
	}
	ep.head = t
	ep.inFlight++
}

func (state *State) unlink(t uint32) {
	tk := &state.tickets[t]
	ep := &state.epochs[tk.epoch]
	if tk.prev != none {
		state.tickets[tk.prev].next = tk.next
	} else {
		ep.head = tk.next
	}
	if tk.next != none {
		state.tickets[tk.next].prev = tk.prev
	}
	tk.epoch = none
	ep.inFlight--
}

// accused is one distinct piece of work in flight when an epoch ended. Copies
// of it that were in flight together answer as one: one crash is one crash,
// however often its suspect was there.
type accused struct {
	ticket uint32 // first of its tickets, chained by next; none for abandoned attempts
	work   Work
	prior  float64
	weight float64
	share  float64
	lane   bool
}

// proven reports whether its work had a record of success when it was sent.
func (a *accused) proven() bool { return 1/a.prior-2 >= provenWell }

// popular reports whether it had a long one.
func (a *accused) popular() bool { return 1/a.prior-2 >= provenPopular }

// accusedKey tells pieces of work apart.
type accusedKey struct {
	fp     bezoar.Fingerprint
	exempt bool
}

// Crash ends an epoch. A planned end blames nobody. Otherwise the blame of one
// crash is shared out over what was in flight; every ticket there gets a
// [Finding]. ev brings what is known of the death; the state fills in the rest.
func (state *State) Crash(now time.Time, id uint64, planned bool, ev bezoar.Evidence) {
	e, ok := state.byEpoch[id]
	if !ok {
		return
	}
	at := now.UnixNano()
	acc, flight := state.accuse(at, &state.epochs[e], planned, ev.Class)
	fresh := state.epochs[e].answered == 0
	delete(state.byEpoch, id)
	state.epochs[e] = epoch{head: none}
	state.freeEpochs = append(state.freeEpochs, e)

	ev.Epoch, ev.At, ev.InFlight = id, now, flight
	if planned {
		for i := range acc {
			state.found(acc[i].ticket, Finding{Planned: true})
		}
		state.emit(Event{Kind: EpochEnded, At: now, Evidence: ev, Planned: true})
		return
	}
	state.crashes++
	shareOut(acc)
	slices.SortStableFunc(acc, func(x, y accused) int {
		switch {
		case x.share > y.share:
			return -1
		case x.share < y.share:
			return 1
		}
		return 0
	})
	ev.Lane = laneDeath(acc)
	state.emit(Event{Kind: EpochEnded, At: now, Evidence: ev})
	sick := fresh && state.badBuild(at, acc)
	state.observe(at, acc, &ev)
	for i := range acc {
		state.blame(at, acc, i, sick, ev)
	}
}

// accuse collects what was in flight on e and takes it off the epoch. flight is
// the number of attempts among them.
func (state *State) accuse(now int64, e *epoch, planned bool, class bezoar.Class) (acc []accused, flight int) {
	acc = make([]accused, 0, e.inFlight)
	clear(state.merge)
	for t := e.head; t != none; t = e.head {
		tk := &state.tickets[t]
		state.unlink(t)
		tk.next = none
		if tk.started > now && !planned {
			// It was sent when the worker had died already.
			state.found(t, Finding{Planned: true})
			continue
		}
		flight++
		i := state.accuseOne(&acc, accused{
			ticket: none, work: tk.work, lane: tk.lane, prior: float64(tk.prior),
			weight: float64(tk.prior) * state.hazard(now, tk.started, tk.overdue, class),
		})
		tk.next, acc[i].ticket = acc[i].ticket, t
	}
	if planned {
		return acc, flight
	}
	for i := range e.abandoned {
		g := &e.abandoned[i]
		if g.started == 0 || !state.mayHaveKilled(now, g, e, class) {
			continue
		}
		flight++
		state.accuseOne(&acc, accused{
			ticket: none, work: g.work, lane: g.lane, prior: float64(g.prior),
			weight: float64(g.prior) * state.hazard(now, g.started, g.overdue, class) * g.likelihood(now, class),
		})
	}
	return acc, flight
}

// accuseOne adds a to acc, or to the copy of its work that is there.
func (state *State) accuseOne(acc *[]accused, a accused) int {
	key := accusedKey{a.work.Fingerprint, a.work.Exempt}
	i, ok := state.merge[key]
	if !ok {
		i = len(*acc)
		state.merge[key] = i
		*acc = append(*acc, a)
		return i
	}
	old := &(*acc)[i]
	old.weight += a.weight
	old.prior = min(old.prior, a.prior)
	if old.ticket == none { // what is still running says where, not what was left behind
		old.lane = old.lane || a.lane
	}
	return i
}

// laneDeath reports whether a worker died as the lane.
func laneDeath(acc []accused) bool {
	lane := false
	for i := range acc {
		if acc[i].ticket != none {
			return acc[i].lane
		}
		lane = lane || acc[i].lane
	}
	return lane
}

// aloneShare is how much of the blame makes work count as alone in the lane:
// abandoned attempts that hardly weigh any more do not hide it.
const aloneShare = 0.75

// alone reports whether acc[i] died alone in the lane: nothing else was in
// flight there, and hardly anything may have been left behind.
func alone(acc []accused, i int) bool {
	if !acc[i].lane || acc[i].share < aloneShare {
		return false
	}
	for j := range acc {
		if j != i && acc[j].ticket != none {
			return false
		}
	}
	return true
}

// mayHaveKilled reports whether an abandoned attempt may have had a part in the end
// of e. A hang is laid at its door only while nothing that came after it was
// answered; other crashes only shortly after the caller left.
func (state *State) mayHaveKilled(now int64, g *abandonedAttempt, e *epoch, class bezoar.Class) bool {
	if class == bezoar.Timeout {
		return !g.begun && e.answered <= g.started
	}
	return now-g.left <= int64(abandonedFor)
}

// likelihood weighs how likely the worker is still at it: less with every second
// since the caller left. A hang does not end.
func (g *abandonedAttempt) likelihood(now int64, class bezoar.Class) float64 {
	if class == bezoar.Timeout {
		return 1
	}
	return max(0.01, 1-float64(now-g.left)/float64(abandonedFor))
}

// hazard weighs how likely an attempt of this age is the killer: most pills
// kill at once, and what hangs is overdue.
func (state *State) hazard(now, started, overdue int64, class bezoar.Class) float64 {
	if overdue != 0 && now >= overdue {
		if class == bezoar.Timeout {
			return 16
		}
		return 4
	}
	if class != bezoar.Timeout && now-started <= int64(state.cfg.Young) {
		return 2
	}
	return 1
}

// shareOut makes the shares sum to 1. Where only abandoned attempts are left
// the worker may have died idle: that takes a share that is laid on nobody.
func shareOut(acc []accused) {
	if slices.ContainsFunc(acc, func(a accused) bool { return a.ticket != none }) {
		share(acc, 0)
		return
	}
	share(acc, idleWeight)
}

func share(acc []accused, nobody float64) {
	sum := nobody
	for i := range acc {
		sum += acc[i].weight
	}
	for i := range acc {
		acc[i].share = acc[i].weight / sum
	}
}

// idleWeight is the weight of an idle worker's death by itself: half of work
// that has never succeeded has.
const idleWeight = 0.25

// found leaves f on every ticket of the chain that begins with t.
func (state *State) found(t uint32, f Finding) {
	for t != none {
		tk := &state.tickets[t]
		tk.finding, tk.found = f, true
		t, tk.next = tk.next, none
	}
}

// blame lays acc[i]'s share at its fingerprint's door and judges it. sick says
// that the death may be the worker's own fault.
func (state *State) blame(now int64, acc []accused, i int, sick bool, ev bezoar.Evidence) {
	a := &acc[i]
	if a.work.Exempt {
		state.found(a.ticket, Finding{Share: a.share})
		return
	}
	ev.Share, ev.Others, ev.Lane = a.share, others(acc, i), alone(acc, i)
	state.groups.crash(state, now, a)
	c := state.caseFor(now, &a.work)
	f := Finding{Share: a.share, Gated: state.gated(now)}
	if c == none {
		// The table is full of convicts: the evidence cannot be kept, so the
		// shape answers for it.
		state.groups.escalate(state, now, a)
		f.Score = a.share
		state.found(a.ticket, f)
		return
	}
	if k := &state.cases[c]; sick && !k.doubted && (ev.Lane || state.rule(&a.work).After == 1) {
		k.doubted, f.Gated = true, true // once: two such workers are enough
	}
	if f.Gated {
		ev.Share = 0 // it is the fleet: nothing of it is laid on the work
	}
	state.accuseCase(now, c, a, f.Gated, &ev)
	f.Score = state.cases[c].score()
	f.Convicted = state.decide(now, c, a, f.Gated, &ev)
	state.found(a.ticket, f)
}

// others lists the largest shares besides acc[i]'s; acc is sorted.
func others(acc []accused, i int) []bezoar.Suspect {
	if len(acc) < 2 {
		return nil
	}
	out := make([]bezoar.Suspect, 0, min(len(acc)-1, bezoar.MaxOthers))
	for j := range acc {
		if len(out) == cap(out) {
			break
		}
		if j != i {
			out = append(out, bezoar.Suspect{Fingerprint: acc[j].work.Fingerprint, Share: acc[j].share})
		}
	}
	return out
}
