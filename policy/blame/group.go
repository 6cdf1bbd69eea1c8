package blame

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar"
)

const (
	groupConvicts = 3    // convicts of one shape or client that lane it
	groupExcess   = 10   // times the crash rate of everything else
	groupLaneDied = 2    // further deaths in the lane that quarantine a shape
	groupSound    = 0.99 // success ratio above which a shape is never refused
	groupFair     = 0.90 // success ratio above which laned work may overflow to the fleet
	groupSeen     = 3    // successes after which a shape is no canary's business
)

// group is what is known of one shape or one client.
type group struct {
	fp       bezoar.Fingerprint
	id       uint64
	rule     *Rule
	client   bool
	manual   bool
	state    standing // unheld, suspected (laned) or quarantined
	claim    uint32   // the ticket that probes it, or none
	level    uint8
	good     float64 // successes
	bad      float64 // blame
	convicts [groupConvicts]int64
	laneGood int
	laneBad  int
	since    int64
	until    int64
	died     int64 // when the lane last died of it
	refused  int64
	reason   string
	sample   string
}

func (g *group) ratio() float64 {
	if g.good+g.bad == 0 {
		return 0
	}
	return g.good / (g.good + g.bad)
}

// groups is the bounded table of shapes and clients.
type groups struct {
	max    int
	all    []group
	byFP   map[bezoar.Fingerprint]uint32
	active int // of them laned or quarantined
}

func (gs *groups) init(limit int) {
	gs.max = limit
	gs.byFP = make(map[bezoar.Fingerprint]uint32, 64)
}

func (gs *groups) find(fp bezoar.Fingerprint) *group {
	if fp.IsZero() {
		return nil
	}
	if i, ok := gs.byFP[fp]; ok {
		return &gs.all[i]
	}
	return nil
}

// sound reports whether work of this shape is known to run well.
func (gs *groups) sound(shape bezoar.Fingerprint) bool {
	g := gs.find(shape)
	return g != nil && g.good >= groupSeen && g.ratio() >= 0.5
}

// get finds or makes a group; nil when the table is full of held groups.
func (gs *groups) get(state *State, fp bezoar.Fingerprint, client bool, rule *Rule) *group {
	if fp.IsZero() {
		return nil
	}
	if g := gs.find(fp); g != nil {
		return g
	}
	i := uint32(len(gs.all))
	if len(gs.all) < gs.max {
		gs.all = append(gs.all, group{})
	} else {
		victim := none
		for range evictionSample {
			j := uint32(state.cfg.Rand.IntN(len(gs.all)))
			if g := &gs.all[j]; g.state == unheld && (victim == none || g.good+g.bad < gs.all[victim].good+gs.all[victim].bad) {
				victim = j
			}
		}
		if victim == none {
			return nil
		}
		delete(gs.byFP, gs.all[victim].fp)
		i = victim
	}
	gs.all[i] = group{fp: fp, client: client, rule: rule, claim: none}
	gs.byFP[fp] = i
	return &gs.all[i]
}

func (gs *groups) success(state *State, now int64, tk *ticket) {
	rule := state.rule(&tk.work)
	if g := gs.get(state, tk.work.Shape, false, rule); g != nil {
		if g.good++; g.good == groupSeen {
			state.seen.add(now, g.fp)
		}
		if tk.lane && g.state != unheld {
			g.laneGood++
			gs.probed(state, now, g, tk)
		}
	}
	if g := gs.get(state, tk.work.Client, true, rule); g != nil {
		g.good++
	}
}

// probed releases a quarantined shape whose probe ran clean: it goes on in the
// lane, and is free when it stays quiet there.
func (gs *groups) probed(state *State, now int64, g *group, tk *ticket) {
	if g.state != quarantined || tk.group == none || &gs.all[tk.group] != g || now < g.until {
		return
	}
	if g.manual {
		state.emitGroup(Released, now, g)
		state.clearGroup(g)
		return
	}
	g.state, g.since, g.laneGood, g.laneBad = suspected, now, 0, 0
	g.reason = "a copy that was tried alone ran clean: unproven work of this kind runs alone for a while"
	state.emitGroup(GroupLaned, now, g)
}

func (gs *groups) crash(state *State, now int64, a *accused) {
	rule := state.rule(&a.work)
	if g := gs.get(state, a.work.Shape, false, rule); g != nil {
		g.bad += a.share
		// Of a batch that died, at most one is to blame.
		if a.lane && a.share >= 0.5 && g.state != unheld && !state.gated(now) {
			g.laneBad++
			g.died = now
			gs.quarantine(state, now, g)
		}
	}
	if g := gs.get(state, a.work.Client, true, rule); g != nil {
		g.bad += a.share
	}
}

// quarantine quarantines a laned shape that goes on killing, unless nearly all of
// it runs well.
func (gs *groups) quarantine(state *State, now int64, g *group) {
	probe := g.state == quarantined && now >= g.until
	if g.client || g.ratio() > groupSound || !probe && g.state == quarantined {
		return
	}
	if !probe && (g.laneBad < groupLaneDied || float64(g.laneGood) >= 99*float64(g.laneBad)) {
		return
	}
	g.state, g.since = quarantined, now
	g.level = min(g.level+1, 255-1)
	g.until = now + state.term(g.rule, int(g.level))
	g.reason = fmt.Sprintf("unproven work of this shape killed the lane %d times after %d of its kind were convicted", g.laneBad, groupConvicts)
	state.emitGroup(Convicted, now, g)
}

