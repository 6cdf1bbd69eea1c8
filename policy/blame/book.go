package blame

import (
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Work is one piece of work as the book sees it.
type Work struct {
	Fingerprint bezoar.Fingerprint
	Shape       bezoar.Fingerprint // zero: no shape is watched
	Client      bezoar.Fingerprint // zero: no client is watched
	Rule        *Rule              // nil means Config.Rule; complete, and never changed
	Exempt      bool               // takes its share of a crash, but nothing is held against it
}

// Action is where admitted work goes.
type Action uint8

// The actions.
const (
	ToFleet  Action = iota // any worker
	ToCanary               // any worker, one set apart for unseen shapes first
	ToLane                 // alone in the lane
	Twin                   // an unproven copy is in flight: wait for it, ask again
	Refuse                 // quarantined
)

// Cause says which rule made a [Decision].
type Cause uint8

// The causes.
const (
	ByDefault Cause = iota
	BySuspicion
	ByProbe
	ByCondition
	ByShape
	ByClient
	ByVerdict
	ByShapeVerdict
)

// Decision answers [Book.Admit].
type Decision struct {
	Action Action
	Cause  Cause
	// Score orders the lane: highest first.
	Score float64
	// Overflow allows the fleet when the lane is full: its shape mostly succeeds.
	Overflow bool
	// Proven says that the work has succeeded often enough to share a batch.
	Proven bool
	// Until is when a Refuse ends at the earliest.
	Until time.Time
}

// Ticket is the hold that one piece of work has on the book.
type Ticket uint32

// Result says how one attempt ended without the end of its epoch.
type Result uint8

// The results.
const (
	Survived   Result = iota // the worker answered, whatever it answered
	Unsent                   // not a byte left: as if it had not been
	Faulted                  // the connection broke, the worker lives
	Overstayed               // no answer by the deadline, the worker lives
	Abandoned                // the caller hung up
)

// Finding is what a crash left on a ticket.
type Finding struct {
	Share     float64
	Score     float64 // of the fingerprint, after the crash
	Convicted bool
	Gated     bool // convictions are suspended
	Planned   bool // the epoch's end blames nobody
}

const none = ^uint32(0)

type ticket struct {
	work    Work
	epoch   uint32 // index of the epoch it is in flight on, or none
	prev    uint32 // neighbours in the epoch's list
	next    uint32
	kase    uint32 // the case it holds the claim of, or none
	group   uint32 // the group it probes, or none
	started int64
	overdue int64 // when its attempt counts as overdue; 0 never
	begunAt int64 // when its answer began; 0 not yet
	prior   float32
	leads   bool   // unproven copies wait for it
	wave    uint8  // how often the lead has passed on while answers streamed
	room    uint16 // copies that may still join its wave
	canary  bool
	probe   bool // it tries work that stands convicted
	lane    bool
	live    bool // between Admit and Close
	finding Finding
	found   bool
}

// Book is everything known about the work of one fleet. Create it with [New].
type Book struct {
	cfg   Config
	start int64

	tickets []ticket
	free    []uint32

	epochs    []epoch
	freeEpoch []uint32
	byEpoch   map[uint64]uint32

	cases   []kase
	freeK   []uint32
	details []detail
	freeD   []uint32
	nextD   uint32
	byFP    map[bezoar.Fingerprint]uint32
	leaders map[bezoar.Fingerprint]uint32

	proven *proven
	groups groups
	seen   bloom
	gate   gate

	fleet     int // workers, for the gate
	canaries  int
	successes uint64
	attempts  uint64
	crashes   uint64

	events []Event
	merge  map[accusedKey]int // scratch of accuse
}

// New returns an empty book that begins at now. It panics if cfg does not
// validate: check first.
func New(cfg Config, now time.Time) *Book {
	if err := cfg.Validate(); err != nil {
		panic("blame.New: " + err.Error())
	}
	cfg = cfg.WithDefaults()
	b := &Book{
		cfg:     cfg,
		start:   now.UnixNano(),
		byEpoch: map[uint64]uint32{},
		byFP:    map[bezoar.Fingerprint]uint32{},
		leaders: map[bezoar.Fingerprint]uint32{},
		merge:   map[accusedKey]int{},
		proven:  newProven(cfg.MaxProven),
	}
	b.groups.init(cfg.MaxGroups)
	b.seen.init(now.UnixNano())
	b.gate.init()
	return b
}

// SetFleet tells the book how many workers there are, for the fleet gate.
func (b *Book) SetFleet(workers int) { b.fleet = workers }

func (b *Book) second(now int64) uint32 { return uint32(max(0, now-b.start) / int64(time.Second)) }

func (b *Book) rule(w *Work) *Rule {
	if w.Rule != nil {
		return w.Rule
	}
	return &b.cfg.Rule
}

// Admit decides where w goes and opens a ticket for it. For Twin and Refuse no
// ticket is opened; for everything else the caller owes [Book.Close].
func (b *Book) Admit(now time.Time, w Work) (Ticket, Decision) {
	t := now.UnixNano()
	d, kase, group := b.judge(t, &w)
	if d.Action == Twin || d.Action == Refuse {
		return Ticket(none), d
	}
	i := b.takeTicket()
	tk := &b.tickets[i]
	*tk = ticket{work: w, epoch: none, kase: kase, group: group, live: true}
	if kase != none {
		b.cases[kase].claim = i
		if d.Cause == ByProbe {
			tk.probe = true
			b.emitCase(Probed, t, kase, nil)
		}
	}
	if group != none {
		b.groups.all[group].claim = i
		b.emitGroup(Probed, t, &b.groups.all[group])
	}
	if kase == none && !d.Proven {
		b.lead(i)
		if d.Action == ToFleet && b.canaries < b.cfg.CanaryMax && b.unseen(t, &w) {
			b.canaries++
			tk.canary = true
			d.Action = ToCanary
		}
	}
	// What kills in company never shares a batch.
	d.Proven = d.Cause != ByCondition && b.proven.successes(w.Fingerprint, b.second(t)) >= provenWell
	return Ticket(i), d
}

// Redrive opens a ticket for work that an operator sends through the lane
// whatever is held against it. It reports false while a copy is in the lane.
func (b *Book) Redrive(w Work) (Ticket, bool) {
	kase := none
	if i, ok := b.byFP[w.Fingerprint]; ok && b.cases[i].state != unheld {
		if b.cases[i].claim != none {
			return Ticket(none), false
		}
		kase = i
	}
	i := b.takeTicket()
	b.tickets[i] = ticket{work: w, epoch: none, kase: kase, group: none, probe: true, live: true}
	if kase != none {
		b.cases[kase].claim = i
	} else if _, ok := b.leaders[w.Fingerprint]; !ok {
		b.lead(i)
	}
	return Ticket(i), true
}

// Open opens a ticket without a decision: for work whose route has the
// quarantine off.
func (b *Book) Open(w Work) Ticket {
	i := b.takeTicket()
	b.tickets[i] = ticket{work: w, epoch: none, kase: none, group: none, live: true}
	return Ticket(i)
}

// judge returns the decision for w, and the case and group that a ticket must
// claim.
func (b *Book) judge(now int64, w *Work) (d Decision, kase, group uint32) {
	kase, group = none, none
	if len(b.byFP) > 0 {
		if i, ok := b.byFP[w.Fingerprint]; ok {
			if d, decided := b.judgeCase(now, i); decided {
				if d.Action == ToLane {
					kase = i
				}
				return d, kase, group
			}
		}
	}
	s := b.proven.successes(w.Fingerprint, b.second(now))
	d.Proven = s >= provenEnough
	if d, g, decided := b.judgeGroups(now, w, s); decided {
		if d.Action == ToLane {
			if b.mustWait(now, w.Fingerprint) {
				return Decision{Action: Twin}, kase, group
			}
			group = g
		}
		return d, kase, group
	}
	if s < provenEnough && b.mustWait(now, w.Fingerprint) {
		d.Action = Twin
	}
	return d, kase, group
}

// provenEnough is the decayed successes from which copies stop waiting for one
// another.
const provenEnough = 0.5

// provenWell is the decayed successes from which work counts as proven against
// evidence: it needs one more crash in the lane, and shares a batch there.
const provenWell = 2.5

// provenPopular is the decayed successes from which it needs yet another crash
// there.
const provenPopular = 32

func (b *Book) takeTicket() uint32 {
	if n := len(b.free); n > 0 {
		i := b.free[n-1]
		b.free = b.free[:n-1]
		return i
	}
	b.tickets = append(b.tickets, ticket{})
	return uint32(len(b.tickets) - 1)
}

// Begin records an attempt of t on epoch, before its first byte leaves. overdue
// is by when its answer must begin, zero for never. It reports false when the
// epoch has ended: nothing may be sent then.
func (b *Book) Begin(now time.Time, t Ticket, epoch uint64, overdue time.Time, lane bool) bool {
	e, ok := b.byEpoch[epoch]
	if !ok {
		return false
	}
	tk := &b.tickets[t]
	tk.started, tk.begunAt, tk.overdue = now.UnixNano(), 0, 0
	if !overdue.IsZero() {
		tk.overdue = overdue.UnixNano()
	}
	tk.lane, tk.found, tk.finding = lane, false, Finding{}
	tk.prior = float32(1 / (b.proven.successes(tk.work.Fingerprint, b.second(tk.started)) + 2))
	b.link(uint32(t), e)
	b.attempts++
	return true
}

// Successes returns the decayed successes that t's work had when its attempt
// began.
func (b *Book) Successes(t Ticket) float64 { return 1/float64(b.tickets[t].prior) - 2 }

// Begun notes that the answer to t's attempt has begun.
func (b *Book) Begun(now time.Time, t Ticket) { b.tickets[t].begunAt = now.UnixNano() }

// End ends t's attempt. If a crash has been found on it meanwhile, that stands
// and End does nothing.
func (b *Book) End(now time.Time, t Ticket, r Result) {
	tk := &b.tickets[t]
	if tk.found || tk.epoch == none {
		return
	}
	e := &b.epochs[tk.epoch]
	b.unlink(uint32(t))
	at := now.UnixNano()
	switch r {
	case Survived:
		b.survived(at, tk, e)
	case Unsent:
		b.attempts--
	case Faulted, Overstayed:
		b.strike(at, tk, e, r)
	case Abandoned:
		e.haunt(ghost{work: tk.work, started: tk.started, left: at, prior: tk.prior, overdue: tk.overdue, begun: tk.begunAt != 0, lane: tk.lane})
	}
}

func (b *Book) survived(now int64, tk *ticket, e *epoch) {
	b.successes++
	b.gate.success(now)
	e.answered = max(e.answered, tk.started)
	b.proven.add(tk.work.Fingerprint, b.second(now))
	b.groups.success(b, now, tk)
	if len(b.byFP) > 0 {
		if i, ok := b.byFP[tk.work.Fingerprint]; ok {
			b.cleared(now, i, tk.lane)
		}
	}
}

// Finding returns what a crash left on t, once.
func (b *Book) Finding(t Ticket) (Finding, bool) {
	tk := &b.tickets[t]
	f, ok := tk.finding, tk.found
	tk.found, tk.finding = false, Finding{}
	return f, ok
}

// Close gives the ticket back. Copies that waited for it may ask again: the
// caller wakes them when led is true.
func (b *Book) Close(t Ticket) (led bool) {
	tk := &b.tickets[t]
	if !tk.live {
		return false
	}
	if tk.epoch != none {
		b.unlink(uint32(t))
	}
	if tk.leads {
		delete(b.leaders, tk.work.Fingerprint)
		led = true
	}
	if tk.canary {
		b.canaries--
	}
	if tk.kase != none {
		if c := &b.cases[tk.kase]; c.claim == uint32(t) {
			c.claim = none
			led = true
		}
	}
	if tk.group != none {
		if g := &b.groups.all[tk.group]; g.claim == uint32(t) {
			g.claim = none
		}
	}
	*tk = ticket{epoch: none, kase: none, group: none}
	b.free = append(b.free, uint32(t))
	return led
}
