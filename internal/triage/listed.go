package triage

import (
	"cmp"
	"context"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/queue"
)

// Listing returns the letters of a [Source] that a selection picks, the newest first. Its
// methods are those of a Source that reads its letters whole for every list.
type Listing func(ctx context.Context, sel queue.Selection) ([]queue.Death, error)

func (l Listing) Letters(ctx context.Context, sel queue.Selection, after int64, limit int) ([]queue.Death, error) {
	all, err := l(ctx, sel)
	return pageOf(all, after, limit), err
}

// CountLetters counts letters, and returns the sequence number of the newest one.
func (l Listing) CountLetters(ctx context.Context, sel queue.Selection) (n, last int64, err error) {
	all, err := l(ctx, sel)
	if len(all) > 0 {
		last = all[0].Sequence
	}
	return int64(len(all)), last, err
}

// Groups counts letters by what they died of.
func (l Listing) Groups(ctx context.Context, sel queue.Selection, limit int) ([]queue.Group, error) {
	all, err := l(ctx, sel)
	return GroupsOf(all, limit, time.Now()), err
}

// Newest sorts letters, the newest first.
func Newest(all []queue.Death) {
	slices.SortFunc(all, func(a, b queue.Death) int { return cmp.Compare(b.Sequence, a.Sequence) })
}

// SequenceOf numbers a letter by its time: letters of one microsecond differ by their IDs.
func SequenceOf(died time.Time, id string) int64 {
	h := fnv.New32a()
	h.Write([]byte(id))
	return died.UnixMicro()<<10 | int64(h.Sum32()&(1<<10-1))
}

// Selects reports whether a selection picks a letter that is whole.
func Selects(sel queue.Selection, m queue.Death) bool {
	return Picks(sel, m) && (!sel.ByContent() || sel.Holds(m.Body, m.Letter.Reason, m.Attributes))
}

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

// pageOf returns up to limit letters beyond after, of a list with the newest first,
// without what a list leaves out. It changes all.
func pageOf(all []queue.Death, after int64, limit int) []queue.Death {
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
