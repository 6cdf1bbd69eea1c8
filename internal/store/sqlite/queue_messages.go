package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/bezoar-dev/bezoar/internal/queue/lease"
	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

func (s *queueStore) Send(ctx context.Context, id int64, entries []queue.Entry) ([]queue.Sent, error) {
	attributes := make([][]byte, len(entries))
	for i := range entries {
		var err error
		if attributes[i], err = record.EncodeAttributes(entries[i].SendInput); err != nil {
			return nil, err
		}
	}
	return growing(ctx, s, "send messages", func(t *queueTx) ([]queue.Sent, error) {
		sent := make([]queue.Sent, len(entries))
		d, err := t.open(id)
		if err != nil {
			return nil, err
		}
		last, err := t.number("message", len(entries))
		if err != nil {
			return nil, err
		}
		for i, e := range entries {
			seq := last - int64(len(entries)-1-i)
			if sent[i], err = t.send(d, seq, e, attributes[i], nil); err != nil {
				return nil, err
			}
		}
		return sent, nil
	})
}

func (s *queueStore) SetAside(ctx context.Context, id int64, p queue.Policy, parts []queue.Part) ([]queue.Sent, error) {
	return growing(ctx, s, "set parts of messages aside", func(t *queueTx) ([]queue.Sent, error) {
		sent := make([]queue.Sent, len(parts))
		d, err := t.open(id)
		if err != nil {
			return nil, err
		}
		for i := range parts {
			if sent[i], err = t.setAside(d, p, &parts[i]); err != nil {
				return nil, err
			}
		}
		return sent, nil
	})
}

func (t *queueTx) setAside(d definition, p queue.Policy, part *queue.Part) (queue.Sent, error) {
	attributes, err := record.EncodeAttributes(part.SendInput)
	if err != nil {
		return queue.Sent{}, err
	}
	seq, err := t.number("message", 1)
	if err != nil {
		return queue.Sent{}, err
	}
	sent, err := t.send(d, seq, part.Entry, attributes, nil)
	if err != nil || sent.Duplicate {
		return sent, err
	}
	m, found, err := t.state(queue.Receipt{Bucket: d.bucket, Sequence: seq})
	if err == nil && !found {
		err = fmt.Errorf("part %s does not exist", part.ID)
	}
	if err != nil {
		return queue.Sent{}, err
	}
	_, err = t.bury(&m, d, p, &part.Outcome)
	return sent, err
}

func (t *queueTx) send(d definition, seq int64, e queue.Entry, attributes, lineage []byte) (queue.Sent, error) {
	if e.DedupKey != "" {
		var there queue.Sent
		err := t.row(`SELECT id, seq FROM queue_dedups WHERE queue = ? AND key = ? AND sent > ?`,
			[]any{d.ID, e.DedupKey, t.now - queue.DedupWindow.Microseconds()}, &there.ID, &there.Sequence)
		if err == nil {
			there.Duplicate = true
			return there, nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return queue.Sent{}, err
		}
		err = t.exec(`INSERT INTO queue_dedups (queue, key, sent, id, seq) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (queue, key) DO UPDATE SET sent = excluded.sent, id = excluded.id, seq = excluded.seq`,
			d.ID, e.DedupKey, t.now, e.ID, seq)
		if err != nil {
			return queue.Sent{}, err
		}
	}
	m := messageRow{
		bucket: d.bucket, seq: seq, id: e.ID, payload: seq, rank: queue.MaxPriority - e.Priority, group: e.Group,
		locking: e.FIFO, dedup: e.Dedup, since: t.now, lineage: lineage,
	}
	m.Sent, m.Payload, m.Visible = t.now, e.Payload, t.now+e.Delay.Microseconds()
	err := t.exec(`INSERT INTO queue_payloads (id, body, attributes, sender) VALUES (?, ?, ?, ?)`, seq, e.Body, attributes, e.Sender)
	if err != nil {
		return queue.Sent{}, err
	}
	return queue.Sent{ID: e.ID, Sequence: seq}, t.insert(&m)
}

const deleteMessage = `DELETE FROM queue_messages WHERE bucket = ? AND seq = ? AND gen = ?
	AND (locking = 0 OR hold = 1 AND visible > ?) RETURNING payload, letter, grp, locking, fp, due < 0, lineage`

func (s *queueStore) Delete(ctx context.Context, id int64, fifo bool, receipts []queue.Receipt) ([]error, error) {
	return writing(ctx, s, "delete messages", func(t *queueTx) ([]error, error) {
		results := make([]error, len(receipts))
		d, err := t.open(id)
		if err != nil {
			return nil, err
		}
		p := record.Policy(d.Queue, false)
		for i, r := range receipts {
			if r.Bucket != d.bucket {
				continue // purged
			}
			if results[i], err = t.finish(d, p, r, fifo); err != nil {
				return nil, err
			}
		}
		return results, nil
	})
}

func (t *queueTx) finish(d definition, p queue.Policy, r queue.Receipt, fifo bool) (result, err error) {
	m := messageRow{bucket: r.Bucket, seq: r.Sequence}
	err = t.row(deleteMessage, []any{r.Bucket, r.Sequence, r.Generation, t.now},
		&m.payload, &m.Letter, &m.group, &m.locking, (*payload)(&m.Payload), &m.parked, &m.lineage)
	if errors.Is(err, sql.ErrNoRows) {
		there, found, err := t.state(r)
		if err != nil || !found {
			return nil, err
		}
		return there.MayDelete(r, fifo, t.now), nil
	}
	if err != nil {
		return nil, err
	}
	k, err := t.judged(d.ID, &m, p)
	if err != nil {
		return nil, err
	}
	if k != nil {
		if err := t.changedCase(d, &m, k, record.Worked(p.Poison, k, t.now)); err != nil {
			return nil, err
		}
	}
	t.removePayload(m.payload)
	return nil, errors.Join(t.ended(&m, true), t.removed(&m))
}

func (s *queueStore) Change(ctx context.Context, id int64, p queue.Policy, changes []queue.Change) ([]error, error) {
	return writing(ctx, s, "change leases", func(t *queueTx) ([]error, error) {
		results := make([]error, len(changes))
		d, err := t.open(id)
		if err != nil {
			return nil, err
		}
		for i, c := range changes {
			if results[i], err = t.change(d, c, p); err != nil {
				return nil, err
			}
		}
		return results, nil
	})
}

func (t *queueTx) change(d definition, c queue.Change, p queue.Policy) (result, err error) {
	m, found, err := t.state(c.Receipt)
	if err != nil {
		return nil, err
	}
	if !found || m.bucket != d.bucket {
		return queue.ErrMessageGone, nil
	}
	k, err := t.judged(d.ID, &m, p)
	if err != nil {
		return nil, err
	}
	before := m.Visible
	ruling, result := m.Change(c, p, k, t.now)
	if result != nil {
		return result, nil
	}
	if err := t.changedCase(d, &m, k, ruling.Case); err != nil {
		return nil, err
	}
	if ruling.Step == lease.Bury {
		_, err := t.bury(&m, d, p, ruling.Cause)
		return nil, err
	}
	if m.parked { // it waited for another receive, and no longer does
		m.parked = false
		t.cache.park(m.key(), -1)
	}
	switch err := t.update(&m); {
	case err != nil || !m.recognised():
		return nil, err
	case m.Hold != lease.Leased:
		return nil, t.landed(&m)
	case m.locking && m.Visible < before:
		return nil, t.letOn(&m)
	}
	return nil, nil
}
