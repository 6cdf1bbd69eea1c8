package blame

import (
	"math"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// gateRing bounds the deaths, troubles and convictions that the gate looks
// back on.
const gateRing = 1024

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
	troubles []trouble
	recent   []conviction
	answers  [32]struct {
		second int64
		count  uint32
	}
	until  int64
	closed bool   // GateClosed has been said
	base   uint64 // the book's successes when it closed

	known map[bezoar.Fingerprint]struct{} // scratch
	names map[string]struct{}             // scratch
}

type conviction struct {
	at   int64
	kase uint32
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
func (g *gate) convicted(now int64, i uint32) { g.recent = keep(g.recent, conviction{now, i}) }

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
	for i := range acc {
		if i == 4 {
			break
		}
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
	hold := int64(b.cfg.GateHold)
	if g.until-now > hold/2 {
		return // closed for long enough to look again later
	}
	if b.roots(now-int64(massWindow), false) >= b.threshold() {
		b.closeGate(now, massWindow)
		return
	}
	if n := b.roots(now-hold, b.successes > 0); n >= b.threshold() && int(g.successes(now, hold)) < gateSuccesses*n {
		b.closeGate(now, b.cfg.GateHold)
	}
}

// roots counts the workers that died since oldest for reasons that have
// nothing in common: neither an unproven piece of work nor an unsound shape.
// It may say 0 when they are fewer than the threshold.
func (b *Book) roots(oldest int64, oddOnly bool) (n int) {
	g := &b.gate
	recent := g.deaths[len(g.deaths)-g.within(oldest):]
	if len(recent) < b.threshold() {
		return 0
	}
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
	return n
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
	b.closeGate(now, b.cfg.GateHold)
}

// closeGate suspends convictions and takes back those of the last moments.
func (b *Book) closeGate(now int64, back time.Duration) {
	g := &b.gate
	g.until = max(g.until, now+int64(b.cfg.GateHold))
	if !g.closed {
		g.closed, g.base = true, b.successes
		b.emit(Event{Kind: GateClosed, At: time.Unix(0, now)})
	}
	oldest := now - int64(back)
	for len(g.recent) > 0 {
		last := g.recent[len(g.recent)-1]
		if last.at < oldest {
			break
		}
		g.recent = g.recent[:len(g.recent)-1]
		if c := &b.cases[last.kase]; c.state == quarantined && !c.manual && c.since == last.at {
			c.state, c.until = suspected, 0
			c.level -= min(c.level, 1)
			b.emitCase(Refunded, now, last.kase, nil)
		}
	}
	b.groups.refund(b, now, oldest)
}

// Suspend closes the gate until the given time: a rollout is on its way.
func (b *Book) Suspend(now, until time.Time) {
	b.gate.until = max(b.gate.until, until.UnixNano())
	if !b.gate.closed && b.gateClosed(now.UnixNano()) {
		b.gate.closed, b.gate.base = true, b.successes
		b.emit(Event{Kind: GateClosed, At: now})
	}
}

// Tick lets time pass: it reopens the gate. Call it about once a second.
func (b *Book) Tick(now time.Time) {
	if b.gate.closed && !b.gateClosed(now.UnixNano()) {
		b.gate.closed = false
		b.emit(Event{Kind: GateOpened, At: now})
	}
}
