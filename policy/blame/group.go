package blame

import (
	"fmt"
	"math"
	"time"

	"github.com/bezoar-dev/bezoar"
)

const (
	clientDeaths = 1.5       // blame from which a caller may be escalated
	shapeDeaths  = 2.5       // … and a shape, whose callers come first
	groupExcess  = 10        // times the crash rate of everything else
	groupNats    = 5         // … and how surprising its part of the blame is, as a logarithm
	kinDeaths    = 0.5       // blame from which a shape may be escalated when another of its endpoint is
	kinNats      = 1         // … and how surprising that must be
	groupSound   = 16        // successes from which a shape or caller may be established
	groupSeen    = 3         // successes after which a shape is no canary's business
	deadlyFor    = time.Hour // how long work of an escalated caller runs in the lane after a kill of its shape
)

// kind says what a group is of.
type kind uint8

const (
	ofShape    kind = iota
	ofEndpoint      // work at one endpoint whose shapes are new
	ofClient
	ofFeature // requests of one fingerprint that share features
)

// group is what is known of one shape, an endpoint's new shapes, one caller, or one
// fingerprint's requests with certain features.
type group struct {
	fp     bezoar.Fingerprint // the key
	at     bezoar.Fingerprint // of ofShape and ofEndpoint: the endpoint, when it is known
	id     uint64
	rule   *Rule
	kind   kind
	manual bool
	state  standing // unheld, suspected (escalated: its unproven work runs in the lane) or quarantined
	claim  uint32   // the ticket that probes it, or none
	level  uint8
	tally
	killers [maxKillers]culprit
	charged int64 // when one of them last killed
	late    bool  // it may kill after its answer
	unsure  bool  // only its part of the blame speaks against it: none of its work has killed alone since it was escalated
	pacing
	fresh   pacing // of ofClient: for work whose shape has not killed; of a shape: for work that is hardly like the killers
	since   int64
	until   int64
	died    int64 // when it last killed
	refused int64
	reason  string
	sample  string

	of       bezoar.Fingerprint // of ofFeature: the fingerprint
	client   bezoar.Fingerprint // of ofFeature: only this caller's; zero for everybody's
	features []uint64           // of ofFeature: what is refused has all of them
	texts    []string           // … for people
	killed   int                // variants that killed alone
	good     int                // successes that it was compared with
}

// culprit is one variant that is blamed, so that one pill is one killer however
// many deaths it takes to convict it.
type culprit struct {
	variant  bezoar.Fingerprint
	endpoint bezoar.Fingerprint
	client   bezoar.Fingerprint
	share    float64
}

// charge returns by how much the share of w's variant is more than it has been blamed for
// before, and notes it. The smallest makes room.
func (g *group) charge(now int64, w *Work, share float64) float64 {
	if share == 0 {
		return 0
	}
	g.charged = now
	least := 0
	for i := range g.killers {
		k := &g.killers[i]
		if k.variant == w.Variant {
			more := max(0, share-k.share)
			k.share += more
			return more
		}
		if k.share < g.killers[least].share {
			least = i
		}
	}
	if share > g.killers[least].share {
		g.killers[least] = culprit{w.Variant, w.endpoint(), w.Client, share}
	}
	return share
}

// deadly reports whether work of it has killed lately, whoever had the blame.
func (g *group) deadly(now int64) bool {
	if now-g.charged > int64(deadlyFor) {
		return false
	}
	sum := 0.0
	for i := range g.killers {
		sum += g.killers[i].share
	}
	return sum >= kinDeaths
}

// tally counts successes and blame. Both are forgotten with provenHalfLife.
type tally struct {
	ran    float64
	blamed float64
	second uint32
}

func (t *tally) touch(second uint32) {
	if second > t.second {
		f := halved(second - t.second)
		t.ran, t.blamed, t.second = t.ran*f, t.blamed*f, second
	}
}

func (g *group) ratio() float64 {
	if g.ran+g.blamed == 0 {
		return 0
	}
	return g.ran / (g.ran + g.blamed)
}

// established reports whether the shape or caller has a record of running well.
func (g *group) established() bool {
	return g.state == unheld && g.ran >= groupSound && g.ratio() >= 0.97
}

