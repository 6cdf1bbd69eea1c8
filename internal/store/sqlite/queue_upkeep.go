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
	if next := until(first, time.Now().UnixMicro()); next != 0 { // usually: this avoids a transaction
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
			if err := t.sweep(&due[i], &swept); err != nil {
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

// until returns the time until then; negative: never.
func until(then sql.NullInt64, now int64) time.Duration {
	if !then.Valid {
		return -1
	}
	return time.Duration(max(then.Int64-now, 0)) * time.Microsecond
}

// sweep sends a due message to the queue that its own queue's policy names.
func (t *queueTx) sweep(m *messageRow, swept *queue.Swept) error {
	source, err := t.owner(m.bucket)
	if errors.Is(err, queue.ErrQueueNotFound) { // a leftover
		m.Due = 0
		return t.update(m)
	}
	if err != nil {
		return err
	}
	named := false
	if name := source.Settings.DeadLetter.Queue; name != "" {
		_, err := t.named(name)
		if err != nil && !errors.Is(err, queue.ErrQueueNotFound) {
			return err
		}
		named = err == nil
	}
	p := record.Policy(source.Queue, named)
	dead, err := t.expired(m, source, p)
	if err != nil {
		return err
	}
	swept.Moved++
	swept.Queues = append(swept.Queues, source.Name) // a group may be free
	if !dead && !m.Exhausted(p) {
		m.Due = 0 // the policy has changed: the message is received again
		return t.update(m)
	}
	name, err := t.bury(m, source, p, nil)
	swept.Queues = append(swept.Queues, name)
	return err
}

func (s *queueStore) Expire(ctx context.Context, id int64, p queue.Policy, retention time.Duration, limit int) (int, error) {
	// Usually there is nothing to do; this avoids a transaction.
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
		return t.expire(d, p, retention, limit)
	})
}

// expire keeps messages that must be kept or are in flight, because their worker may still
// finish.
func (t *queueTx) expire(d definition, p queue.Policy, retention time.Duration, limit int) (n int, err error) {
	for after := int64(0); n < limit; {
		rows, err := t.oldest(d.bucket, after, limit)
		if err != nil {
			return 0, err
		}
		for i := range rows {
			m := &rows[i]
			after = m.seq
			if m.since > t.now-retention.Microseconds() || n == limit {
				return n, nil
			}
			if m.Locks(t.now) && m.Lapse(p, retention) != nil {
				continue
			}
			if _, err := t.lapse(m, d, p, retention); err != nil {
				return 0, err
			}
			n++
		}
		if len(rows) < limit {
			break
		}
	}
	return n, nil
}

// Check whether there is anything to clean. Usually there is not; this avoids a
// transaction.
const leftovers = `SELECT EXISTS (SELECT 1 FROM queue_leftovers)
	OR EXISTS (SELECT 1 FROM queue_dedups WHERE sent <= ?1)
	OR EXISTS (SELECT 1 FROM queue_cases WHERE kept <= ?2)
	OR EXISTS (SELECT 1 FROM queue_marks WHERE until <= ?3)
	OR coalesce((SELECT m.since FROM queues q JOIN queue_messages m ON m.bucket = q.bucket WHERE q.name = ?4 ORDER BY m.seq LIMIT 1) <= ?5, 0)
	OR coalesce((SELECT max(number) FROM queue_audit) - (SELECT min(number) FROM queue_audit) >= ?6, 0)`

func (s *queueStore) Clean(ctx context.Context, limit int) (int, error) {
	var work bool
	now := time.Now().UnixMicro()
	err := s.db.reader.QueryRowContext(ctx, leftovers, now-queue.DedupWindow.Microseconds(), record.Forgotten(now), now,
		queue.TrashQueue, now-queue.TrashFor.Microseconds(), queue.MaxAudit).Scan(&work)
	if err != nil || !work {
		return 0, s.db.fault(ctx, err, "look for leftovers")
	}
	return writing(ctx, s, "remove leftovers", func(t *queueTx) (int, error) {
		n := 0
		for _, part := range []func(int) (int, error){t.cleanDedups, t.cleanCases, t.cleanMarks, t.cleanAudit, t.cleanTrash, t.cleanBuckets} {
			if n >= limit {
				break
			}
			removed, err := part(limit - n)
			if err != nil {
				return 0, err
			}
			n += removed
		}
		return n, nil
	})
}

func (t *queueTx) cleanDedups(limit int) (int, error) {
	n, err := t.changed(`DELETE FROM queue_dedups WHERE (queue, key) IN
		(SELECT queue, key FROM queue_dedups WHERE sent <= ? ORDER BY sent LIMIT ?)`, t.now-queue.DedupWindow.Microseconds(), limit)
	return int(n), err
}

func (t *queueTx) cleanCases(limit int) (n int, err error) {
	var gone []caseKey
	err = t.each(`DELETE FROM queue_cases WHERE (queue, payload) IN
		(SELECT queue, payload FROM queue_cases WHERE kept <= ? ORDER BY kept LIMIT ?) RETURNING queue, payload`,
		[]any{record.Forgotten(t.now), limit}, func(rows *sql.Rows) error {
			gone = append(gone, caseKey{})
			key := &gone[len(gone)-1]
			return rows.Scan(&key.queue, (*payload)(&key.payload))
		})
	for _, key := range gone {
		t.cache.close(key)
	}
	return len(gone), err
}

func (t *queueTx) cleanMarks(limit int) (int, error) {
	n, err := t.changed(`DELETE FROM queue_marks WHERE key IN (SELECT key FROM queue_marks WHERE until <= ? LIMIT ?)`, t.now, limit)
	return int(n), err
}

func (t *queueTx) cleanAudit(limit int) (int, error) {
	n, err := t.changed(`DELETE FROM queue_audit WHERE number IN (SELECT number FROM queue_audit
		WHERE number <= (SELECT max(number) FROM queue_audit) - ? ORDER BY number LIMIT ?)`, queue.MaxAudit, limit)
	return int(n), err
}

func (t *queueTx) cleanTrash(limit int) (int, error) {
	trash, err := t.named(queue.TrashQueue)
	if err != nil {
		return 0, err
	}
	return t.expire(trash, queue.Policy{}, queue.TrashFor, limit)
}

// cleanBuckets removes a part of the content of buckets without a queue.
func (t *queueTx) cleanBuckets(limit int) (n int, err error) {
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
}

// empty removes a part of a bucket, and finally the bucket.
func (t *queueTx) empty(bucket int64, limit int) (int, error) {
	rows, err := t.oldest(bucket, 0, limit)
	if err != nil {
		return 0, err
	}
	for i := range rows {
		if err := t.lose(&rows[i]); err != nil {
			return 0, err
		}
	}
	if len(rows) == limit {
		return limit, nil
	}
	delete(t.cache.sizes, bucket)
	err = errors.Join(
		t.exec(`DELETE FROM queue_leftovers WHERE bucket = ?`, bucket),
		t.exec(`DELETE FROM queue_sizes WHERE bucket = ?`, bucket))
	return len(rows) + 1, err
}
