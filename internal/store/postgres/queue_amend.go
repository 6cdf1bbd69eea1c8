package postgres

import (
	"context"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

func (s *queueStore) Amend(ctx context.Context, id int64, a queue.Amendment) error {
	attributes, err := record.EncodeAttributes(a.Entry.SendInput)
	if err != nil {
		return err
	}
	_, err = writing(ctx, s, "amend a message", func(t *queueTx) (none struct{}, err error) {
		d, err := t.open(id)
		if err != nil {
			return none, err
		}
		rows, err := t.lockRows(d, []int64{a.Sequence}, "")
		if err != nil {
			return none, err
		}
		if len(rows) == 0 {
			return none, queue.ErrMessageGone
		}
		m := rows[0]
		switch err := m.Amend(a, m.id, t.now); {
		case err != nil:
			return none, err
		case a.Delete:
			t.ended(m, false)
			t.remove(m)
			return none, nil
		}
		m.lane = m.seq // no longer the lane of its payload
		t.change(m)
		_, err = t.tx.Exec(ctx, t.in(`WITH p AS (
				UPDATE {schema}.queue_payloads SET body = $1, attributes = $2 WHERE payload = $3
			) UPDATE {schema}.queue_messages SET fp = $4, lane = seq WHERE bucket = $5 AND seq = $6`),
			a.Entry.Body, string(attributes), m.payload, fingerprint(m.Payload), m.bucket, m.seq)
		return none, err
	})
	return err
}
