package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

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
	return writing(ctx, s, "send messages", func(t *queueTx) ([]queue.Sent, error) {
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
			if sent[i], err = t.send(d, seq, e, attributes[i]); err != nil {
				return nil, err
			}
		}
		return sent, nil
	})
}

func (t *queueTx) send(d definition, seq int64, e queue.Entry, attributes []byte) (queue.Sent, error) {
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
		locking: e.FIFO, dedup: e.Dedup, sent: t.now, since: t.now,
	}
	m.Visible = t.now + e.Delay.Microseconds()
	err := t.exec(`INSERT INTO queue_payloads (id, body, attributes, sender) VALUES (?, ?, ?, ?)`, seq, e.Body, attributes, e.Sender)
	if err != nil {
		return queue.Sent{}, err
	}
	return queue.Sent{ID: e.ID, Sequence: seq}, t.insert(&m)
}

func (s *queueStore) Receive(ctx context.Context, id int64, c queue.Claim) (queue.Claimed, error) {
	return writing(ctx, s, "receive messages", func(t *queueTx) (queue.Claimed, error) {
		claimed := queue.Claimed{Next: -1}
		d, err := t.open(id)
		if err != nil {
			return claimed, err
		}
		r := receiver{queueTx: t, bucket: d.bucket, claim: c, out: &claimed, next: -1}
		if c.FIFO {
			err = r.fromGroups()
		} else {
			err = r.fromRanks()
		}
		if r.next >= 0 {
			claimed.Next = time.Duration(max(r.next-t.now, 0)) * time.Microsecond
		}
		return claimed, err
	})
}

// receiver leases messages of one bucket.
type receiver struct {
	*queueTx
	bucket int64
	claim  queue.Claim
	out    *queue.Claimed
	next   int64 // when there is more; negative: never
}

func (r *receiver) left() int { return r.claim.Max - len(r.out.Messages) }

func (r *receiver) later(visible int64) {
	if r.next < 0 || visible < r.next {
		r.next = visible
	}
}

const (
	nextRank = `SELECT min(rank) FROM queue_messages INDEXED BY queue_messages_ready
		WHERE locking = 0 AND due = 0 AND bucket = ? AND rank >= ?`
	visibleOfRank = `SELECT ` + fullColumns + ` FROM queue_messages m INDEXED BY queue_messages_ready` + fullJoins + `
		WHERE m.locking = 0 AND m.due = 0 AND m.bucket = ? AND m.rank = ? AND m.visible <= ? ORDER BY m.visible, m.seq LIMIT ?`
	firstOfRank = `SELECT min(visible) FROM queue_messages INDEXED BY queue_messages_ready
		WHERE locking = 0 AND due = 0 AND bucket = ? AND rank = ? AND visible > ?`
	readyGroups = `SELECT grp FROM queue_groups WHERE bucket = ? AND ready <= ? ORDER BY ready, grp LIMIT ?`
	firstGroup  = `SELECT min(ready) FROM queue_groups WHERE bucket = ? AND ready > ?`
	ofGroup     = `SELECT ` + fullColumns + ` FROM queue_messages m INDEXED BY queue_messages_group` + fullJoins + `
		WHERE m.locking = 1 AND m.bucket = ? AND m.grp = ? AND m.due = 0 AND m.visible <= ? ORDER BY m.seq LIMIT ?`
)

// fromRanks seeks from rank to rank: what is not visible is never read.
func (r *receiver) fromRanks() error {
	for rank := int64(0); ; rank++ {
		var found sql.NullInt64
		if err := r.row(nextRank, []any{r.bucket, rank}, &found); err != nil || !found.Valid {
			return err
		}
		rank = found.Int64
		for r.left() > 0 {
			rows, err := r.read(visibleOfRank, r.bucket, rank, r.now, r.left())
			if err != nil {
				return err
			}
			got := len(r.out.Messages)
			if err := r.lease(rows); err != nil {
				return err
			}
			// Not the same ones again, after a receive with visibility 0.
			if len(rows) == 0 || got < len(r.out.Messages) && r.claim.Visibility == 0 {
				break
			}
		}
		if r.left() == 0 {
			return nil
		}
		var visible sql.NullInt64
		if err := r.row(firstOfRank, []any{r.bucket, rank, r.now}, &visible); err != nil {
			return err
		}
		if visible.Valid {
			r.later(visible.Int64)
		}
	}
}

