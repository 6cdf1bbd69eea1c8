package memory

import (
	"context"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

func (s *queueStore) Sweep(ctx context.Context, limit int) (queue.Swept, error) {
	return within(ctx, &s.lock, func() (queue.Swept, error) {
		now := micros()
		swept := queue.Swept{Next: -1}
		for swept.Moved < limit {
			m := s.due.first()
			if m == nil {
				break
			}
			if m.Due > now {
				swept.Next = time.Duration(m.Due-now) * time.Microsecond
				break
			}
			swept.Moved++
			swept.Queues = append(swept.Queues, s.sweep(m, now)...)
		}
		slices.Sort(swept.Queues)
		swept.Queues = slices.Compact(swept.Queues)
		return swept, nil
	})
}

// sweep sends a message that is due where its queue says now, and returns the
// queues in which something may be received.
func (s *queueStore) sweep(m *message, now int64) []string {
	source := m.bucket.queue
	_, named := s.byName[source.Settings.DeadLetter.Queue]
	p := record.Policy(source.Queue, named)
	var k *poison.Case
	if m.Judged(p) {
		k = source.cases[m.Payload]
	}
	next, dead := m.Expire(p, k)
	if next != k {
		source.keep(m.Payload, next)
	}
	if dead || m.Exhausted(p) {
		return []string{source.Name, s.bury(m, p, nil, now)} // in the source a group may be free
	}
	m.Due = 0 // the policy has changed since: it is received again
	s.place(m)
	return []string{source.Name}
}

func (s *queueStore) Expire(ctx context.Context, id int64, p queue.Policy, retention time.Duration, limit int) (int, error) {
	d, leave, err := s.enterQueue(ctx, id)
	if err != nil {
		return 0, err
	}
	defer leave()
	return s.expire(d, p, retention, limit, micros()), nil
}

// expire leaves what is to be kept and in flight: its worker may yet be done.
func (s *queueStore) expire(d *definition, p queue.Policy, retention time.Duration, limit int, now int64) int {
	var old []*message
	for m := range d.bucket.after(0) {
		if m.since > now-retention.Microseconds() || len(old) == limit {
			break
		}
		if !m.Locks(now) || m.Lapse(p, retention) == nil {
			old = append(old, m)
		}
	}
	for _, m := range old {
		s.lapse(m, p, retention, now)
	}
	return len(old)
}

// Clean also empties the trash of what has been there for long enough. Purged
// messages go with their last reference.
func (s *queueStore) Clean(ctx context.Context, limit int) (int, error) {
	return within(ctx, &s.lock, func() (int, error) {
		now := micros()
		n := s.expire(s.byName[queue.TrashQueue], queue.Policy{}, queue.TrashFor, limit, now)
		for _, d := range s.byID {
			for len(d.oldest) > 0 && n < limit {
				key := d.oldest[0]
				if at := d.dedups[key].at; at > now-queue.DedupWindow.Microseconds() && at != 0 {
					break
				}
				delete(d.dedups, key)
				d.oldest = d.oldest[1:]
				n++
			}
			for payload, k := range d.cases {
				if n < limit && record.KeptFrom(k) <= record.Forgotten(now) {
					delete(d.cases, payload)
					n++
				}
			}
		}
		for key, m := range s.marks {
			if n < limit && m.until <= now {
				delete(s.marks, key)
				n++
			}
		}
		if over := min(len(s.audit)-queue.MaxAudit, limit-n); over > 0 {
			s.audit = slices.Delete(s.audit, 0, over)
			n += over
		}
		return n, nil
	})
}