// success counts one, and quickens the pace of what is escalated.
func (gs *groups) success(state *State, now int64, a *answer) {
	second := state.second(now)
	gs.total.touch(second)
	gs.total.ran++
	rule := state.rule(&a.work)
	if g := state.shapeOf(&a.work); g != nil && g.kind == ofEndpoint {
		g.touch(second)
		g.ran++
		if g.state == suspected {
			g.quicken(a.lane, state.paceOfShape(g, a.work.Shape, a.features))
		}
	}
	if g := gs.get(state, a.work.Shape, ofShape, rule); g != nil {
		g.touch(second)
		if g.ran++; g.ran >= groupSeen && g.ran < groupSeen+1 {
			state.seen.add(now, g.fp)
		}
		if g.state == suspected {
			g.quicken(a.lane, state.paceOfShape(g, a.work.Shape, a.features))
		}
	}
	if g := gs.commonOf(a.features); g != nil && now-a.at >= state.lateMost() { // it does not always kill: nothing is held against what others have of it
		state.freeCommon(now, g)
	}
	if g := gs.find(a.probed); g != nil && g.state == quarantined && now >= g.until {
		state.emitGroup(Released, now, g)
		state.clearGroup(g)
	}
	if g := gs.get(state, a.work.Client, ofClient, rule); g != nil {
		g.touch(second)
		g.ran++
		if g.state == suspected {
			g.quicken(a.lane, g.paceOf(now, &a.work, state.shapeOf(&a.work)))
		}
	}
}

// crash lays a's share at the door of its caller and its shape. In a crowd shares say
// little: then a caller is blamed by how surprising it is that its work was there, and
// a shape not at all. A shape does not answer for callers who are escalated already:
// that is the narrower level.
func (gs *groups) crash(state *State, now int64, a *accused, surprise float64) {
	rule := state.rule(&a.work)
	second := state.second(now)
	gs.total.touch(second)
	gs.get(state, a.work.Client, ofClient, rule)
	s := gs.shapeFor(state, a, rule)
	c := gs.find(a.work.Client) // it may have moved, or made room
	share := a.share
	if share < suspicion && !a.lane || a.lane && share < aloneShare && a.crowd {
		share = 0 // what started just before runs alone next, and is blamed then
	}
	suspect := state.isSuspect(&a.work)
	fresh := c != nil && c.paceOf(now, &a.work, s) == &c.fresh
	more := share
	if s != nil {
		more = s.charge(now, &a.work, share)
	}
	if c != nil {
		charged := c.charge(now, &a.work, max(share, surprise))
		if s == nil {
			more = charged
		}
		died, slows := c.deaths, max(share, surprise)
		if a.late && c.state == suspected && a.started < c.since {
			slows = 0 // it ran before there was a pace
		}
		gs.blame(state, now, suspect, c, slows, charged, clientDeaths)
		c.late = c.late || a.late && c.state == suspected && share >= suspicion // by other work next time
		if fresh && c.deaths > died {
			c.slow(now, &c.fresh, false) // it has only moved on
		}
	}
	gs.total.blamed += more
	if f := gs.commonOf(a.features); f != nil && (!a.late || a.started >= f.since) {
		gs.blame(state, now, suspect, f, share, 0, shapeDeaths)
	}
	laned := c != nil && c.state == suspected // by this death, too
	if s != nil && (!laned || s.state != unheld) {
		faint := s.state == suspected && state.paceOfShape(s, a.work.Shape, a.features) == &s.fresh
		died := s.deaths
		gs.blame(state, now, suspect, s, share, more, shapeDeaths)
		if faint && s.deaths > died {
			s.slow(now, &s.fresh, false)
		}
	}
}

func (gs *groups) blame(state *State, now int64, suspect bool, g *group, share, charged, most float64) {
	second := state.second(now)
	g.touch(second)
	g.blamed += charged
	switch {
	case g.state == suspected && share >= suspicion:
		g.died = now
		g.slow(now, &g.pacing, suspect)
	case g.state == unheld && g.blamed >= min(most, kinDeaths) && gs.excessive(state, g, second, most):
		gs.escalate(state, now, g, fmt.Sprintf("it has %.1f of the blame for deaths lately, %d times or more what its part of the traffic explains", g.blamed, groupExcess))
		g.unsure = g.kind != ofFeature
	}
}

