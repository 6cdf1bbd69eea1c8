package blame

import (
	"fmt"

	"github.com/bezoar-dev/bezoar"
)

// Wakes reports whether somebody's Close is going to say that copies of fp may
// ask again.
func (state *State) Wakes(fp bezoar.Fingerprint) bool {
	if d, ok := state.leaders[fp]; ok && d.running > 0 {
		return true
	}
	for i, ok := state.byFP[fp]; ok && i != none; i = state.cases[i].after {
		if state.cases[i].claim != none {
			return true
		}
	}
	return false
}

// Check reports the first of the state's indices that does not agree with the
// others.
func (state *State) Check() error {
	for _, check := range []func() error{state.checkEpochs, state.checkTickets, state.checkCases, state.checkGroups} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (state *State) checkEpochs() error {
	inFlight := 0
	for id, e := range state.byEpoch {
		ep := &state.epochs[e]
		if ep.id != id {
			return fmt.Errorf("epoch %d is filed as %d", ep.id, id)
		}
		n, prev := 0, none
		for t := ep.head; t != none; t = state.tickets[t].next {
			tk := &state.tickets[t]
			if !tk.live || tk.epoch != e || tk.prev != prev {
				return fmt.Errorf("ticket %d in epoch %d's list: %+v", t, id, tk)
			}
			prev = t
			n++
		}
		if n != ep.inFlight {
			return fmt.Errorf("epoch %d counts %d in flight and lists %d", id, ep.inFlight, n)
		}
		inFlight += n
	}
	for t := range state.tickets {
		if state.tickets[t].epoch != none {
			inFlight--
		}
	}
	if inFlight != 0 || len(state.byEpoch)+len(state.freeEpochs) != len(state.epochs) {
		return fmt.Errorf("%d tickets are in flight nowhere; %d epochs open, %d free of %d", -inFlight, len(state.byEpoch), len(state.freeEpochs), len(state.epochs))
	}
	return nil
}

func (state *State) checkTickets() error {
	free := map[uint32]bool{}
	for _, t := range state.freeTickets {
		if free[t] || state.tickets[t].live {
			return fmt.Errorf("ticket %d is free twice, or open", t)
		}
		free[t] = true
	}
	canaries, leaders := 0, 0
	for t := range state.tickets {
		tk := &state.tickets[t]
		if tk.live == free[uint32(t)] {
			return fmt.Errorf("ticket %d: live %v, free %v", t, tk.live, free[uint32(t)])
		}
		if tk.canary {
			canaries++
		}
		if tk.leader {
			leaders++
			if state.leaders[tk.work.Fingerprint].running == 0 {
				return fmt.Errorf("ticket %d leads, and nothing of it is said to run", t)
			}
		}
	}
	for _, d := range state.leaders {
		leaders -= int(d.running)
	}
	if canaries != state.canaries || leaders != 0 {
		return fmt.Errorf("%d canaries counted as %d, %d leaders more than counted", canaries, state.canaries, leaders)
	}
	return nil
}

func (state *State) checkCases() error {
	details := 0
	listed := 0
	for fp, i := range state.byFP {
		for before := none; i != none; before, i = i, state.cases[i].after {
			listed++
			if c := &state.cases[i]; c.work.Fingerprint != fp || c.before != before || state.byVariant[c.work.Variant] != i {
				return fmt.Errorf("case %d of %v is listed under %v behind %d", i, c.work.Fingerprint, fp, before)
			}
		}
	}
	if listed != len(state.byVariant) {
		return fmt.Errorf("%d cases are listed of %d", listed, len(state.byVariant))
	}
	for variant, i := range state.byVariant {
		c := &state.cases[i]
		if c.work.Variant != variant {
			return fmt.Errorf("case %d of %v is filed under %v", i, c.work.Variant, variant)
		}
		if int(c.crashes) > len(c.counts) || int(c.struck) > len(c.strikes) || c.score() < 0 {
			return fmt.Errorf("case %d: %+v", i, c)
		}
		if c.claim != none {
			if tk := &state.tickets[c.claim]; !tk.live || tk.caseIndex != i || tk.work.Fingerprint != c.work.Fingerprint {
				return fmt.Errorf("case %d is claimed by %+v", i, tk)
			}
		}
		if c.detail != none {
			details++
			if state.details[c.detail].caseIndex != i {
				return fmt.Errorf("case %d has the detail of %d", i, state.details[c.detail].caseIndex)
			}
		}
		if c.state != unheld && c.id == 0 {
			return fmt.Errorf("case %d is held without an id", i)
		}
	}
	if len(state.byVariant)+len(state.freeCases) != len(state.cases) || details+len(state.freeDetails) != len(state.details) {
		return fmt.Errorf("%d cases, %d free of %d; %d details, %d free of %d",
			len(state.byVariant), len(state.freeCases), len(state.cases), details, len(state.freeDetails), len(state.details))
	}
	return nil
}

func (state *State) checkGroups() error {
	active := 0
	for i := range state.groups.all {
		g := &state.groups.all[i]
		if state.groups.byFP[g.fp] != uint32(i) {
			return fmt.Errorf("group %d is filed as %d", i, state.groups.byFP[g.fp])
		}
		if g.state != unheld {
			active++
		}
		if g.claim != none && !state.tickets[g.claim].live {
			return fmt.Errorf("group %d is claimed by a ticket that was given back", i)
		}
		if g.ran < 0 || g.blamed < -1e-9 || g.pace < 0 {
			return fmt.Errorf("group %d: %+v", i, g)
		}
	}
	if active != state.groups.active || len(state.groups.byFP) != len(state.groups.all) {
		return fmt.Errorf("%d active groups counted as %d; %d filed of %d", active, state.groups.active, len(state.groups.byFP), len(state.groups.all))
	}
	return nil
}
