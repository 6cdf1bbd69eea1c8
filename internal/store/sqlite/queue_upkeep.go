package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

func (s *queueStore) Sweep(ctx context.Context, limit int) (queue.Swept, error) {
	var first sql.NullInt64
	if err := s.db.reader.QueryRowContext(ctx, firstDue).Scan(&first); err != nil {
		return queue.Swept{}, s.db.fault(ctx, err, "look for messages to set aside")
	}
	if next := until(first, time.Now().UnixMicro()); next != 0 { // most of the time: that costs no transaction
		return queue.Swept{Next: next}, nil
	}
	return writing(ctx, s, "set messages aside", func(t *queueTx) (queue.Swept, error) {
		swept := queue.Swept{Next: -1}
		var due []messageRow
		err := t.each(`SELECT `+stateColumns+` FROM queue_messages m WHERE m.due > 0 AND m.due <= ? ORDER BY m.due LIMIT ?`, []any{t.now, limit},
			func(rows *sql.Rows) error {
				due = append(due, messageRow{})
				return due[len(due)-1].scan(rows.Scan)
			})
		if err != nil {
			return swept, err
		}
		for i := range due {
			if err := t.settle(&due[i], &swept); err != nil {
				return swept, err
			}
		}
		slices.Sort(swept.Queues)
		swept.Queues = slices.Compact(swept.Queues)
		if len(due) == limit {
			swept.Next = 0
			return swept, nil
		}
		var next sql.NullInt64
		err = t.row(firstDue, nil, &next)
		swept.Next = until(next, t.now)
		return swept, err
	})
}

const firstDue = `SELECT min(due) FROM queue_messages WHERE due > 0`

// until is how long it takes until then, or negative without one.
func until(then sql.NullInt64, now int64) time.Duration {
	if !then.Valid {
		return -1
	}
	return time.Duration(max(then.Int64-now, 0)) * time.Microsecond
}

// settle sends a message that is due where its queue says now.
func (t *queueTx) settle(m *messageRow, swept *queue.Swept) error {
	source, err := t.definition(`SELECT `+queueColumns+` FROM queues WHERE bucket = ?`, m.bucket)
	if errors.Is(err, queue.ErrQueueNotFound) { // a leftover
		m.Due = 0
		return t.update(m)
	}
	if err != nil {
		return err
	}
	dead := source.Settings.DeadLetter
	p, target, err := t.target(queue.Policy{DeadLetter: dead.Queue, MaxReceives: dead.MaxReceives})
	if err != nil {
		return err
	}
	swept.Moved++
	swept.Queues = append(swept.Queues, source.Name) // a group may be free
	if p.DeadLetter == "" || !m.Exhausted(p) {
		m.Due = 0 // the policy has changed since: it is received again
		return t.update(m)
	}
	swept.Queues = append(swept.Queues, target.Name)
	return t.bury(m, source.Name, target)
}

func (s *queueStore) Expire(ctx context.Context, id int64, retention time.Duration, limit int) (int, error) {
	// Most of the time there is nothing: that costs no transaction.
	var since sql.NullInt64
	err := s.db.reader.QueryRowContext(ctx, `SELECT (SELECT since FROM queue_messages m WHERE m.bucket = q.bucket ORDER BY seq LIMIT 1)
		FROM queues q WHERE id = ?`, id).Scan(&since)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, queue.ErrQueueNotFound
	}
	if err != nil || !since.Valid || since.Int64 > time.Now().UnixMicro()-retention.Microseconds() {
		return 0, s.db.fault(ctx, err, "look for old messages")
	}
	return writing(ctx, s, "expire messages", func(t *queueTx) (int, error) {
		d, err := t.open(id)
		if err != nil {
			return 0, err
		}
		rows, err := t.oldest(d.bucket, limit)
		if err != nil {
			return 0, err
		}
		for i := range rows {
			if rows[i].since > t.now-retention.Microseconds() {
				return i, nil
			}
			if err := errors.Join(t.remove(&rows[i]), t.removePayload(rows[i].payload)); err != nil {
				return 0, err
			}
		}
		return len(rows), nil
	})
}

func (t *queueTx) oldest(bucket int64, limit int) (found []messageRow, err error) {
	err = t.each(`SELECT `+stateColumns+` FROM queue_messages m WHERE m.bucket = ? ORDER BY m.seq LIMIT ?`, []any{bucket, limit},
		func(rows *sql.Rows) error {
			found = append(found, messageRow{})
			return found[len(found)-1].scan(rows.Scan)
		})
	return found, err
}