// convicted counts a conviction against the work's shape and client.
func (gs *groups) convicted(state *State, now int64, w *Work) {
	for _, g := range []*group{gs.find(w.Shape), gs.find(w.Client)} {
		if g == nil || g.state != unheld {
			continue
		}
		copy(g.convicts[:], g.convicts[1:])
		g.convicts[groupConvicts-1] = now
		if g.convicts[0] >= now-int64(g.rule.Within) && g.convicts[0] != 0 && gs.excessive(state, g) {
			gs.lane(state, now, g)
		}
	}
}

// excessive compares the group's crash rate with everything else's.
func (gs *groups) excessive(state *State, g *group) bool {
	if g.client && g.ratio() > groupSound {
		return false
	}
	rate := g.bad / (g.good + g.bad)
	crashes := max(float64(state.crashes)-g.bad, 0) + 0.5
	attempts := max(float64(state.attempts)-g.good-g.bad, 0) + 100
	return rate >= groupExcess*crashes/attempts
}

func (gs *groups) lane(state *State, now int64, g *group) {
	g.state, g.since, g.laneGood, g.laneBad = suspected, now, 0, 0
	gs.active++
	g.reason = fmt.Sprintf("%d of this kind were convicted within %v at %d times the crash rate of everything else: unproven work of it runs alone", groupConvicts, g.rule.Within, groupExcess)
	state.emitGroup(GroupLaned, now, g)
}

// escalate lanes a shape at once: there is no room to hold its works apart.
func (gs *groups) escalate(state *State, now int64, a *accused) {
	if g := gs.get(state, a.work.Shape, false, state.rule(&a.work)); g != nil && g.state == unheld && !state.gated(now) {
		gs.lane(state, now, g)
	}
}

// refund takes back the quarantines of shapes since oldest: they are laned again.
func (gs *groups) refund(state *State, now, oldest int64) {
	if gs.active == 0 {
		return
	}
	for i := range gs.all {
		g := &gs.all[i]
		if g.state == quarantined && !g.manual && g.since >= oldest && g.since <= now {
			g.state, g.since, g.laneGood, g.laneBad = suspected, now, 0, 0
			g.level -= min(g.level, 1)
			state.emitGroup(Refunded, now, g)
		}
	}
}

// refreshGroup lets a laned group go that has not killed the lane for a while.
func (state *State) refreshGroup(now int64, g *group) {
	if g.state == suspected && now-max(g.since, g.died) > int64(g.rule.Within) {
		state.emitGroup(Dropped, now, g)
		state.clearGroup(g)
	}
}

// judgeGroups decides for unproven work of a held shape or client. The index
// returned is the group that the ticket probes. Only an operator's order holds
// proven work, too.
func (state *State) judgeGroups(now int64, w *Work, successes float64) (Decision, uint32, bool) {
	if state.groups.active == 0 {
		return Decision{}, none, false
	}
	for _, fp := range [...]bezoar.Fingerprint{w.Shape, w.Client} {
		i, ok := state.groups.byFP[fp]
		if !ok || fp.IsZero() {
			continue
		}
		g := &state.groups.all[i]
		if successes >= provenWell && !g.manual {
			continue
		}
		state.refreshGroup(now, g)
		switch g.state {
		case quarantined:
			if now < g.until || g.claim != none {
				g.refused++
				return Decision{Action: Refuse, Cause: ByShapeVerdict, Until: time.Unix(0, max(g.until, now+int64(time.Second)))}, none, true
			}
			return Decision{Action: ToLane, Cause: ByProbe}, i, true
		case suspected:
			cause := ByShape
			if g.client {
				cause = ByClient
			}
			return Decision{Action: ToLane, Cause: cause, Overflow: g.ratio() > groupFair}, none, true
		}
	}
	return Decision{}, none, false
}

func (state *State) clearGroup(g *group) {
	if g.state != unheld {
		state.groups.active--
	}
	g.state, g.manual, g.laneBad, g.laneGood, g.level = unheld, false, 0, 0, 0
	g.convicts = [groupConvicts]int64{}
}

// unseen reports whether w's shape has yet to prove itself (canary requests:
// Dean and Barroso, "The Tail at Scale", 2013, moved to admission).
func (state *State) unseen(now int64, w *Work) bool {
	if w.Shape.IsZero() || now-state.start < int64(state.cfg.Learning) {
		return false
	}
	if g := state.groups.find(w.Shape); g != nil && g.good >= groupSeen {
		return false
	}
	return !state.seen.has(w.Shape)
}

func (state *State) emitGroup(k EventKind, now int64, g *group) {
	state.emit(Event{Kind: k, At: time.Unix(0, now), Verdict: state.groupVerdict(g)})
}

func (state *State) groupVerdict(g *group) bezoar.Verdict {
	if g.id == 0 {
		g.id = state.newID()
	}
	v := bezoar.Verdict{
		ID: verdictID(g.id), Scope: bezoar.ScopeShape, State: bezoar.Laned, Fingerprint: g.fp,
		Cause: bezoar.Crash, Reason: g.reason, Sample: g.sample, Score: g.bad, Level: int(g.level),
		Since: time.Unix(0, g.since), Refused: g.refused, Manual: g.manual,
	}
	if g.client {
		v.Scope = bezoar.ScopeClient
	} else {
		v.Shape = g.fp
	}
	if g.state == quarantined {
		v.State, v.Until = bezoar.Quarantined, time.Unix(0, g.until)
		if g.claim != none {
			v.State = bezoar.Probing
		}
	}
	return v
}
