package blame

import (
	"math"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// laneWinsFree is how many clean lane runs in a row free conditional work the
// first time. Each time after that it takes twice as many: work that goes on
// killing under load must not buy a worker for every eight clean runs.
const (
	laneWinsFree = 8
	maxFreed     = 10
)

// standing is a case's state; unheld ones are kept only for their history.
type standing uint8

const (
	unheld standing = iota
	suspected
	quarantined
	conditional
)

// workCase is what is held against one variant, or one fingerprint as a whole, in
// about 400 bytes. What people want to read besides is in its detail, while there
// is room for one.
type workCase struct {
	work     Work
	id       uint64
	since    int64
	until    int64
	hold     int64 // the worker that its last run was left on may yet die of it: copies wait till then
	refused  int64
	faulted  uint64 // the epoch of the last connection fault
	claim    uint32 // the ticket that runs it in the lane, or none
	before   uint32 // neighbours among the cases of its fingerprint, or none
	after    uint32
	detail   uint32 // index of its detail, or none
	counts   [bezoar.MaxEvidence]count
	strikes  [bezoar.MaxEvidence]int32
	crashes  uint8 // of counts in use
	struck   uint8 // of strikes in use
	pardons  uint8
	relapses uint8  // suspicions after the first pardon
	freed    uint8  // how often it has been freed of being conditional
	wins     uint16 // clean lane runs in a row while conditional
	level    uint8
	state    standing
	cause    bezoar.Class
	manual   bool
	beside   uint8 // times it killed a lane worker on which nothing ran but streams
	unsure   bool  // a death was not counted because its worker had answered what may kill late
	doubted  bool  // a death was not counted because its worker may have been sick
	late     bool  // it may kill after its answer: the lane keeps time free behind it
	clean    bool  // its next run in the lane is to decide
	flight   bool  // it was in flight at a death, and not only answered before some
}

type count struct {
	at    int32 // seconds since the state began
	share float32
	lane  bool // alone in the lane, on a clean worker
	self  bool // Bezoar itself died
	oom   bool // of what it died, with self: for lack of memory
}

func (c *workCase) score() float64 {
	s := 0.0
	for i := range c.crashes {
		s += float64(c.counts[i].share)
	}
	return s
}

// largest is the largest share of the blame for one death.
func (c *workCase) largest() float64 {
	most := float32(0)
	for i := range c.crashes {
		most = max(most, c.counts[i].share)
	}
	return float64(most)
}

// scaleTo takes evidence down to a score: successes have halved it meanwhile.
func (c *workCase) scaleTo(score float64) {
	sum := c.score()
	if sum <= score {
		return
	}
	for i := range c.crashes {
		c.counts[i].share *= float32(score / sum)
	}
}

func (c *workCase) laneCrashes() int {
	n := 0
	for i := range c.crashes {
		if c.counts[i].lane {
			n++
		}
	}
	return n
}

// addCount adds one crash, the newest last; the oldest makes room. Crashes that
// weigh nothing take one place together.
func (c *workCase) addCount(n count) {
	if n.share == 0 && c.crashes > 0 && c.counts[c.crashes-1].share == 0 {
		c.counts[c.crashes-1] = n
		return
	}
	if int(c.crashes) == len(c.counts) {
		copy(c.counts[:], c.counts[1:])
		c.crashes--
	}
	c.counts[c.crashes] = n
	c.crashes++
}

// forget drops counts and strikes older than the window.
func (c *workCase) forget(oldest int32) {
	n := uint8(0)
	for i := range c.crashes {
		if c.counts[i].at >= oldest {
			c.counts[n] = c.counts[i]
			n++
		}
	}
	c.crashes, n = n, 0
	for i := range c.struck {
		if c.strikes[i] >= oldest {
			c.strikes[n] = c.strikes[i]
			n++
		}
	}
	c.struck = n
}

// secondOf is the signed second of an instant, for counts.
func (state *State) secondOf(at int64) int32 { return int32((at - state.start) / int64(time.Second)) }

// caseFor returns the case of w's variant, making one; none when the table is
// full of convicts.
func (state *State) caseFor(now int64, w *Work) uint32 {
	variant := w.variant()
	if i, ok := state.byVariant[variant]; ok {
		state.refresh(now, i)
		return i
	}
	i, ok := state.roomForCase(now)
	if !ok {
		return none
	}
	state.cases[i] = workCase{work: w.kept(), claim: none, detail: none, before: none, after: none}
	if head, ok := state.byFP[w.Fingerprint]; ok {
		state.cases[i].after = head
		state.cases[head].before = i
	} else {
		state.changes++ // other variants may have to run in the lane
	}
	state.byFP[w.Fingerprint] = i
	state.byVariant[variant] = i
	return i
}

// evictionSample bounds the search for the least suspicious case.
const evictionSample = 16

func (state *State) roomForCase(now int64) (uint32, bool) {
	if n := len(state.freeCases); n > 0 {
		i := state.freeCases[n-1]
		state.freeCases = state.freeCases[:n-1]
		return i, true
	}
	if len(state.cases) < state.cfg.MaxCases {
		state.cases = append(state.cases, workCase{before: none, after: none})
		return uint32(len(state.cases) - 1), true
	}
	victim, least := none, math.Inf(1)
	for range evictionSample {
		i := uint32(state.cfg.Rand.IntN(len(state.cases)))
		c := &state.cases[i]
		if c.claim != none {
			continue
		}
		state.refresh(now, i)
		score := c.score()
		switch c.state {
		case conditional:
			continue
		case quarantined:
			// A newcomer never evicts a convict while it serves its time.
			if now < c.until || c.manual {
				continue
			}
			score += 1
		case unheld:
			score -= 1
		}
		if score < least {
			victim, least = i, score
		}
	}
	if victim == none {
		return none, false
	}
	state.dropCase(now, victim)
	state.freeCases = state.freeCases[:len(state.freeCases)-1]
	return victim, true
}

func (state *State) dropCase(now int64, i uint32) {
	c := &state.cases[i]
	if c.state != unheld {
		state.emitCase(Dropped, now, i, nil)
	}
	state.dropDetail(i)
	switch {
	case c.before != none:
		state.cases[c.before].after = c.after
	case c.after != none:
		state.byFP[c.work.Fingerprint] = c.after
	default:
		delete(state.byFP, c.work.Fingerprint)
	}
	if c.after != none {
		state.cases[c.after].before = c.before
	}
	delete(state.byVariant, c.work.Variant)
	*c = workCase{claim: none, detail: none, before: none, after: none}
	state.freeCases = append(state.freeCases, i)
}

// refresh lets time do its part: evidence leaves the window, suspects without
// evidence are clear again.
func (state *State) refresh(now int64, i uint32) {
	c := &state.cases[i]
	c.forget(state.secondOf(now - int64(state.rule(&c.work).Within)))
	if (c.state == suspected || c.state == conditional) && c.crashes == 0 && c.struck == 0 && c.claim == none {
		state.emitCase(Dropped, now, i, nil)
		state.setClear(i)
	}
}

func (state *State) setClear(i uint32) {
	c := &state.cases[i]
	c.state, c.crashes, c.struck, c.relapses, c.wins, c.manual, c.doubted, c.unsure = unheld, 0, 0, 0, 0, false, false, false
	c.late, c.clean, c.flight, c.beside = false, false, false, 0
	state.dropDetail(i)
}

// judgeCase decides for work that has a case; false leaves it to other rules.
func (state *State) judgeCase(now int64, i uint32, w *Work) (Decision, bool) {
	state.refresh(now, i)
	c := &state.cases[i]
	if w.Rule != nil {
		c.work.Rule = w.Rule // settings may have changed
	}
	if state.acquitted(now, i) {
		return Decision{}, false
	}
	d := Decision{Score: c.score(), Largest: c.largest()}
	switch c.state {
	case quarantined:
		if c.claim != none && now-c.since < int64(sameMoment) {
			return Decision{Action: Duplicate}, true // its conviction may still be taken back
		}
		if now < c.until || c.claim != none || !state.mayProbe(c, w) {
			c.refused++
			d.Action, d.Cause, d.Manual, d.Until = Refuse, ByVerdict, c.manual, time.Unix(0, max(c.until, now+int64(time.Second)))
			return d, true
		}
		d.Action, d.Cause, d.Clean = ToLane, ByProbe, c.late
	case suspected, conditional:
		d.Action, d.Cause, d.Clean = ToLane, BySuspicion, c.clean
		if c.state == conditional {
			// It is known, so that suspects come first.
			d.Cause, d.Score = ByCondition, 0
		}
		switch {
		case c.claim != none && !state.begunLongAgo(now, c.claim), state.claimedAsWhole(now, w):
			d.Action = Duplicate
		case now < c.hold:
			return duplicate(c.hold, false), true
		}
	default:
		return Decision{}, false
	}
	if c.late && d.Action == ToLane {
		d.Score += float64(state.evidence(now, c.work.Fingerprint)) // each takes the lane for seconds: the likeliest first
		d.Window = time.Duration(max(0, state.window(now)))
	}
	return d, true
}

// claimedAsWhole reports whether a copy of w, whose variant was not suspect yet, runs in the lane because its whole
// fingerprint was.
func (state *State) claimedAsWhole(now int64, w *Work) bool {
	i, ok := state.byVariant[w.Fingerprint]
	if !ok || w.whole() || state.cases[i].claim == none {
		return false
	}
	claim := state.cases[i].claim
	return state.tickets[claim].work.variant() == w.Variant && !state.begunLongAgo(now, claim)
}

// mayProbe reports whether a copy of w may try what is quarantined: a fingerprint
// that is refused as a whole is tried by a caller whose variants have not killed.
func (state *State) mayProbe(c *workCase, w *Work) bool {
	if c.manual || !c.work.whole() || w.Traits == nil || w.Client.IsZero() {
		return true
	}
	h := state.histories.find(w.Fingerprint)
	return h == nil || !slices.ContainsFunc(h.killers, func(k killer) bool { return k.client == w.Client })
}

// cleared records a clean run of work that has a case.
func (state *State) cleared(now int64, i uint32, lane bool) {
	c := &state.cases[i]
	c.struck = 0
	if !lane {
		for j := range c.crashes {
			c.counts[j].share /= 2
		}
		return
	}
	switch c.state {
	case suspected:
		c.pardons = min(c.pardons+1, 255-1)
		state.emitCase(Pardoned, now, i, nil)
		c.state, c.crashes, c.doubted, c.unsure, c.late, c.clean, c.flight = unheld, 0, false, false, false, false, false
		c.beside = 0
		state.dropDetail(i)
	case quarantined:
		if c.manual && now < c.until {
			return // an operator's order outlives a clean run
		}
		c.pardons = min(c.pardons+1, 255-1)
		state.emitCase(Released, now, i, nil)
		if h := state.histories.find(c.work.Fingerprint); h != nil {
			h.cleared(c.work.Variant, true)
		}
		state.setClear(i)
	case conditional:
		if c.wins++; c.wins >= laneWinsFree<<c.freed {
			state.emitCase(Released, now, i, nil)
			state.setClear(i)
			c.freed, c.relapses = min(c.freed+1, maxFreed), 1
		}
	}
}
