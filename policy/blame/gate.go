package blame

import (
	"math"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// gateRing bounds the deaths, troubles and convictions that the gate looks
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
	deaths   []death
	born     []stillborn
	troubles []trouble
	recent   []recently // convictions
	blamed   []recently // crashes that weigh
	answers  [32]struct {
		second int64
		count  uint32
	}
	until  int64
	closed bool   // GateClosed has been said
	struck int64  // when many deaths closed it last
	base   uint64 // the book's successes when it closed

	known map[bezoar.Fingerprint]struct{} // scratch
	names map[string]struct{}             // scratch
}

// recently is what may have to be taken back.
type recently struct {
	at    int64
	kase  uint32
	again bool // it stood convicted before
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
	g.recent = keep(g.recent, recently{now, i, again})
}

// accused notes evidence that the gate may take the weight off.
func (g *gate) accused(now int64, i uint32) { g.blamed = keep(g.blamed, recently{at: now, kase: i}) }

// keep appends to a ring that forgets the oldest.
func keep[T any](ring []T, v T) []T {
	if len(ring) == gateRing {
		copy(ring, ring[1:])
		ring = ring[:gateRing-1]
	}
	return append(ring, v)
}

// death is one epoch's end in the fleet, as the gate sees it.
type death struct {
	at       int64
	worker   string
	unproven []bezoar.Fingerprint // exact work that may explain it
	shapes   []bezoar.Fingerprint // shapes that have hardly ever succeeded
	odd      bool                 // idle, or work of a shape that used to run
	base     uint64               // the book's successes at the time
}

// stillborn is the death of a worker that had never answered anything.
type stillborn struct {
	at       int64
	suspects []bezoar.Fingerprint
}

type trouble struct {
	at int64
	fp bezoar.Fingerprint
}

func (g *gate) success(now int64) {
	s := now / int64(time.Second)
	a := &g.answers[s%int64(len(g.answers))]
	if a.second != s {
		a.second, a.count = s, 0
	}
	a.count++
}

func (g *gate) successes(now, window int64) (n uint32) {
	s := now / int64(time.Second)
	for i := range g.answers {
		if a := &g.answers[i]; a.second <= s && s-a.second <= window/int64(time.Second) {
			n += a.count
		}
	}
	return n
}

func (b *Book) gateClosed(now int64) bool { return now < b.gate.until }

// Three disjoint deaths within a minute without a single answer in between say
// that nothing works, in fleets of any size.
const (
	barrenDeaths = 3
	barrenWindow = time.Minute
	barrenMost   = 16 // deaths that are looked at
)

// controls is how many answers after the gate closed show that workers can
// serve.
const controls = 5

// volley is how close together the deaths of one strike at the fleet are.
const volley = 250 * time.Millisecond

// gated reports whether a conviction is suspended now. A closed gate lets
// through what the lane tells apart: other work is answered again, and no
// second worker died in the same moment.
func (b *Book) gated(now int64) bool {
	if !b.gateClosed(now) {
		return false
	}
	if b.successes-b.gate.base < controls {
		return true
	}
	return b.gate.within(now-int64(volley)+1) >= 2
}

// threshold is how many workers must be struck for it to be the fleet.
func (b *Book) threshold() int {
	return min(max(3, int(math.Ceil(b.cfg.GateShare*float64(b.fleet)))), gateMost)
}

