package blame

import (
	"fmt"

	"github.com/bezoar-dev/bezoar"
)

// Wakes reports whether somebody's Close is going to say that copies of fp may
// ask again.
func (b *Book) Wakes(fp bezoar.Fingerprint) bool {
	if _, ok := b.leaders[fp]; ok {
		return true
	}
	i, ok := b.byFP[fp]
	return ok && b.cases[i].claim != none
}

// Check reports the first of the book's indices that does not agree with the
// others.
func (b *Book) Check() error {
	for _, check := range []func() error{b.checkEpochs, b.checkTickets, b.checkCases, b.checkGroups} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (b *Book) checkEpochs() error {
	inFlight := 0
	for id, e := range b.byEpoch {
		ep := &b.epochs[e]
		if ep.id != id {
			return fmt.Errorf("epoch %d is filed as %d", ep.id, id)
		}
		n, prev := 0, none
		for t := ep.head; t != none; t = b.tickets[t].next {
			tk := &b.tickets[t]
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
	for t := range b.tickets {
		if b.tickets[t].epoch != none {
			inFlight--
		}
	}
	if inFlight != 0 || len(b.byEpoch)+len(b.freeEpoch) != len(b.epochs) {
		return fmt.Errorf("%d tickets are in flight nowhere; %d epochs open, %d free of %d", -inFlight, len(b.byEpoch), len(b.freeEpoch), len(b.epochs))
	}
	return nil
}

func (b *Book) checkTickets() error {
	free := map[uint32]bool{}
	for _, t := range b.free {
		if free[t] || b.tickets[t].live {
			return fmt.Errorf("ticket %d is free twice, or open", t)
		}
		free[t] = true
	}
	canaries, leaders := 0, 0
	for t := range b.tickets {
		tk := &b.tickets[t]
		if tk.live == free[uint32(t)] {
			return fmt.Errorf("ticket %d: live %v, free %v", t, tk.live, free[uint32(t)])
		}
		if tk.canary {
			canaries++
		}
		if tk.leads {
			leaders++
			if b.leaders[tk.work.Fingerprint] != uint32(t) {
				return fmt.Errorf("ticket %d leads, and copies wait for %d", t, b.leaders[tk.work.Fingerprint])
			}
		}
	}
	if canaries != b.canaries || leaders != len(b.leaders) {
		return fmt.Errorf("%d canaries counted as %d, %d leaders as %d", canaries, b.canaries, leaders, len(b.leaders))
	}
	return nil
}

func (b *Book) checkCases() error {
	details := 0
	for fp, i := range b.byFP {
		c := &b.cases[i]
		if c.work.Fingerprint != fp {
			return fmt.Errorf("case %d of %v is filed under %v", i, c.work.Fingerprint, fp)
		}
		if int(c.crashes) > len(c.counts) || int(c.struck) > len(c.strikes) || c.score() < 0 {
			return fmt.Errorf("case %d: %+v", i, c)
		}
		if c.claim != none {
			if tk := &b.tickets[c.claim]; !tk.live || tk.kase != i || tk.work.Fingerprint != fp {
				return fmt.Errorf("case %d is claimed by %+v", i, tk)
			}
		}
		if c.detail != none {
			details++
			if b.details[c.detail].kase != i {
				return fmt.Errorf("case %d has the detail of %d", i, b.details[c.detail].kase)
			}
		}
		if c.state != unheld && c.id == 0 {
			return fmt.Errorf("case %d is held without an id", i)
		}
	}
	if len(b.byFP)+len(b.freeK) != len(b.cases) || details+len(b.freeD) != len(b.details) {
		return fmt.Errorf("%d cases, %d free of %d; %d details, %d free of %d",
			len(b.byFP), len(b.freeK), len(b.cases), details, len(b.freeD), len(b.details))
	}
	return nil
}

func (b *Book) checkGroups() error {
	active := 0
	for i := range b.groups.all {
		g := &b.groups.all[i]
		if b.groups.byFP[g.fp] != uint32(i) {
			return fmt.Errorf("group %d is filed as %d", i, b.groups.byFP[g.fp])
		}
		if g.state != unheld {
			active++
		}
		if g.claim != none && !b.tickets[g.claim].live {
			return fmt.Errorf("group %d is claimed by a ticket that was given back", i)
		}
		if g.good < 0 || g.bad < -1e-9 || g.laneBad < 0 || g.laneGood < 0 {
			return fmt.Errorf("group %d: %+v", i, g)
		}
	}
	if active != b.groups.active || len(b.groups.byFP) != len(b.groups.all) {
		return fmt.Errorf("%d active groups counted as %d; %d filed of %d", active, b.groups.active, len(b.groups.byFP), len(b.groups.all))
	}
	return nil
}