// isSuspect reports whether the variant of w was suspect before this death.
func (state *State) isSuspect(w *Work) bool {
	i, ok := state.byVariant[w.variant()]
	return ok && state.cases[i].state == suspected
}

// excessive reports whether the group has more of the blame than its part of the
// traffic explains: it kills groupExcess times as often as everything else, which is
// given half a death to begin with, and chance would lay so much of the blame on so
// small a part of the traffic once in a few hundred times (the bound of Chernoff, 1952,
// for the binomial distribution). A caller who is behind all of the traffic is blamed
// for all deaths, and that says nothing.
func (gs *groups) excessive(state *State, g *group, second uint32, most float64) bool {
	gs.total.touch(second)
	rate := g.blamed / (g.ran + g.blamed)
	explained, kin := gs.explained(g, second)
	least := float64(groupNats)
	if kin {
		most, least = kinDeaths, kinNats
	}
	if g.blamed < most {
		return false
	}
	total := max(gs.total.blamed-explained, g.blamed)
	crashes := total - g.blamed + 0.5
	attempts := max(gs.total.ran+total-g.ran-g.blamed, 0) + 100
	if rate < groupExcess*crashes/attempts {
		return false
	}
	mine, all := state.unproven(g)
	part := min(1, (g.ran+mine+1)/(gs.total.ran+all+2))
	if g.blamed <= total*part {
		return false
	}
	nats := g.blamed * math.Log(g.blamed/(total*part))
	if rest := total - g.blamed; rest > 0 {
		nats += rest * math.Log(rest/(total*(1-part)))
	}
	return nats >= least
}

// unproven counts the answers to the group, and to all, that do not count as successes
// yet. Of a large fleet it looks at some workers.
func (state *State) unproven(g *group) (mine, all float64) {
	const enough = 64
	n := 0
	for i := range state.epochs {
		e := &state.epochs[i]
		if e.answers.open == 0 {
			continue
		}
		if n++; n > enough {
			break
		}
		for j := range e.answers.all {
			a := &e.answers.all[j]
			if a.counted {
				continue
			}
			all++
			if a.work.Client == g.fp || a.work.Shape == g.fp || a.work.Endpoint == g.fp {
				mine++
			}
		}
	}
	return mine, all
}

// escalate sends the group's unproven work to the lane, at a pace.
func (gs *groups) escalate(state *State, now int64, g *group, why string) {
	g.state, g.since, g.died = suspected, now, now
	g.pacing = newPacing(now)
	g.fresh = g.pacing
	if o := gs.slowestKin(g); o != nil { // the killers have only changed their looks
		g.pace, g.deaths = min(firstPace, o.pace), o.deaths
	}
	g.next = now + g.gap()
	gs.active++
	state.changes++
	g.reason = why + ": its unproven work runs in the lane, at a pace that falls with each death"
	state.emitGroup(GroupLaned, now, g)
	if g.kind == ofClient {
		gs.relieve(state, now, g)
	}
}

// escalateCompany escalates a caller whose work was answered before several
// deaths that nothing explains.
func (gs *groups) escalateCompany(state *State, now int64, w *Work) {
	if g := gs.get(state, w.Client, ofClient, state.rule(w)); g != nil && g.state == unheld {
		gs.escalate(state, now, g, fmt.Sprintf("its work was answered shortly before %d deaths that nothing in flight explains", companyDeaths))
	}
}

// escalateFull escalates a shape at once: there is no room to hold its works
// apart.
func (gs *groups) escalateFull(state *State, now int64, a *accused) {
	if g := gs.shapeFor(state, a, state.rule(&a.work)); g != nil && g.state == unheld && !state.gated(now) {
		gs.escalate(state, now, g, "the table of suspects is full, so that its shape answers for it")
	}
}

// refund takes back what was held against groups since oldest: it was the fleet.
// What dies far more often than everything else goes on running in the lane.
func (gs *groups) refund(state *State, now, oldest int64) {
	if gs.active == 0 {
		return
	}
	for i := range gs.all {
		g := &gs.all[i]
		if g.state == unheld || g.manual || g.since < oldest || g.since > now || g.kind == ofFeature && g.of.IsZero() ||
			g.state == suspected && gs.excessive(state, g, state.second(now), 0) {
			continue
		}
		state.emitGroup(Dropped, now, g)
		state.clearGroup(g)
		g.blamed = 0
	}
}