// observe shows a death to the gate. Deaths in the lane say nothing about the
// fleet.
func (b *Book) observe(now int64, acc []accused, ev *bezoar.Evidence) {
	if ev.Lane {
		return
	}
	d := death{at: now, worker: ev.Worker, odd: len(acc) == 0, base: b.successes}
	for i := range acc[:min(len(acc), gateSuspects)] {
		a := &acc[i]
		if 1/a.prior-2 < provenEnough {
			d.unproven = append(d.unproven, a.work.Fingerprint)
		}
		if b.groups.sound(a.work.Shape) {
			d.odd = d.odd || i == 0
		} else if !a.work.Shape.IsZero() {
			d.shapes = append(d.shapes, a.work.Shape)
		}
	}
	g := &b.gate
	g.deaths = keep(g.deaths, d)
	if barren := g.barren(now, b.successes); b.roots(barren, false, barrenDeaths) {
		g.base = b.successes
		b.closeGate(now, barren[0].at)
	}
	if b.coincidence(now) {
		g.struck = now
		b.closeGate(now, now-int64(massWindow))
		return
	}
	hold := int64(b.cfg.GateHold)
	if n := len(g.recent); now-g.struck < hold/2 && (n == 0 || g.recent[n-1].at < now-int64(massWindow)) {
		return // closed for long enough, and nothing to take back
	}
	need := b.threshold()
	if b.roots(g.since(now-int64(massWindow)), false, need) {
		g.struck = now
		b.closeGate(now, now-int64(massWindow))
		return
	}
	recent := g.since(now - hold)
	need = max(need, 1+int(g.successes(now, hold))/gateSuccesses)
	if b.roots(recent, b.successes > 0, need) {
		g.struck = now
		b.closeGate(now, now-hold)
	}
}

// coincidence reports whether workers that had nothing to do with it died in
// the same moment as the lane, just when that was held against a piece of work:
// two of them, or all that there are in a small fleet. Somebody ended them all.
func (b *Book) coincidence(now int64) bool {
	g := &b.gate
	n := len(g.recent)
	return n > 0 && b.fleet > 2 && g.recent[n-1].at > now-int64(volley) &&
		b.roots(g.since(now-int64(volley)+1), false, min(2, b.fleet-2))
}

// sickly notes the death of a worker that had never answered anything, and
// reports whether others like it have died of other work: then it may be their
// build, and the death says little about what was in flight.
func (b *Book) sickly(now int64, acc []accused) bool {
	acc = acc[:min(len(acc), gateSuspects)]
	sick := false
	for _, d := range b.gate.born {
		sick = sick || d.at >= now-int64(barrenWindow) && !slices.ContainsFunc(acc, func(a accused) bool {
			return slices.Contains(d.suspects, a.work.Fingerprint)
		})
	}
	d := stillborn{at: now}
	for i := range acc {
		d.suspects = append(d.suspects, acc[i].work.Fingerprint)
	}
	if len(b.gate.born) == barrenMost {
		b.gate.born = b.gate.born[:copy(b.gate.born, b.gate.born[1:])]
	}
	b.gate.born = append(b.gate.born, d)
	return sick
}

// since returns the deaths since oldest.
func (g *gate) since(oldest int64) []death { return g.deaths[len(g.deaths)-g.within(oldest):] }

// barren returns the latest deaths, of those since the last answer.
func (g *gate) barren(now int64, successes uint64) []death {
	recent := g.since(now - int64(barrenWindow))
	n := len(recent)
	for n > max(0, len(recent)-barrenMost) && recent[n-1].base == successes {
		n--
	}
	return recent[n:]
}

// roots reports whether at least need workers died for reasons that have
// nothing in common: neither an unproven piece of work nor an unsound shape.
func (b *Book) roots(recent []death, oddOnly bool, need int) bool {
	if len(recent) < need {
		return false
	}
	g, n := &b.gate, 0
	clear(g.known)
	clear(g.names)
	for i := range recent {
		d := &recent[i]
		if oddOnly && !d.odd || b.explained(d) {
			continue
		}
		shared := g.share(d.unproven)
		shared = g.share(d.shapes) || shared
		// Small fleets have too few workers to count: each life counts there.
		_, counted := g.names[d.worker]
		if !shared && (b.fleet < 3 || !counted) {
			g.names[d.worker] = struct{}{}
			n++
		}
	}
	return n >= need
}