func (r *receiver) fromGroups() error {
	for r.left() > 0 {
		var groups []string
		err := r.each(readyGroups, []any{r.bucket, r.now, r.left()}, func(rows *sql.Rows) error {
			groups = append(groups, "")
			return rows.Scan(&groups[len(groups)-1])
		})
		if err != nil {
			return err
		}
		for _, group := range groups {
			if r.left() == 0 {
				break
			}
			rows, err := r.read(ofGroup, r.bucket, group, r.now, r.left())
			if err != nil {
				return err
			}
			if err := r.lease(rows); err != nil {
				return err
			}
			r.touch(&messageRow{bucket: r.bucket, group: group, locking: true})
		}
		if err := r.regroup(); err != nil { // so that the next round sees others
			return err
		}
		if len(groups) == 0 || r.claim.Visibility == 0 {
			break
		}
	}
	var ready sql.NullInt64
	if err := r.row(firstGroup, []any{r.bucket, r.now}, &ready); err != nil {
		return err
	}
	if ready.Valid {
		r.later(ready.Int64)
	}
	return nil
}

func (r *receiver) read(query string, args ...any) (found []fullRow, err error) {
	err = r.each(query, args, func(rows *sql.Rows) error {
		f, err := scanFull(rows.Scan)
		found = append(found, f)
		return err
	})
	return found, err
}

func (r *receiver) lease(rows []fullRow) error {
	for i := range rows {
		m := &rows[i]
		if m.since <= r.now-r.claim.Retention.Microseconds() {
			if err := errors.Join(r.remove(&m.messageRow), r.removePayload(m.payload)); err != nil {
				return err
			}
			continue
		}
		delivered := m.Claim(r.claim, r.now)
		if err := r.update(&m.messageRow); err != nil {
			return err
		}
		if !delivered {
			r.out.Due = true
			continue
		}
		m.FillMessage(&m.message, r.now)
		m.message.Receipt = queue.Receipt{Bucket: m.bucket, Sequence: m.seq, Generation: m.Generation}
		r.out.Messages = append(r.out.Messages, m.message)
	}
	return nil
}

const deleteMessage = `DELETE FROM queue_messages WHERE bucket = ? AND seq = ? AND gen = ?
	AND (locking = 0 OR hold = 1 AND visible > ?) RETURNING payload, letter, grp, locking`

func (s *queueStore) Delete(ctx context.Context, id int64, fifo bool, receipts []queue.Receipt) ([]error, error) {
	return writing(ctx, s, "delete messages", func(t *queueTx) ([]error, error) {
		results := make([]error, len(receipts))
		d, err := t.open(id)
		if err != nil {
			return nil, err
		}
		for i, r := range receipts {
			if r.Bucket != d.bucket {
				continue // purged
			}
			if results[i], err = t.finish(r, fifo); err != nil {
				return nil, err
			}
		}
		return results, nil
	})
}

func (t *queueTx) finish(r queue.Receipt, fifo bool) (result, err error) {
	m := messageRow{bucket: r.Bucket, seq: r.Sequence}
	err = t.row(deleteMessage, []any{r.Bucket, r.Sequence, r.Generation, t.now}, &m.payload, &m.letter, &m.group, &m.locking)
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
	t.touch(&m)
	if m.letter {
		if err := t.exec(`DELETE FROM queue_letters WHERE bucket = ? AND seq = ?`, m.bucket, m.seq); err != nil {
			return nil, err
		}
	}
	return nil, t.removePayload(m.payload)
}

func (s *queueStore) Change(ctx context.Context, id int64, p queue.Policy, changes []queue.Change) ([]error, error) {
	return writing(ctx, s, "change leases", func(t *queueTx) ([]error, error) {
		results := make([]error, len(changes))
		d, err := t.open(id)
		if err != nil {
			return nil, err
		}
		p, target, err := t.target(p)
		if err != nil {
			return nil, err
		}
		for i, c := range changes {
			if results[i], err = t.change(d, target, c, p); err != nil {
				return nil, err
			}
		}
		return results, nil
	})
}

// target finds the dead-letter queue, if it is still there.
func (t *queueTx) target(p queue.Policy) (queue.Policy, definition, error) {
	if p.DeadLetter == "" {
		return p, definition{}, nil
	}
	target, err := t.named(p.DeadLetter)
	if errors.Is(err, queue.ErrQueueNotFound) {
		p.DeadLetter, p.MaxReceives, err = "", 0, nil
	}
	return p, target, err
}

func (t *queueTx) change(d, target definition, c queue.Change, p queue.Policy) (result, err error) {
	m, found, err := t.state(c.Receipt)
	if err != nil {
		return nil, err
	}
	if !found || m.bucket != d.bucket {
		return queue.ErrMessageGone, nil
	}
	dead, result := m.Change(c, p, t.now)
	switch {
	case result != nil:
		return result, nil
	case dead:
		return nil, t.bury(&m, d.Name, target)
	}
	return nil, t.update(&m)
}
