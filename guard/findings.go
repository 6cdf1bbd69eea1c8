package guard

import (
	"cmp"

	"github.com/bezoar-dev/bezoar/internal/sorted"
)

// FindingTally counts the findings with one predictor and one action.
type FindingTally struct {
	Predictor string `json:"predictor"`
	Action    Action `json:"action"`
	Count     int64  `json:"count"`
}

// foundKey combines a predictor and an action.
type foundKey struct {
	predictor string
	action    Action
}

// Findings returns the counts of findings in all queries, most frequent first. It counts
// only the findings that verdicts list.
func (g *Guard) Findings() []FindingTally {
	g.counts.mu.Lock()
	defer g.counts.mu.Unlock()
	list := make([]FindingTally, 0, len(g.counts.found))
	for k, n := range g.counts.found {
		list = append(list, FindingTally{k.predictor, k.action, n})
	}
	sorted.Func(list, func(a, b FindingTally) int {
		return cmp.Or(-cmp.Compare(a.Count, b.Count), cmp.Compare(a.Predictor, b.Predictor), cmp.Compare(a.Action, b.Action))
	})
	return list
}