func (s *queueStore) Clean(ctx context.Context, limit int) (int, error) {
	var work bool
	before := time.Now().UnixMicro() - queue.DedupWindow.Microseconds()
	err := s.db.reader.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM queue_leftovers)
		OR EXISTS (SELECT 1 FROM queue_dedups WHERE sent <= ?)`, before).Scan(&work)
	if err != nil || !work {
		return 0, s.db.fault(ctx, err, "look for leftovers")
	}
	return writing(ctx, s, "remove leftovers", func(t *queueTx) (int, error) {
		dedups, err := t.changed(`DELETE FROM queue_dedups WHERE (queue, key) IN
			(SELECT queue, key FROM queue_dedups WHERE sent <= ? ORDER BY sent LIMIT ?)`, t.now-queue.DedupWindow.Microseconds(), limit)
		if err != nil {
			return 0, err
		}
		n := int(dedups)
		for n < limit {
			var bucket int64
			err := t.row(`SELECT bucket FROM queue_leftovers LIMIT 1`, nil, &bucket)
			if errors.Is(err, sql.ErrNoRows) {
				return n, nil
			}
			if err != nil {
				return 0, err
			}
			removed, err := t.empty(bucket, limit-n)
			if err != nil {
				return 0, err
			}
			n += removed
		}
		return n, nil
	})
}

// empty removes part of a bucket that is no queue's, and at last the bucket.
func (t *queueTx) empty(bucket int64, limit int) (int, error) {
	rows, err := t.oldest(bucket, limit)
	if err != nil {
		return 0, err
	}
	for i := range rows {
		if err := errors.Join(t.remove(&rows[i]), t.removePayload(rows[i].payload)); err != nil {
			return 0, err
		}
	}
	if len(rows) == limit {
		return limit, nil
	}
	err = t.exec(`DELETE FROM queue_leftovers WHERE bucket = ?`, bucket)
	return len(rows) + 1, err
}

func (s *queueStore) Peek(ctx context.Context, id, after int64, limit int) ([]queue.Message, error) {
	var found []queue.Message
	var q query
	q.add(`SELECT `+fullColumns+` FROM queues q JOIN queue_messages m ON m.bucket = q.bucket`+fullJoins+`
		WHERE q.id = ? AND m.seq > ? ORDER BY m.seq LIMIT ?`, id, after, limit)
	now := time.Now().UnixMicro()
	err := q.each(ctx, s.db.reader, func(rows *sql.Rows) error {
		f, err := scanFull(rows.Scan)
		f.FillMessage(&f.message, now)
		found = append(found, f.message)
		return err
	})
	if err != nil {
		return nil, s.db.fault(ctx, err, "read messages")
	}
	if len(found) == 0 {
		return nil, s.exists(ctx, id)
	}
	return found, nil
}

func (s *queueStore) exists(ctx context.Context, id int64) error {
	var n int
	err := s.db.reader.QueryRowContext(ctx, `SELECT 1 FROM queues WHERE id = ?`, id).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return queue.ErrQueueNotFound
	}
	return s.db.fault(ctx, err, "look for a queue")
}

// What is ready is counted in an index alone; what is due is little; FIFO
// queues are read.
const countMessages = `WITH m (visible, hold) AS (
		SELECT m.visible, m.hold FROM queues q JOIN queue_messages m INDEXED BY queue_messages_ready ON m.bucket = q.bucket
		WHERE m.locking = 0 AND m.due = 0 AND q.id = ?1 AND q.fifo = 0
		UNION ALL
		SELECT m.visible, m.hold FROM queue_messages m INDEXED BY queue_messages_due JOIN queues q ON m.bucket = q.bucket
		WHERE m.due > 0 AND q.id = ?1 AND q.fifo = 0
		UNION ALL
		SELECT m.visible, m.hold FROM queues q JOIN queue_messages m ON m.bucket = q.bucket WHERE q.id = ?1 AND q.fifo = 1
	)
	SELECT count(*) FILTER (WHERE visible <= ?2), count(*) FILTER (WHERE visible > ?2 AND hold > 0),
		count(*) FILTER (WHERE visible > ?2 AND hold = 0),
		(SELECT m.since FROM queues q JOIN queue_messages m ON m.bucket = q.bucket WHERE q.id = ?1 ORDER BY m.seq LIMIT 1),
		EXISTS (SELECT 1 FROM queues WHERE id = ?1)
	FROM m`

func (s *queueStore) Counts(ctx context.Context, id int64) (c queue.Counts, err error) {
	var since sql.NullInt64
	var exists bool
	now := time.Now().UnixMicro()
	err = s.db.reader.QueryRowContext(ctx, countMessages, id, now).Scan(&c.Visible, &c.InFlight, &c.Delayed, &since, &exists)
	if err != nil {
		return queue.Counts{}, s.db.fault(ctx, err, "count messages")
	}
	if !exists {
		return queue.Counts{}, queue.ErrQueueNotFound
	}
	if since.Valid {
		c.Oldest = max(record.Time(now).Sub(record.Time(since.Int64)), 1)
	}
	return c, nil
}