// share notes fps and reports whether one of them was known.
func (g *gate) share(fps []bezoar.Fingerprint) (shared bool) {
	for _, fp := range fps {
		_, ok := g.known[fp]
		shared = shared || ok
		g.known[fp] = struct{}{}
	}
	return shared
}

// explained reports whether a death has been brought home: something that was
// in flight killed the lane too, while other work is still answered.
func (b *Book) explained(d *death) bool {
	if b.successes == d.base {
		return false
	}
	for _, fp := range d.unproven {
		if i, ok := b.byFP[fp]; ok && b.cases[i].state == quarantined {
			return true
		}
	}
	return false
}

// trouble shows an overdue or faulted attempt to the gate.
func (g *gate) trouble(b *Book, now int64, fp bezoar.Fingerprint) {
	g.troubles = keep(g.troubles, trouble{now, fp})
	hold := int64(b.cfg.GateHold)
	clear(g.known)
	for i := len(g.troubles) - 1; i >= 0 && g.troubles[i].at >= now-hold; i-- {
		g.known[g.troubles[i].fp] = struct{}{}
	}
	n := len(g.known)
	if n < b.threshold() || int(g.successes(now, hold)) >= gateSuccesses*n {
		return
	}
	// An outage: what it struck starts anew afterwards.
	for fp := range g.known {
		if i, ok := b.byFP[fp]; ok {
			b.cases[i].struck = 0
		}
	}
	b.closeGate(now, now-hold)
}

// pop takes the newest off a ring if it is not older than oldest.
func pop(ring *[]recently, oldest int64) (recently, bool) {
	n := len(*ring) - 1
	if n < 0 || (*ring)[n].at < oldest {
		return recently{}, false
	}
	last := (*ring)[n]
	*ring = (*ring)[:n]
	return last, true
}

// closeGate suspends convictions and takes back those since oldest.
func (b *Book) closeGate(now, oldest int64) {
	g := &b.gate
	g.until = max(g.until, now+int64(b.cfg.GateHold))
	if !g.closed {
		g.closed, g.base = true, b.successes
		b.emit(Event{Kind: GateClosed, At: time.Unix(0, now)})
	}
	for last, ok := pop(&g.blamed, oldest); ok; last, ok = pop(&g.blamed, oldest) {
		c := &b.cases[last.kase]
		b.excuse(last.kase, oldest)
		if c.state == conditional && c.since >= oldest {
			b.refund(now, last.kase)
		}
	}
	for last, ok := pop(&g.recent, oldest); ok; last, ok = pop(&g.recent, oldest) {
		c := &b.cases[last.kase]
		if c.state != quarantined || c.manual || c.since != last.at {
			continue
		}
		c.level -= min(c.level, 1)
		if last.again { // what it was convicted for before stands
			c.until = now + b.term(b.rule(&c.work), int(c.level))
			continue
		}
		b.refund(now, last.kase)
	}
	b.groups.refund(b, now, oldest)
}

// refund makes a case that was judged in haste a suspect again.
func (b *Book) refund(now int64, i uint32) {
	c := &b.cases[i]
	c.state, c.since, c.until = suspected, now, 0
	if c.detail != none {
		b.details[c.detail].reason = ""
	}
	b.emitCase(Refunded, now, i, nil)
}

// Suspend closes the gate until the given time: a rollout is on its way.
func (b *Book) Suspend(now, until time.Time) {
	b.gate.until = max(b.gate.until, until.UnixNano())
	if !b.gate.closed && b.gateClosed(now.UnixNano()) {
		b.gate.closed, b.gate.base = true, b.successes
		b.emit(Event{Kind: GateClosed, At: now, Planned: true})
	}
}

// Tick lets time pass: it reopens the gate. Call it about once a second.
func (b *Book) Tick(now time.Time) {
	if b.gate.closed && !b.gateClosed(now.UnixNano()) {
		b.gate.closed = false
		b.emit(Event{Kind: GateOpened, At: now})
	}
}
