package guard

import (
	"cmp"
	"slices"
)

// FindingTally counts the findings of one predictor that had one action.
type FindingTally struct {
	Predictor string `json:"predictor"`
	Action    Action `json:"action"`
	Count     int64  `json:"count"`
}

// foundKey is of predictors and actions, of which there are a few.
type foundKey struct {
	predictor string
	action    Action
}

// Findings counts the findings in all queries, as far as verdicts list them:
// most frequent first.
func (g *Guard) Findings() []FindingTally {
	g.counts.mu.Lock()
	defer g.counts.mu.Unlock()
	list := make([]FindingTally, 0, len(g.counts.found))
	for k, n := range g.counts.found {
		list = append(list, FindingTally{k.predictor, k.action, n})
	}
	slices.SortFunc(list, func(a, b FindingTally) int {
		return cmp.Or(-cmp.Compare(a.Count, b.Count), cmp.Compare(a.Predictor, b.Predictor), cmp.Compare(a.Action, b.Action))
	})
	return list
}
