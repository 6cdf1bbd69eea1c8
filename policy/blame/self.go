package blame

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Self is the worker's name in evidence of Bezoar's own death.
const Self = "bezoar"

// InFlight is one piece of work that was in flight when Bezoar itself died.
type InFlight struct {
	Work      Work
	Successes float64 // decayed, when it was sent
}

// Proof is what a death of Bezoar itself proves.
type Proof uint8

// The proofs.
const (
	NoProof     Proof = iota // a kill from outside, a power failure, a panic over other work, or nobody knows
	Panicked                 // Bezoar panicked
	OutOfMemory              // the kernel killed Bezoar for memory, or it got none
)

// SelfDeath is how Bezoar itself died.
type SelfDeath struct {
	Proof     Proof
	Line      string   // what the panic said; "" when it is not known
	Trace     []string // its first lines
	Elsewhere int      // distinct pieces of work in flight beside those of this state
}

// provenSelf is the deaths of Bezoar for lack of memory that convict. Rules may
// ask for more.
const provenSelf = 2

// SelfCrash accounts for Bezoar's own death with flight in flight, and returns
// how many pieces of work it convicted and how many more it made suspects.
//
// Without proof nobody is blamed. A panic convicts the work that was alone in
// flight. Deaths for lack of memory convict what was in flight at two of them,
// if nothing else of this flight was at that many. Neither convicts work with a
// success. All other work of the flight runs in the lane until it is cleared,
// unless it had successes in company.
func (state *State) SelfCrash(now time.Time, flight []InFlight, d SelfDeath) (convicted, suspected int) {
	if d.Proof == NoProof || len(flight) == 0 {
		return 0, 0
	}
	at := now.UnixNano()
	acc := state.accuseFlight(flight, d.Elsewhere)
	alone := len(acc) == 1 && d.Elsewhere == 0
	guilty := state.guiltyOfSelf(at, acc, alone, d.Proof)
	for i := range acc {
		a := &acc[i]
		if a.work.Exempt || !alone && !unproven(a) {
			continue
		}
		switch state.blameSelf(at, a, i == guilty, d.evidence(now, a, alone, len(flight), len(acc)-1)) {
		case Convicted:
			convicted++
		case Suspect:
			suspected++
		}
	}
	return convicted, suspected
}

// accuseFlight is one accused for each distinct piece of work. What was in
// flight elsewhere takes the share of as many that never succeeded.
func (state *State) accuseFlight(flight []InFlight, elsewhere int) []accused {
	acc := make([]accused, 0, len(flight))
	clear(state.merge)
	for _, f := range flight {
		prior := 1 / (f.Successes + 2)
		state.accuseOne(&acc, accused{ticket: none, group: none, work: f.Work, record: f.Successes, prior: prior, weight: prior})
	}
	share(acc, float64(elsewhere)/2)
	return acc
}

func unproven(a *accused) bool { return 1/a.prior-2 < provenEnough }

// guiltyOfSelf returns which of acc the proof convicts, or -1.
func (state *State) guiltyOfSelf(now int64, acc []accused, alone bool, p Proof) int {
	if p == Panicked {
		if alone && unproven(&acc[0]) {
			return 0
		}
		return -1
	}
	guilty := -1
	for i := range acc {
		a := &acc[i]
		if !unproven(a) || state.starved(now, a)+1 < max(provenSelf, state.rule(&a.work).After) {
			continue
		}
		if guilty >= 0 {
			return -1 // it may be the one or the other
		}
		guilty = i
	}
	return guilty
}

// starved counts the deaths of Bezoar for lack of memory at which a's work was
// in flight.
func (state *State) starved(now int64, a *accused) (deaths int) {
	i, ok := state.byVariant[a.work.variant()]
	if !ok {
		return 0
	}
	state.refresh(now, i)
	c := &state.cases[i]
	for _, n := range c.counts[:c.crashes] {
		if n.self && n.oom {
			deaths++
		}
	}
	return deaths
}

// evidence is d as seen from a.
func (d *SelfDeath) evidence(now time.Time, a *accused, alone bool, attempts, others int) bezoar.Evidence {
	ev := bezoar.Evidence{
		Worker: Self, At: now, Class: bezoar.Crash, ExitCode: -1, Stderr: d.Trace,
		InFlight: attempts + d.Elsewhere, Share: a.share,
	}
	what, company := "panicked", "alone"
	if d.Proof == OutOfMemory {
		what, ev.Class = "ran out of memory", bezoar.OOM
	}
	if !alone {
		company = "and " + plural(others+d.Elsewhere, "other")
	}
	ev.Detail = fmt.Sprintf("Bezoar itself %s with this %s in flight", what, company)
	if d.Line != "" {
		ev.Detail += ": " + d.Line
	}
	return ev
}

// blameSelf lays a's share at its door. It returns [Convicted], [Suspect], or
// [Dropped] for what serves its time or finds no room.
func (state *State) blameSelf(now int64, a *accused, guilty bool, ev bezoar.Evidence) EventKind {
	i := state.caseFor(now, &a.work)
	if i == none {
		return Dropped
	}
	c := &state.cases[i]
	if c.state == quarantined && now < c.until {
		return Dropped
	}
	c.addCount(count{at: state.secondOf(now), share: float32(a.share), self: true, oom: ev.Class == bezoar.OOM})
	state.addEvidence(i, &ev)
	switch {
	case guilty:
		state.convict(now, i, ev.Class, state.selfReason(now, a, &ev), &ev)
		return Convicted
	case c.state == quarantined: // its probe did not come back clean
		c.until = now + state.term(state.rule(&c.work), int(c.level))
		state.emitCase(Convicted, now, i, &ev)
		return Convicted
	case c.state == unheld:
		c.state, c.since, c.cause = suspected, now, ev.Class
	}
	state.emitCase(Suspect, now, i, &ev)
	return Suspect
}

func (state *State) selfReason(now int64, a *accused, ev *bezoar.Evidence) string {
	if ev.Class != bezoar.OOM {
		return ev.Detail
	}
	return fmt.Sprintf("was in flight at %s of Bezoar itself for lack of memory, as nothing else was, and has never succeeded", plural(state.starved(now, a), "death"))
}
