package blame

import (
	"math"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// gateRing bounds the deaths, failed attempts and convictions that the gate looks
// back on.
const gateRing = 1024

// gateSuspects is how many of a death's suspects are looked at, the largest
// shares first.
const gateSuspects = 4

// gateMost is how many disjoint deaths close the gate of the largest fleets,
// well within what the ring holds.
const gateMost = gateRing / 2

// massWindow is how close together deaths must be to be one event.
const massWindow = time.Second

// gateSuccesses is how many answers per death say that the fleet is well.
const gateSuccesses = 20

// gate tells a sick fleet from sick work (law 6).
type gate struct {
	deaths         []death
	failedStarts   []failedStart
	failedAttempts []failedAttempt
	recent         []revocable // convictions
	blamed         []revocable // crashes that weigh
	answers        [32]struct {
		second int64
		count  uint32
	}
	until  int64
	closed bool   // GateClosed has been said
	struck int64  // when many deaths closed it last
	base   uint64 // the state's successes when it closed

	known map[bezoar.Fingerprint]struct{} // scratch
	names map[string]struct{}             // scratch
}

// revocable is what may have to be taken back.
type revocable struct {
	at        int64
	caseIndex uint32
	again     bool // it stood convicted before
}

func (g *gate) init() {
	g.known = map[bezoar.Fingerprint]struct{}{}
	g.names = map[string]struct{}{}
}

// within counts the deaths since oldest.
func (g *gate) within(oldest int64) int {
	n := 0
	for n < len(g.deaths) && g.deaths[len(g.deaths)-1-n].at >= oldest {
		n++
	}
	return n
}

// convicted notes a conviction that the gate may take back.
func (g *gate) convicted(now int64, i uint32, again bool) {
	g.recent = appendRing(g.recent, revocable{now, i, again})
}

// accused notes evidence that the gate may take the weight off.
func (g *gate) accused(now int64, i uint32) {
	g.blamed = appendRing(g.blamed, revocable{at: now, caseIndex: i})
}

// appendRing appends to a ring that forgets the oldest.
func appendRing[T any](ring []T, v T) []T {
	if len(ring) == gateRing {
		copy(ring, ring[1:])
		ring = ring[:gateRing-1]
	}
	return append(ring, v)
}

func (state *State) gateClosed(now int64) bool { return now < state.gate.until }

// Three disjoint deaths within a minute without a single answer in between say
// that nothing works, in fleets of any size.
const (
	noAnswerDeaths = 3
	noAnswerWindow = time.Minute
	noAnswerMost   = 16 // deaths that are looked at
)

// controlAnswers is how many answers after the gate closed show that workers can
// serve.
const controlAnswers = 5

// sameMoment is how close together the deaths of one strike at the fleet are.
const sameMoment = 250 * time.Millisecond

// gated reports whether a conviction is suspended now. A closed gate lets
// through what the lane tells apart: other work is answered again, and no
// second worker died in the same moment.
func (state *State) gated(now int64) bool {
	if !state.gateClosed(now) {
		return false
	}
	if state.successes-state.gate.base < controlAnswers {
		return true
	}
	return state.gate.within(now-int64(sameMoment)+1) >= 2
}

// threshold is how many workers must be struck for it to be the fleet.
func (state *State) threshold() int {
	return min(max(3, int(math.Ceil(state.cfg.GateShare*float64(state.fleet)))), gateMost)
}

// observe shows a death to the gate. Deaths in the lane say nothing about the
// fleet.
func (state *State) observe(now int64, acc []accused, ev *bezoar.Evidence) {
	if ev.Lane {
		return
	}
	d := death{at: now, worker: ev.Worker, odd: len(acc) == 0, base: state.successes}
	for i := range acc[:min(len(acc), gateSuspects)] {
		a := &acc[i]
		if 1/a.prior-2 < provenEnough {
			d.unproven = append(d.unproven, a.work.Fingerprint)
		}
		if state.groups.sound(a.work.Shape) {
			d.odd = d.odd || i == 0
		} else if !a.work.Shape.IsZero() {
			d.shapes = append(d.shapes, a.work.Shape)
		}
		// So is a caller whose work has hardly ever succeeded.
		if c := a.work.Client; !c.IsZero() {
			if g := state.groups.find(c); g == nil || g.ran < groupSound || g.state != unheld {
				d.shapes = append(d.shapes, c)
			}
		}
	}
	g := &state.gate
	g.deaths = appendRing(g.deaths, d)
	if unanswered := g.sinceLastAnswer(now, state.successes); state.unrelated(unanswered, false, noAnswerDeaths) {
		g.base = state.successes
		state.closeGate(now, unanswered[0].at, false)
	}
	if state.coincidence(now) {
		g.struck = now
		state.closeGate(now, now-int64(massWindow), false)
		return
	}
	hold := int64(state.cfg.GateHold)
	if n := len(g.recent); now-g.struck < hold/2 && (n == 0 || g.recent[n-1].at < now-int64(massWindow)) {
		return // closed for long enough, and nothing to take back
	}
	need := state.threshold()
	if state.unrelated(g.since(now-int64(massWindow)), false, need) {
		g.struck = now
		state.closeGate(now, now-int64(massWindow), false)
		return
	}
	recent := g.since(now - hold)
	need = max(need, 1+int(g.successes(now, hold))/gateSuccesses)
	if state.unrelated(recent, state.successes > 0, need) {
		g.struck = now
		state.closeGate(now, now-hold, false)
	}
}

// coincidence reports whether workers that had nothing to do with it died in
// the same moment as the lane, just when that was held against a piece of work:
// two of them, or all that there are in a small fleet. Somebody ended them all.
func (state *State) coincidence(now int64) bool {
	g := &state.gate
	n := len(g.recent)
	return n > 0 && state.fleet > 2 && g.recent[n-1].at > now-int64(sameMoment) &&
		state.unrelated(g.since(now-int64(sameMoment)+1), false, min(2, state.fleet-2))
}

// badBuild notes the death of a worker that had never answered anything, and
// reports whether others like it have died of other work: then it may be their
// build, and the death says little about what was in flight.
func (state *State) badBuild(now int64, acc []accused) bool {
	acc = acc[:min(len(acc), gateSuspects)]
	sick := false
	for _, d := range state.gate.failedStarts {
		sick = sick || d.at >= now-int64(noAnswerWindow) && !slices.ContainsFunc(acc, func(a accused) bool {
			return slices.Contains(d.suspects, a.work.Fingerprint)
		})
	}
	d := failedStart{at: now}
	for i := range acc {
		d.suspects = append(d.suspects, acc[i].work.Fingerprint)
	}
	if len(state.gate.failedStarts) == noAnswerMost {
		state.gate.failedStarts = state.gate.failedStarts[:copy(state.gate.failedStarts, state.gate.failedStarts[1:])]
	}
	state.gate.failedStarts = append(state.gate.failedStarts, d)
	return sick
}

// since returns the deaths since oldest.
func (g *gate) since(oldest int64) []death { return g.deaths[len(g.deaths)-g.within(oldest):] }

// sinceLastAnswer returns the latest deaths, of those since the last answer.
func (g *gate) sinceLastAnswer(now int64, successes uint64) []death {
	recent := g.since(now - int64(noAnswerWindow))
	n := len(recent)
	for n > max(0, len(recent)-noAnswerMost) && recent[n-1].base == successes {
		n--
	}
	return recent[n:]
}

// unrelated reports whether at least need workers died for reasons that have
// nothing in common: neither an unproven piece of work nor an unsound shape.
func (state *State) unrelated(recent []death, oddOnly bool, need int) bool {
	if len(recent) < need {
		return false
	}
	g, n := &state.gate, 0
	clear(g.known)
	clear(g.names)
	for i := range recent {
		d := &recent[i]
		if oddOnly && !d.odd || state.explained(d) {
			continue
		}
		shared := g.addKnown(d.unproven)
		shared = g.addKnown(d.shapes) || shared
		// Small fleets have too few workers to count: each life counts there.
		_, counted := g.names[d.worker]
		if !shared && (state.fleet < 3 || !counted) {
			g.names[d.worker] = struct{}{}
			n++
		}
	}
	return n >= need
}

// addKnown notes fps and reports whether one of them was known.
func (g *gate) addKnown(fps []bezoar.Fingerprint) (shared bool) {
	for _, fp := range fps {
		_, ok := g.known[fp]
		shared = shared || ok
		g.known[fp] = struct{}{}
	}
	return shared
}

// explained reports whether a death has been brought home: something that was
// in flight killed the lane too, while other work is still answered.
func (state *State) explained(d *death) bool {
	if state.successes == d.base {
		return false
	}
	for _, fp := range d.unproven {
		if i, ok := state.byFP[fp]; ok && state.cases[i].state == quarantined {
			return true
		}
	}
	return false
}

// attemptFailed shows an overdue or faulted attempt to the gate.
func (g *gate) attemptFailed(state *State, now int64, fp bezoar.Fingerprint) {
	g.failedAttempts = appendRing(g.failedAttempts, failedAttempt{now, fp})
	hold := int64(state.cfg.GateHold)
	clear(g.known)
	for i := len(g.failedAttempts) - 1; i >= 0 && g.failedAttempts[i].at >= now-hold; i-- {
		g.known[g.failedAttempts[i].fp] = struct{}{}
	}
	n := len(g.known)
	if n < state.threshold() || int(g.successes(now, hold)) >= gateSuccesses*n {
		return
	}
	// An outage: what it struck starts anew afterwards.
	for fp := range g.known {
		if i, ok := state.byFP[fp]; ok {
			state.cases[i].struck = 0
		}
	}
	state.closeGate(now, now-hold, true)
}

// pop takes the newest off a ring if it is not older than oldest.
func pop(ring *[]revocable, oldest int64) (revocable, bool) {
	n := len(*ring) - 1
	if n < 0 || (*ring)[n].at < oldest {
		return revocable{}, false
	}
	last := (*ring)[n]
	*ring = (*ring)[:n]
	return last, true
}

// closeGate suspends convictions and takes back those since oldest.
func (state *State) closeGate(now, oldest int64, strikes bool) {
	g := &state.gate
	g.until = max(g.until, now+int64(state.cfg.GateHold))
	if !g.closed {
		g.closed, g.base = true, state.successes
		state.emit(Event{Kind: GateClosed, At: time.Unix(0, now), Strikes: strikes})
	}
	for last, ok := pop(&g.blamed, oldest); ok; last, ok = pop(&g.blamed, oldest) {
		c := &state.cases[last.caseIndex]
		state.excuse(last.caseIndex, oldest)
		if c.state == conditional && c.since >= oldest {
			state.refund(now, last.caseIndex)
		}
	}
	for last, ok := pop(&g.recent, oldest); ok; last, ok = pop(&g.recent, oldest) {
		c := &state.cases[last.caseIndex]
		if c.state != quarantined || c.manual || c.since != last.at {
			continue
		}
		c.level -= min(c.level, 1)
		if last.again { // what it was convicted for before stands
			c.until = now + state.term(state.rule(&c.work), int(c.level))
			continue
		}
		state.refund(now, last.caseIndex)
	}
	state.groups.refund(state, now, oldest)
	state.company.excuseAll(oldest)
}

// refund makes a case that was judged in haste a suspect again.
func (state *State) refund(now int64, i uint32) {
	c := &state.cases[i]
	c.state, c.since, c.until = suspected, now, 0
	if c.detail != none {
		state.details[c.detail].reason = ""
	}
	state.emitCase(Refunded, now, i, nil)
}

// Suspend closes the gate until the given time: a rollout is on its way.
func (state *State) Suspend(now, until time.Time) {
	state.gate.until = max(state.gate.until, until.UnixNano())
	if !state.gate.closed && state.gateClosed(now.UnixNano()) {
		state.gate.closed, state.gate.base = true, state.successes
		state.emit(Event{Kind: GateClosed, At: now, Planned: true})
	}
}

// Tick lets time pass: it reopens the gate. Call it about once a second.
func (state *State) Tick(now time.Time) {
	at := now.UnixNano()
	state.flushAll(at)
	state.unravel(at)
	state.forgetHistories(at)
	state.forgetDuplicates(at)
	state.recovers(at)
	if state.gate.closed && !state.gateClosed(now.UnixNano()) {
		state.gate.closed = false
		state.emit(Event{Kind: GateOpened, At: now})
	}
}
