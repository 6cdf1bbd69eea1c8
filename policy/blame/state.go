package blame

import (
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Work is one piece of work as the state sees it.
type Work struct {
	Fingerprint bezoar.Fingerprint
	Shape       bezoar.Fingerprint // zero: no shape is watched
	Client      bezoar.Fingerprint // zero: no client is watched
	Variant     bezoar.Fingerprint // what it is convicted by; zero: Traits are asked when it matters
	Traits      Traits             // nil: its variant is its fingerprint, and it has no features
	Rule        *Rule              // nil means Config.Rule; complete, and never changed
	Exempt      bool               // takes its share of a crash, but nothing is held against it
}

// Action is where admitted work goes.
type Action uint8

// The actions.
const (
	ToFleet   Action = iota // any worker
	ToCanary                // any worker, one set apart for unseen shapes first
	ToLane                  // alone in the lane
	Duplicate               // an unproven copy is in flight: wait for it, ask again
	Refuse                  // quarantined
	Pace                    // what it belongs to has killed: it runs later
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
	ByFingerprint // another variant of its fingerprint has killed, and none has succeeded since
	ByFeature     // it has something that only killers have
	ByVerdict
	ByFeatureVerdict
	ByShapeVerdict // by an operator's order
)

// Decision answers [State.Admit].
type Decision struct {
	Action Action
	Cause  Cause
	// Would is what would have been decided of work whose rule only reports; ToFleet
	// when that is the same.
	Would Action
	// Manual says that an operator has ordered the Refuse.
	Manual bool
	// Score orders the lane: highest first.
	Score float64
	// Overflow allows the fleet when the lane is full: its shape mostly succeeds.
	Overflow bool
	// Proven says that the work has succeeded often enough to share a batch.
	Proven bool
	// Until is when a Refuse ends at the earliest, and when to ask again after a
	// Pace or a Duplicate; zero for a Duplicate when only an end will tell.
	Until time.Time
	// Window is how long the lane's worker must be left alone after the answer, so
	// that its death can be told to be this work's doing. Zero: not at all.
	Window time.Duration
	// Clean asks for a decisive run: alone, on a worker on which nothing else was
	// answered for Quiet.
	Clean bool
	Quiet time.Duration
}

// Ticket is the hold that one piece of work has on the state.
type Ticket uint32

// Result says how one attempt ended without the end of its epoch.
type Result uint8

// The results.
const (
	Survived  Result = iota // the worker answered, whatever it answered
	Unsent                  // not a byte left: as if it had not been
	Faulted                 // the connection broke, the worker lives
	TimedOut                // no answer by the deadline, the worker lives
	Abandoned               // the caller hung up
)

// Finding is what a crash left on a ticket.
type Finding struct {
	Share     float64
	Score     float64 // of the fingerprint, after the crash
	Convicted bool
	Gated     bool // convictions are suspended
	Planned   bool // the epoch's end blames nobody
	Company   bool // it died in the lane with others, or after others: nobody is convicted for it
	Alone     bool // of those the more likely ones: it is to run alone next
	Free      bool // its share was so small that the attempt does not count
}

const none = ^uint32(0)

type ticket struct {
	work      Work
	epoch     uint32 // index of the epoch it is in flight on, or none
	prev      uint32 // neighbours in the epoch's list
	next      uint32
	caseIndex uint32 // the case it holds the claim of, or none
	group     uint32 // the group it probes, or none
	started   int64
	overdue   int64 // when its attempt counts as overdue; 0 never
	begunAt   int64 // when its answer began; 0 not yet
	prior     float32
	changes   uint32 // State.changes when it was admitted
	features  []uint64
	known     bool // its variant and features are known
	leader    bool // unproven copies wait for it
	canary    bool
	probe     bool // it tries work that stands convicted
	lane      bool
	live      bool // between Admit and Close
	finding   Finding
	found     bool
}

// State is everything known about the work of one fleet. Create it with [New].
type State struct {
	cfg   Config
	start int64

	tickets     []ticket
	freeTickets []uint32

	epochs     []epoch
	freeEpochs []uint32
	byEpoch    map[uint64]uint32

	cases       []workCase
	freeCases   []uint32
	details     []detail
	freeDetails []uint32
	nextDetail  uint32
	byFP        map[bezoar.Fingerprint]uint32 // the first case of each fingerprint
	byVariant   map[bezoar.Fingerprint]uint32
	leaders     map[bezoar.Fingerprint]duplicates

	proven    *proven
	groups    groups
	histories histories
	company   company
	seen      bloom
	gate      gate

	fleet     int // workers, for the gate
	canaries  int
	leading   int // tickets that duplicates wait for, or that run beside them
	successes uint64
	attempts  uint64
	crashes   uint64

	carefulUntil int64  // unproven answers are trusted late until then
	changes      uint32 // counts what makes decisions about waiting work obsolete

	events  []Event
	merge   map[accusedKey]int // scratch of accuse
	scratch []uint64           // … of look
}

// New returns an empty state that begins at now. It panics if cfg does not
// validate: check first.
func New(cfg Config, now time.Time) *State {
	if err := cfg.Validate(); err != nil {
		panic("blame.New: " + err.Error())
	}
	cfg = cfg.WithDefaults()
	state := &State{
		cfg:     cfg,
		start:   now.UnixNano(),
		byEpoch: map[uint64]uint32{},
		byFP:    map[bezoar.Fingerprint]uint32{},
		leaders: map[bezoar.Fingerprint]duplicates{},
		merge:   map[accusedKey]int{},
		proven:  newProven(cfg.MaxProven),
	}
	state.byVariant = map[bezoar.Fingerprint]uint32{}
	state.histories.byFP = map[bezoar.Fingerprint]*history{}
	state.company.seen = map[bezoar.Fingerprint]companion{}
	state.groups.init(cfg.MaxGroups)
	state.seen.init(now.UnixNano())
	state.gate.init()
	return state
}

// SetFleet tells the state how many workers there are, for the fleet gate.
func (state *State) SetFleet(workers int) { state.fleet = workers }

func (state *State) second(now int64) uint32 {
	return uint32(max(0, now-state.start) / int64(time.Second))
}

func (state *State) rule(w *Work) *Rule {
	if w.Rule != nil {
		return w.Rule
	}
	return &state.cfg.Rule
}

// Admit decides where w goes and opens a ticket for it. For Duplicate, Pace and
// Refuse no ticket is opened; for everything else the caller owes [State.Close].
func (state *State) Admit(now time.Time, w Work) (Ticket, Decision) {
	t := now.UnixNano()
	v := view{Work: &w}
	d, caseIndex, group := state.judge(t, &v)
	if d.Action != ToFleet && !d.Manual && state.rule(&w).ReportOnly {
		d, caseIndex, group = Decision{Cause: d.Cause, Would: d.Action}, none, none
	}
	if d.Action == ToLane {
		if until, wait := state.paced(t, &v, d.Cause); wait {
			return Ticket(none), Decision{Action: Pace, Cause: d.Cause, Until: time.Unix(0, until)}
		}
	}
	if d.Action == Duplicate || d.Action == Refuse {
		return Ticket(none), d
	}
	i := state.open(w, &v)
	tk := &state.tickets[i]
	tk.caseIndex, tk.group = caseIndex, group
	if caseIndex != none {
		state.cases[caseIndex].claim = i
		if d.Cause == ByProbe {
			tk.probe = true
			state.emitCase(Probed, t, caseIndex, nil)
		}
	}
	if group != none {
		tk.probe = true
		state.groups.all[group].claim = i
		state.emitGroup(Probed, t, &state.groups.all[group])
	}
	if caseIndex == none && !d.Proven {
		state.lead(i)
		if d.Action == ToFleet && state.canaries < state.cfg.CanaryMax && state.unseen(t, &w) {
			state.canaries++
			tk.canary = true
			d.Action = ToCanary
		}
	}
	// What kills in company never shares a batch, nor what nothing speaks for yet.
	d.Proven = d.Cause != ByCondition && state.record(t, &w) >= provenWell
	if g := state.groups.find(w.Client); g != nil && d.Action == ToLane && d.Cause != ByCondition {
		d.Score += g.blamed // whose work has killed before goes first
	}
	if w := state.window(t); w > 0 && d.Action == ToLane && d.Quiet == 0 {
		d.Quiet = time.Duration(w)
	}
	return Ticket(i), d
}

// open returns a new ticket for w.
func (state *State) open(w Work, v *view) uint32 {
	i := state.takeTicket()
	tk := &state.tickets[i]
	features := tk.features[:0]
	*tk = ticket{work: w, epoch: none, caseIndex: none, group: none, live: true, changes: state.changes}
	if v == nil {
		return i
	}
	if v.Traits != nil && state.interesting(&w) {
		tk.work.variant()
		tk.known = true
		tk.features = append(features, state.look(v)...)
	} else if !w.Variant.IsZero() {
		tk.known = !w.whole()
	}
	return i
}

// interesting reports whether it matters what w consists of: its fingerprint or its
// shape has killed, or its caller is escalated.
func (state *State) interesting(w *Work) bool {
	if len(state.histories.byFP) > 0 && (state.histories.find(w.Fingerprint) != nil || state.histories.find(w.Shape) != nil) {
		return true
	}
	if state.groups.active == 0 {
		return false
	}
	g := state.groups.find(w.Client)
	return g != nil && g.state == suspected
}

// Redrive opens a ticket for work that an operator sends through the lane
// whatever is held against it. It reports false while a copy is in the lane.
func (state *State) Redrive(w Work) (Ticket, bool) {
	caseIndex := none
	if i, ok := state.heldCase(&w); ok {
		if state.cases[i].claim != none {
			return Ticket(none), false
		}
		caseIndex = i
	}
	v := view{Work: &w}
	i := state.open(w, &v)
	tk := &state.tickets[i]
	tk.caseIndex, tk.probe = caseIndex, true
	if caseIndex != none {
		state.cases[caseIndex].claim = i
	} else if _, ok := state.leaders[w.Fingerprint]; !ok {
		state.lead(i)
	}
	return Ticket(i), true
}

// Open opens a ticket without a decision: for work whose route has the
// quarantine off.
func (state *State) Open(w Work) Ticket { return Ticket(state.open(w, nil)) }

// heldCase returns the case that is held against w: of its variant, or of its
// fingerprint as a whole.
func (state *State) heldCase(w *Work) (uint32, bool) {
	if _, ok := state.byFP[w.Fingerprint]; !ok {
		return none, false
	}
	for _, key := range [...]bezoar.Fingerprint{w.variant(), w.Fingerprint} {
		if i, ok := state.byVariant[key]; ok && state.cases[i].state != unheld {
			return i, true
		}
	}
	return none, false
}

// judge returns the decision for the work, and the case and group that a ticket
// must claim.
func (state *State) judge(now int64, v *view) (d Decision, caseIndex, group uint32) {
	caseIndex, group = none, none
	if len(state.byFP) > 0 {
		if _, ok := state.byFP[v.Fingerprint]; ok {
			for _, key := range [...]bezoar.Fingerprint{v.variant(), v.Fingerprint} {
				i, ok := state.byVariant[key]
				if !ok {
					continue
				}
				if d, decided := state.judgeCase(now, i, v.Work); decided {
					if d.Action == ToLane {
						caseIndex = i
					}
					return d, caseIndex, group
				}
			}
		}
	}
	s := state.proven.successes(v.Fingerprint, state.second(now))
	d.Proven = s >= provenEnough
	if state.groups.active > 0 || len(state.histories.byFP) > 0 {
		if d, g, decided := state.judgeLevels(now, v, s); decided {
			if d.Action == ToLane && s < provenEnough {
				if until, wait := state.mustWait(now, v.Fingerprint); wait {
					return duplicate(until), caseIndex, none
				}
			}
			return d, caseIndex, g
		}
	}
	if s < provenEnough {
		if until, wait := state.mustWait(now, v.Fingerprint); wait {
			return duplicate(until), caseIndex, group
		}
	}
	return d, caseIndex, group
}

// duplicate is the decision for a copy that waits.
func duplicate(until int64) Decision {
	d := Decision{Action: Duplicate}
	if until != 0 {
		d.Until = time.Unix(0, until)
	}
	return d
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

func (state *State) takeTicket() uint32 {
	if n := len(state.freeTickets); n > 0 {
		i := state.freeTickets[n-1]
		state.freeTickets = state.freeTickets[:n-1]
		return i
	}
	state.tickets = append(state.tickets, ticket{})
	return uint32(len(state.tickets) - 1)
}

// Begin records an attempt of t on epoch, before its first byte leaves. overdue
// is by when its answer must begin, zero for never. It reports false when the
// epoch has ended: nothing may be sent then.
func (state *State) Begin(now time.Time, t Ticket, epoch uint64, overdue time.Time, lane bool) bool {
	e, ok := state.byEpoch[epoch]
	if !ok {
		return false
	}
	tk := &state.tickets[t]
	tk.started, tk.begunAt, tk.overdue = now.UnixNano(), 0, 0
	if !overdue.IsZero() {
		tk.overdue = overdue.UnixNano()
	}
	tk.lane, tk.found, tk.finding = lane, false, Finding{}
	tk.prior = float32(1 / (state.record(tk.started, &tk.work) + 2))
	state.link(uint32(t), e)
	state.attempts++
	return true
}

// Detach lets go of the traits of t's work, whose request is about to be gone, and
// returns the work as it is known from then on.
func (state *State) Detach(t Ticket) Work {
	tk := &state.tickets[t]
	if tk.work.Traits != nil {
		tk.work.variant()
		if len(tk.features) == 0 {
			tk.features = tk.work.features(tk.features)
		}
		tk.known, tk.work.Traits = true, nil
	}
	return tk.work
}

// Successes returns the decayed successes that t's work had when its attempt
// began.
func (state *State) Successes(t Ticket) float64 { return 1/float64(state.tickets[t].prior) - 2 }

// Begun notes that the answer to t's attempt has begun.
func (state *State) Begun(now time.Time, t Ticket) { state.tickets[t].begunAt = now.UnixNano() }

// End ends t's attempt. If a crash has been found on it meanwhile, that stands
// and End does nothing.
func (state *State) End(now time.Time, t Ticket, r Result) {
	tk := &state.tickets[t]
	if tk.found || tk.epoch == none {
		return
	}
	e := &state.epochs[tk.epoch]
	state.unlink(uint32(t))
	at := now.UnixNano()
	switch r {
	case Survived:
		if tk.leader {
			state.leadAnswered(at, tk.work.Fingerprint)
		}
		state.survived(at, tk, e)
	case Unsent:
		state.attempts--
	case Faulted, TimedOut:
		state.strike(at, tk, e, r)
	case Abandoned:
		if tk.lane && tk.caseIndex != none {
			state.cases[tk.caseIndex].hold = at + state.window(at)
		}
		tk.work.variant() // its traits are about to be gone
		e.addAbandoned(abandonedAttempt{work: tk.work.kept(), started: tk.started, left: at, prior: tk.prior, overdue: tk.overdue, begun: tk.begunAt != 0, lane: tk.lane})
	}
}

// Finding returns what a crash left on t, once.
func (state *State) Finding(t Ticket) (Finding, bool) {
	tk := &state.tickets[t]
	f, ok := tk.finding, tk.found
	tk.found, tk.finding = false, Finding{}
	return f, ok
}

// Close gives the ticket back. Copies that waited for it may ask again: the
// caller wakes them when wake is true.
func (state *State) Close(t Ticket) (wake bool) {
	tk := &state.tickets[t]
	if !tk.live {
		return false
	}
	if tk.epoch != none {
		state.unlink(uint32(t))
	}
	if tk.leader {
		state.led(tk)
		wake = true
	}
	if tk.canary {
		state.canaries--
	}
	if tk.caseIndex != none {
		if c := &state.cases[tk.caseIndex]; c.claim == uint32(t) {
			c.claim = none
			wake = true
		}
	}
	if tk.group != none {
		if g := &state.groups.all[tk.group]; g.claim == uint32(t) {
			g.claim = none
		}
	}
	*tk = ticket{epoch: none, caseIndex: none, group: none, features: tk.features[:0]}
	state.freeTickets = append(state.freeTickets, uint32(t))
	return wake
}
