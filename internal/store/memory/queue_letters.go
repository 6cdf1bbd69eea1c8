package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/bezoar-dev/bezoar/internal/sorted"
	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

func cloneLetter(l *queue.Letter) *queue.Letter {
	out := *l
	out.Attempts = slices.Clone(l.Attempts)
	if l.Discarded != nil {
		out.Discarded = new(*l.Discarded)
	}
	return &out
}

// selected returns the letters of a selection, in no particular order.
func (s *queueStore) selected(sel queue.Selection) (found []*message) {
	for name, d := range s.byName {
		if sel.Queue != name && (sel.Queue != "" || name == queue.TrashQueue) {
			continue
		}
		for _, m := range d.bucket.rows {
			if m.letter != nil && picks(sel, m) {
				found = append(found, m)
			}
		}
	}
	return found
}

func picks(s queue.Selection, m *message) bool {
	l := m.letter
	return (len(s.Groups) == 0 || slices.Contains(s.Groups, l.Group)) &&
		(len(s.IDs) == 0 || slices.Contains(s.IDs, m.id)) &&
		(s.Origin == "" || s.Origin == l.Origin) &&
		(s.Class == "" || s.Class == l.Class.String()) &&
		(s.After.IsZero() || !l.Died.Before(s.After)) &&
		(s.Before.IsZero() || l.Died.Before(s.Before)) &&
		(s.Last == 0 || m.seq <= s.Last) &&
		(!s.Unreplaced || l.Discarded == nil || l.Discarded.Into == "") &&
		s.Holds(m.entry.Body, l.Reason, m.entry.Attributes, m.entry.System)
}

func (s *queueStore) Groups(ctx context.Context, sel queue.Selection, limit int) ([]queue.Group, error) {
	return within(ctx, &s.lock, func() ([]queue.Group, error) {
		type key struct{ queue, group string }
		now, groups, newest := micros(), map[key]*queue.Group{}, map[key]*message{}
		for _, m := range s.selected(sel) {
			k, l := key{m.bucket.queue.Name, m.letter.Group}, m.letter
			g := groups[k]
			if g == nil {
				g = &queue.Group{Queue: k.queue, Key: k.group, First: l.Died}
				groups[k], newest[k] = g, m
			}
			g.Count++
			if m.lineage != nil {
				g.Redriven++
			}
			if h := record.Hour(l.Died.UnixMicro(), now); h >= 0 {
				g.Hours[h]++
			}
			if l.Died.Before(g.First) {
				g.First = l.Died
			}
			if n := newest[k]; cmp.Or(l.Died.Compare(n.letter.Died), cmp.Compare(m.seq, n.seq)) > 0 {
				newest[k] = m
			}
		}
		out := make([]queue.Group, 0, len(groups))
		for k, g := range groups {
			m := newest[k]
			g.Last, g.Origin, g.Outcome, g.Sample = m.letter.Died, m.letter.Origin, m.letter.Outcome, m.id
			out = append(out, *g)
		}
		sorted.Func(out, func(a, b queue.Group) int {
			return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Key, b.Key))
		})
		return out[:min(len(out), limit)], nil
	})
}

func (s *queueStore) Letters(ctx context.Context, sel queue.Selection, after int64, limit int) ([]queue.Death, error) {
	return within(ctx, &s.lock, func() ([]queue.Death, error) {
		found := s.selected(sel)
		sorted.Func(found, func(a, b *message) int { return cmp.Compare(b.seq, a.seq) })
		var out []queue.Death
		for _, m := range found {
			if len(out) == limit {
				break
			}
			if after == 0 || m.seq < after {
				d := m.death()
				d.Body, d.Attributes, d.System, d.Attempts, d.Letter.Attempts = nil, nil, nil, nil, nil
				out = append(out, d)
			}
		}
		return out, nil
	})
}

func (m *message) death() queue.Death {
	d := queue.Death{Queue: m.bucket.queue.Name, Message: m.show(micros(), true)}
	d.Receipt.Queue = m.bucket.queue.ID
	return d
}

// letter finds a letter by the ID of its message.
func (s *queueStore) letter(id string) (*message, error) {
	for _, d := range s.byName {
		for _, m := range d.bucket.rows {
			if m.letter != nil && m.id == id {
				return m, nil
			}
		}
	}
	return nil, fmt.Errorf("letter %.64q: %w", id, queue.ErrLetterNotFound)
}

func (s *queueStore) Letter(ctx context.Context, id string) (queue.Death, error) {
	return within(ctx, &s.lock, func() (queue.Death, error) {
		m, err := s.letter(id)
		if err != nil {
			return queue.Death{}, err
		}
		return m.death(), nil
	})
}

func (s *queueStore) CountLetters(ctx context.Context, sel queue.Selection) (n, last int64, err error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer leave()
	for _, m := range s.selected(sel) {
		n, last = n+1, max(last, m.seq)
	}
	return n, last, nil
}

func (s *queueStore) Replace(ctx context.Context, r queue.Replacement) (queue.Sent, error) {
	return within(ctx, &s.lock, func() (queue.Sent, error) {
		m, err := s.letter(r.Letter)
		if err != nil {
			return queue.Sent{}, err
		}
		now := micros()
		if err := record.MayReplace(r, m.letter, m.seq, &m.Lease, now); err != nil {
			return queue.Sent{}, err
		}
		target, ok := s.byName[r.Destination]
		if !ok || r.Destination == queue.TrashQueue {
			return queue.Sent{}, fmt.Errorf("queue %q: %w", r.Destination, queue.ErrQueueNotFound)
		}
		sent := s.send(target, r.Entry, new(r.Lineage), now)
		if sent.Duplicate {
			return sent, nil
		}
		letter := cloneLetter(m.letter)
		letter.Discarded = &queue.Discarded{At: record.Time(now), From: m.bucket.queue.Name, Into: sent.ID}
		s.remove(m)
		s.settle(m, s.byName[queue.TrashQueue], letter, now)
		return sent, nil
	})
}
