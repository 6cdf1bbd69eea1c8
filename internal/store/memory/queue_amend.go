package memory

import (
	"bytes"
	"context"

	"github.com/bezoar-dev/bezoar/queue"
)

func (s *queueStore) Amend(ctx context.Context, id int64, a queue.Amendment) error {
	d, leave, err := s.enterQueue(ctx, id)
	if err != nil {
		return err
	}
	defer leave()
	m := d.bucket.rows[a.Sequence]
	if m == nil {
		return queue.ErrMessageGone
	}
	before := m.Lease
	switch err := m.Amend(a, m.id, micros()); {
	case err != nil:
		return err
	case a.Delete:
		s.ended(m, false)
		s.remove(m)
		return nil
	}
	after := m.Lease
	m.Lease = before // the payload may be in flight
	m.bucket.fly(m, false)
	m.Lease = after
	m.entry.Body = bytes.Clone(a.Entry.Body)
	m.entry.Attributes, m.entry.System = cloneAttributes(a.Entry.Attributes), cloneAttributes(a.Entry.System)
	s.place(m)
	return nil
}
