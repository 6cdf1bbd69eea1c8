package sqlite

import (
	"context"
	"errors"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

func (s *queueStore) Amend(ctx context.Context, id int64, a queue.Amendment) error {
	attributes, err := record.EncodeAttributes(a.Entry.SendInput)
	if err != nil {
		return err
	}
	by := s.db.writer.grow
	if a.Delete {
		by = s.db.writer.run
	}
	return s.writeBy(ctx, by, "amend a message", func(t *queueTx) error {
		d, err := t.open(id)
		if err != nil {
			return err
		}
		m, found, err := t.state(queue.Receipt{Bucket: d.bucket, Sequence: a.Sequence})
		if err != nil {
			return err
		}
		if !found {
			return queue.ErrMessageGone
		}
		before := m
		switch err := m.Amend(a, m.id, t.now); {
		case err != nil:
			return err
		case a.Delete:
			return t.lose(&m)
		}
		m.parked = false
		err = t.exec(`UPDATE queue_payloads SET body = ?, attributes = ? WHERE id = ?`, a.Entry.Body, attributes, m.payload)
		return errors.Join(err, t.remove(&before), t.insert(&m), t.update(&m))
	})
}
