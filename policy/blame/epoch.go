package blame

import (
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// ghosts is how many abandoned attempts an epoch remembers. The caller hung
// up, but the worker may still be at it.
const ghosts = 8

// ghostFor is how long after the caller left a crash may still be its doing.
const ghostFor = 5 * time.Second

type epoch struct {
	id       uint64
	head     uint32 // first ticket in flight, or none
	inFlight int
	answered int64 // latest start among the attempts that were answered
	haunted  [ghosts]ghost
	nextHost int
}

type ghost struct {
	work    Work
	started int64
	left    int64
	overdue int64
	prior   float32
	begun   bool
	lane    bool
}

func (e *epoch) haunt(g ghost) {
	e.haunted[e.nextHost%ghosts] = g
	e.nextHost++
}

// OpenEpoch says that a worker has begun a new life. Ids are never reused.
func (b *Book) OpenEpoch(id uint64) {
	if _, ok := b.byEpoch[id]; ok {
		return
	}
	var i uint32
	if n := len(b.freeEpoch); n > 0 {
		i = b.freeEpoch[n-1]
		b.freeEpoch = b.freeEpoch[:n-1]
	} else {
		b.epochs = append(b.epochs, epoch{})
		i = uint32(len(b.epochs) - 1)
	}
	b.epochs[i] = epoch{id: id, head: none}
	b.byEpoch[id] = i
}

func (b *Book) link(t, e uint32) {
	ep, tk := &b.epochs[e], &b.tickets[t]
	tk.epoch, tk.prev, tk.next = e, none, ep.head
	if ep.head != none {
		b.tickets[ep.head].prev = t
	}
	ep.head = t
	ep.inFlight++
}

func (b *Book) unlink(t uint32) {
	tk := &b.tickets[t]
	ep := &b.epochs[tk.epoch]
	if tk.prev != none {
		b.tickets[tk.prev].next = tk.next
	} else {
		ep.head = tk.next
	}
	if tk.next != none {
		b.tickets[tk.next].prev = tk.prev
	}
	tk.epoch = none
	ep.inFlight--
}

// accused is one distinct piece of work in flight when an epoch ended. Copies
// of it that were in flight together answer as one: one crash is one crash,
// however often its suspect was there.
type accused struct {
	ticket uint32 // first of its tickets, chained by next; none for ghosts
	work   Work
	prior  float64
	weight float64
	share  float64
	lane   bool
}

// well reports whether its work had a record of success when it was sent.
func (a *accused) well() bool { return 1/a.prior-2 >= provenWell }

// popular reports whether it had a long one.
func (a *accused) popular() bool { return 1/a.prior-2 >= provenPopular }

// accusedKey tells pieces of work apart.
type accusedKey struct {
	fp     bezoar.Fingerprint
	exempt bool
}

// Crash ends an epoch. A planned end blames nobody. Otherwise the blame of one
// crash is shared out over what was in flight; every ticket there gets a
// [Finding]. ev brings what is known of the death; the book fills in the rest.
func (b *Book) Crash(now time.Time, id uint64, planned bool, ev bezoar.Evidence) {
	e, ok := b.byEpoch[id]
	if !ok {
		return
	}
	at := now.UnixNano()
	acc, flight := b.accuse(at, &b.epochs[e], planned, ev.Class)
	fresh := b.epochs[e].answered == 0
	delete(b.byEpoch, id)
	b.epochs[e] = epoch{head: none}
	b.freeEpoch = append(b.freeEpoch, e)

	ev.Epoch, ev.At, ev.InFlight = id, now, flight
	if planned {
		for i := range acc {
			b.found(acc[i].ticket, Finding{Planned: true})
		}
		b.emit(Event{Kind: EpochEnded, At: now, Evidence: ev, Planned: true})
		return
	}
	b.crashes++
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
	b.emit(Event{Kind: EpochEnded, At: now, Evidence: ev})
	sick := fresh && b.sickly(at, acc)
	b.observe(at, acc, &ev)
	for i := range acc {
		b.blame(at, acc, i, sick, ev)
	}
}

// accuse collects what was in flight on e and takes it off the epoch. flight is
// the number of attempts among them.
func (b *Book) accuse(now int64, e *epoch, planned bool, class bezoar.Class) (acc []accused, flight int) {
	acc = make([]accused, 0, e.inFlight)
	clear(b.merge)
	for t := e.head; t != none; t = e.head {
		tk := &b.tickets[t]
		b.unlink(t)
		tk.next = none
		if tk.started > now && !planned {
			// It was sent when the worker had died already.
			b.found(t, Finding{Planned: true})
			continue
		}
		flight++
		i := b.accuseOne(&acc, accused{
			ticket: none, work: tk.work, lane: tk.lane, prior: float64(tk.prior),
			weight: float64(tk.prior) * b.hazard(now, tk.started, tk.overdue, class),
		})
		tk.next, acc[i].ticket = acc[i].ticket, t
	}
	if planned {
		return acc, flight
	}
	for i := range e.haunted {
		g := &e.haunted[i]
		if g.started == 0 || !b.haunts(now, g, e, class) {
			continue
		}
		flight++
		b.accuseOne(&acc, accused{
			ticket: none, work: g.work, lane: g.lane, prior: float64(g.prior),
			weight: float64(g.prior) * b.hazard(now, g.started, g.overdue, class) * g.fade(now, class),
		})
	}
	return acc, flight
}

// accuseOne adds a to acc, or to the copy of its work that is there.
func (b *Book) accuseOne(acc *[]accused, a accused) int {
	key := accusedKey{a.work.Fingerprint, a.work.Exempt}
	i, ok := b.merge[key]
	if !ok {
		i = len(*acc)
		b.merge[key] = i
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
// abandoned attempts that hardly haunt the worker any more do not hide it.
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

// haunts reports whether an abandoned attempt may have had a part in the end
// of e. A hang is laid at its door only while nothing that came after it was
// answered; other crashes only shortly after the caller left.
func (b *Book) haunts(now int64, g *ghost, e *epoch, class bezoar.Class) bool {
	if class == bezoar.Timeout {
		return !g.begun && e.answered <= g.started
	}
	return now-g.left <= int64(ghostFor)
}

// fade weighs how likely the worker is still at it: less with every second
// since the caller left. A hang does not end.
func (g *ghost) fade(now int64, class bezoar.Class) float64 {
	if class == bezoar.Timeout {
		return 1
	}
	return max(0.01, 1-float64(now-g.left)/float64(ghostFor))
}

// hazard weighs how likely an attempt of this age is the killer: most pills
// kill at once, and what hangs is overdue.
func (b *Book) hazard(now, started, overdue int64, class bezoar.Class) float64 {
	if overdue != 0 && now >= overdue {
		if class == bezoar.Timeout {
			return 16
		}
		return 4
	}
	if class != bezoar.Timeout && now-started <= int64(b.cfg.Young) {
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
func (b *Book) found(t uint32, f Finding) {
	for t != none {
		tk := &b.tickets[t]
		tk.finding, tk.found = f, true
		t, tk.next = tk.next, none
	}
}

// blame lays acc[i]'s share at its fingerprint's door and judges it. sick says
// that the death may be the worker's own fault.
func (b *Book) blame(now int64, acc []accused, i int, sick bool, ev bezoar.Evidence) {
	a := &acc[i]
	if a.work.Exempt {
		b.found(a.ticket, Finding{Share: a.share})
		return
	}
	ev.Share, ev.Others, ev.Lane = a.share, others(acc, i), alone(acc, i)
	b.groups.crash(b, now, a)
	c := b.caseFor(now, &a.work)
	f := Finding{Share: a.share, Gated: b.gated(now)}
	if c == none {
		// The table is full of convicts: the evidence cannot be kept, so the
		// shape answers for it.
		b.groups.escalate(b, now, a)
		f.Score = a.share
		b.found(a.ticket, f)
		return
	}
	if k := &b.cases[c]; sick && !k.doubted && (ev.Lane || b.rule(&a.work).After == 1) {
		k.doubted, f.Gated = true, true // once: two such workers are enough
	}
	if f.Gated {
		ev.Share = 0 // it is the fleet: nothing of it is laid on the work
	}
	b.accuseCase(now, c, a, f.Gated, &ev)
	f.Score = b.cases[c].score()
	f.Convicted = b.sentence(now, c, a, f.Gated, &ev)
	b.found(a.ticket, f)
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
