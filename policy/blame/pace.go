package blame

import "time"

// The pace at which unproven work of an escalated level may run, a second.
const (
	firstPace   = 0.5
	slowestPace = 1.0 / 64
	freePace    = 64.0 // from there on it is no limit
	paceWins    = 8    // successes that double it, and twice as many for each death …
	freeDeaths  = 2    // … after these, so that good work among the pills does not keep it up
	shapeSlows  = 2    // a death divides a shape's pace by it
	clientSlows = 8    // … and a caller's, who is one of many
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

// slow divides the pace after a death.
func (p *pacing) slow(now int64, by float64) {
	p.deaths++
	p.wins = 0
	p.pace = max(slowestPace, min(p.pace, firstPace*2)/by)
	p.next = max(p.next, now+p.gap())
}

// slows is what a death divides the pace of g by. Others than one caller's go on, so that
// a caller's falls faster than a shape's.
func (g *group) slows() float64 {
	if g.kind == ofClient {
		return clientSlows
	}
	return shapeSlows
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

// paceOf returns the pace that holds for w, whose shape is s or unknown, of the caller g. While
// nothing of the shape has killed, nor anything of the caller's at that endpoint, it is another
// than that of what kills, so that innocents behind the address of an attacker need not wait
// for the turns of pills. A death slows the pace that it came by. Where it came by this one it
// slows both, since attackers change their looks. What kills after its answer is known by no
// shape.
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
