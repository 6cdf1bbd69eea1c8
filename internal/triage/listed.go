package triage

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/queue"
)

// Picks says whether all that is given in s holds for m, but for what is within
// it. It is for a [Source] that lists its letters whole.
func Picks(s queue.Selection, m queue.Death) bool {
	l := m.Letter
	return (s.Queue == "" || s.Queue == m.Queue) &&
		(len(s.Groups) == 0 || slices.Contains(s.Groups, l.Group)) &&
		(len(s.IDs) == 0 || slices.Contains(s.IDs, m.ID)) &&
		(s.Origin == "" || s.Origin == l.Origin) &&
		(s.Class == "" || s.Class == l.Class.String()) &&
		(s.After.IsZero() || !l.Died.Before(s.After)) &&
		(s.Before.IsZero() || l.Died.Before(s.Before)) &&
		(s.Last == 0 || m.Sequence <= s.Last)
}

// PageOf returns up to limit letters beyond after, of a list with the newest first,
// without what a list leaves out. It changes all.
func PageOf(all []queue.Death, after int64, limit int) []queue.Death {
	if after != 0 {
		all = slices.DeleteFunc(all, func(m queue.Death) bool { return m.Sequence >= after })
	}
	all = all[:min(limit, len(all))]
	for i := range all {
		letter := *all[i].Letter
		letter.Attempts = nil
		all[i].Body, all[i].Attributes, all[i].Letter = nil, nil, &letter
	}
	return all
}

// GroupsOf counts letters, of which the newest is first, by what they died of.
func GroupsOf(all []queue.Death, limit int, now time.Time) []queue.Group {
	groups := map[string]*queue.Group{}
	for _, m := range all {
		l := m.Letter
		group := groups[l.Group]
		if group == nil {
			group = &queue.Group{Queue: m.Queue, Key: l.Group, Last: l.Died, Origin: l.Origin, Outcome: l.Outcome, Sample: m.ID}
			groups[l.Group] = group
		}
		group.Count++
		group.First = l.Died
		if ago := int(now.Sub(l.Died) / time.Hour); ago >= 0 && ago < len(group.Hours) {
			group.Hours[len(group.Hours)-1-ago]++
		}
	}
	sorted := slices.SortedFunc(maps.Values(groups), func(a, b *queue.Group) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Key, b.Key))
	})
	out := make([]queue.Group, 0, min(limit, len(sorted)))
	for _, group := range sorted[:min(limit, len(sorted))] {
		out = append(out, *group)
	}
	return out
}
