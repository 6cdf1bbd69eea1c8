package blame

import (
	"time"

	"github.com/bezoar-dev/bezoar"
)

const none = ^uint32(0)

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

	proven     *proven
	groups     groups
	histories  histories
	company    company
	timing     timing
	alert      bool // deaths go unexplained, or may: variants are known
	experiment experiment
	seen       bloom
	outlived   *proven // features of answers that workers have outlived
	sampleAt   int64   // when the next request is looked at for it
	gate       gate
	recovery   recovery

	fleet     int // workers, for the gate
	canaries  int
	mutes     []uint32 // epochs that answer nothing
	muted     int64    // when the first of them fell silent
	leading   int      // tickets that duplicates wait for, or that run beside them
	successes uint64
	attempts  uint64
	crashes   uint64
	gap       int64 // the usual time between two answers of a worker

	alertUntil   int64  // variants are known until then
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
		cfg:      cfg,
		start:    now.UnixNano(),
		byEpoch:  map[uint64]uint32{},
		byFP:     map[bezoar.Fingerprint]uint32{},
		leaders:  map[bezoar.Fingerprint]duplicates{},
		merge:    map[accusedKey]int{},
		proven:   newProven(cfg.MaxProven),
		outlived: newProven(maxGoodOnes),
		sampleAt: now.UnixNano() + int64(sampleAfter),
	}
	state.byVariant = map[bezoar.Fingerprint]uint32{}
	state.histories.byFP = map[bezoar.Fingerprint]*history{}
	state.company.seen = map[bezoar.Fingerprint]companion{}
	state.timing = timing{}
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

// Admit decides where w goes and opens a ticket for it. For Duplicate, Pace, HoldBack and
// Refuse no ticket is opened; for everything else the caller owes [State.Close].
func (state *State) Admit(now time.Time, w Work) (Ticket, Decision) {
	t := now.UnixNano()
	v := view{Work: &w}
	d, caseIndex, group := state.judge(t, &v)
	if d.Beside != 0 && state.rule(&w).ReportOnly {
		d = Decision{Would: Duplicate}
	}
	if d.Action != ToFleet && !d.Manual && state.rule(&w).ReportOnly {
		d, caseIndex, group = Decision{Cause: d.Cause, Would: d.Action}, none, none
	}
	paced := false
	if d.Action == ToLane {
		var until int64
		if until, paced = state.paced(t, &v, d.Cause == BySuspicion); until > 0 {
			return Ticket(none), Decision{Action: Pace, Cause: d.Cause, Until: time.Unix(0, until)}
		}
	}
	if d.Action == Duplicate || d.Action == Refuse {
		return Ticket(none), d
	}
	watched := d.Action == ToFleet && state.recovery.until != 0 && state.watched(t, &w)
	if watched {
		if until, held := state.heldBack(t); held {
			return Ticket(none), Decision{Action: HoldBack, Until: time.Unix(0, until)}
		}
	}
	d.Overflow = d.Overflow && state.recovery.until == 0
	v.sampled = v.Traits != nil && state.sampled(t)
	i := state.open(w, &v)
	if watched {
		state.takeSlot(t, i)
	}
	tk := &state.tickets[i]
	tk.caseIndex, tk.group = caseIndex, group
	tk.toLane, tk.paced = d.Action == ToLane, paced
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
		if d.Window == 0 { // what may kill late is found sooner than the longest that it takes
			d.Quiet = min(d.Quiet, trustAfter*state.cfg.Window)
		}
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
	if v.Traits != nil && (v.sampled || state.interesting(&w)) {
		tk.work.variant()
		tk.work.endpoint()
		tk.known = state.interesting(&w)
		tk.features = append(features, state.look(v)...)
	} else if !w.Variant.IsZero() {
		tk.known = !w.whole()
	}
	return i
}

// interesting reports whether it matters what w consists of: deaths go unexplained, a worker is silent, its
// fingerprint or its shape has killed, or its caller is escalated.
func (state *State) interesting(w *Work) bool {
	if state.alert || len(state.mutes) > 0 {
		return true
	}
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
				if until, begun, wait := state.mustWait(now, v.Fingerprint); wait {
					return duplicate(until, begun), caseIndex, none
				}
			}
			return d, caseIndex, g
		}
	}
	if s < provenEnough {
		if until, begun, wait := state.mustWait(now, v.Fingerprint); wait {
			if len(state.mutes) > 0 && state.waitsInVain(v.Work) {
				return Decision{Action: ToLane, Cause: BySilence}, caseIndex, group
			}
			if epoch, ok := state.beside(now, v.Fingerprint); ok {
				return Decision{Beside: epoch}, caseIndex, group
			}
			return duplicate(until, begun), caseIndex, group
		}
	}
	if len(state.mutes) > 0 {
		if apart, overflow := state.silenced(now, v, s); apart {
			return Decision{Action: ToLane, Cause: BySilence, Overflow: overflow}, caseIndex, group
		}
	}
	return d, caseIndex, group
}

// duplicate is the decision for a copy that waits.
func duplicate(until int64, begun bool) Decision {
	d := Decision{Action: Duplicate, Begun: begun}
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
