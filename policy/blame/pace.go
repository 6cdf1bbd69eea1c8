package blame

import (
	"time"

	"github.com/bezoar-dev/bezoar"
)

// The pace at which unproven work of an escalated level may run, a second.
const (
	firstPace   = 0.5
	slowestPace = 1.0 / 64  // of a shape
	slowestTurn = 1.0 / 256 // of a caller: all others go on
	freePace    = 64.0      // from there on it is no limit
	paceWins    = 8         // successes that double it, and twice as many for each death …
	freeDeaths  = 2         // … after these, so that good work among the pills does not keep it up
	shapeSlows  = 2.0       // a death divides a shape's pace by it
	clientSlows = 64.0      // … a caller's, who is one of many
	moreSlows   = 8.0       // … if it was suspect already, unlike what has killed, or may kill after its answer: such work must be tried to be known
)

// pacing lets work through one by one.
type pacing struct {
	pace   float64 // a second
	next   int64   // when the next may run
	wins   int     // successes since the pace last changed
	deaths int     // since it began
}

func newPacing(now int64) pacing {
	p := pacing{pace: firstPace}
	p.next = now + p.gap()
	return p
}

func (p *pacing) gap() int64 { return int64(float64(time.Second) / p.pace) }

// slow divides a pace of g after a death by suspect work, or by new work. Others than
// one caller's go on, so that a caller's falls faster than a shape's, and further.
func (g *group) slow(now int64, p *pacing, suspect bool) {
	by := shapeSlows
	switch {
	case g.kind != ofClient:
	case suspect || g.late || p == &g.fresh:
		by = moreSlows
	default:
		by = clientSlows
	}
	p.deaths++
	p.wins = 0
	p.pace = max(g.slowest(), min(p.pace, firstPace*2)/by)
	p.next = max(p.next, now+p.gap())
}

// slowest is the least pace that g can have.
func (g *group) slowest() float64 {
	if g.kind == ofClient {
		return slowestTurn
	}
	return slowestPace
}

// quicken lets an escalated level run faster after successes in the lane.
func (g *group) quicken(lane bool, p *pacing) {
	const maxDoublings = 8
	if g.state != suspected || !lane || p.pace >= freePace {
		return
	}
	if p.wins++; p.wins >= paceWins<<min(max(p.deaths-freeDeaths, 0), maxDoublings) {
		p.wins = 0
		p.pace *= 2
	}
}

// paceOfShape returns the pace of work with these features, of the escalated shape g. What
// has little of what tells the killers apart has a pace of its own: else it would wait for
// the turns of the pills, and never show that the little is harmless. A death of such work
// slows both.
func (state *State) paceOfShape(g *group, shape bezoar.Fingerprint, features []uint64) *pacing {
	if h := state.histories.find(shape); h != nil && len(h.good) >= enoughGood && h.faintly(features) {
		return &g.fresh
	}
	return &g.pacing
}

// paceOf returns the pace of the work w of the caller g. s is w's shape; nil if it is unknown.
// g has two paces: one for the shapes and endpoints that have killed, and a fresh one for all
// others, so that innocents behind an attacker's address do not wait for the turns of pills. A
// death of fresh work slows both, because attackers change their shapes. For work that kills
// after its answer there is one pace: its shape says nothing.
func (g *group) paceOf(now int64, w *Work, s *group) *pacing {
	if g.kind != ofClient || g.late || s != nil && (s.state != unheld || s.deadly(now)) {
		return &g.pacing
	}
	at := w.endpoint()
	for i := range g.killers {
		if k := &g.killers[i]; k.share >= kinDeaths && k.endpoint == at {
			return &g.pacing
		}
	}
	return &g.fresh
}
