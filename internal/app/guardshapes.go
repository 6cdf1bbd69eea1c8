package app

import (
	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// guardShapes returns at most limit shapes of a guard, with the verdicts of its fleet's ledger on them.
func (a *App) guardShapes(g *routeGuard, limit int) []adminapi.GuardShape {
	held := map[bezoar.Fingerprint]*bezoar.Verdict{}
	if u := a.now.Load().byName[g.fleet]; u != nil {
		for _, v := range u.ledger.Verdicts() {
			if v.Scope == bezoar.ScopeShape {
				held[v.Fingerprint] = &v
			}
		}
	}
	stats := g.guard.Shapes(limit)
	out := make([]adminapi.GuardShape, len(stats))
	for i, s := range stats {
		out[i].ShapeStats = s
		if v := held[s.Fingerprint]; v != nil && !s.Fingerprint.IsZero() {
			out[i].Verdict, out[i].State, out[i].Score, out[i].Refused = v.ID, v.State, v.Score, v.Refused
		}
	}
	return out
}
