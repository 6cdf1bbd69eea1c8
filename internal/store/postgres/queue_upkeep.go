package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

// nextDue returns the time until a message has to be set aside; negative if there is none.
// Usually Sweep needs no other query.
func (s *queueStore) nextDue(ctx context.Context) (time.Duration, error) {
	var now int64
	var due *int64
	err := s.db.pool.QueryRow(ctx, s.in(`SELECT `+clock+`, (SELECT min(due) FROM {schema}.queue_messages WHERE due > 0)`)).Scan(&now, &due)
	if err != nil {
		return 0, s.db.fault(ctx, err, "look for messages to set aside")
	}
	if due == nil {
		return -1, nil
	}
	return until(*due, now), nil
}

func (s *queueStore) Sweep(ctx context.Context, limit int) (queue.Swept, error) {
	next, err := s.nextDue(ctx)
	if err != nil || next != 0 {
		return queue.Swept{Next: next}, err
	}
	due := make(map[int64][]int64) // by bucket
	err = each(ctx, s.db.pool, s.in(`SELECT bucket, seq FROM {schema}.queue_messages WHERE due > 0 AND due <= `+clock+` ORDER BY due LIMIT $1`),
		[]any{limit}, func(rows pgx.Rows) error {
			var bucket, seq int64
			err := rows.Scan(&bucket, &seq)
			due[bucket] = append(due[bucket], seq)
			return err
		})
	if err != nil {
		return queue.Swept{}, s.db.fault(ctx, err, "look for messages to set aside")
	}
	var swept queue.Swept
	for bucket, seqs := range due {
		one, err := writing(ctx, s, "set messages aside", func(t *queueTx) (queue.Swept, error) { return t.sweep(bucket, seqs) })
		if err != nil {
			return queue.Swept{}, err
		}
		swept.Moved += one.Moved
		swept.Queues = append(swept.Queues, one.Queues...)
	}
	slices.Sort(swept.Queues)
	swept.Queues = slices.Compact(swept.Queues)
	if swept.Moved == limit {
		return swept, nil
	}
	swept.Next, err = s.nextDue(ctx)
	return swept, err
}

// sweep sends due messages of one bucket to the queue that their own queue's policy names.
// It skips messages that other transactions hold.
func (t *queueTx) sweep(bucket int64, seqs []int64) (swept queue.Swept, err error) {
	d, err := scanQueue(t.tx.QueryRow(t.ctx, t.in(`SELECT `+queueColumns+`, `+clock+` FROM {schema}.queues q WHERE q.bucket = $1`), bucket), &t.now)
	if errors.Is(err, pgx.ErrNoRows) { // leftovers
		_, err := t.tx.Exec(t.ctx, t.in(`UPDATE {schema}.queue_messages SET due = 0 WHERE bucket = $1 AND seq IN (
			SELECT seq FROM {schema}.queue_messages WHERE bucket = $1 AND seq = ANY ($2::bigint[]) FOR UPDATE SKIP LOCKED)`), bucket, seqs)
		return swept, err
	}
	if err != nil {
		return swept, err
	}
	rows, err := t.lockRows(d, seqs, "SKIP LOCKED")
	if err != nil {
		return swept, err
	}
	rows = slices.DeleteFunc(rows, func(m *messageRow) bool { return m.Due == 0 || m.Due > t.now })
	_, err = t.named(d.Settings.DeadLetter.Queue)
	if err != nil && !errors.Is(err, queue.ErrQueueNotFound) {
		return swept, err
	}
	p := record.Policy(d.Queue, err == nil)
	if err := t.judge(d.ID, rows, p); err != nil {
		return swept, err
	}
	for _, m := range rows {
		swept.Moved++
		swept.Queues = append(swept.Queues, d.Name) // a group may be free, or a copy may proceed
		k := t.findCase(m, p)
		next, dead := m.Expire(p, k)
		t.keep(m, k, next)
		if !dead && !m.Exhausted(p) {
			m.Due = 0 // the policy has changed: the message is received again
			t.change(m)
			continue
		}
		gained, err := t.bury(m, d, p, nil)
		if err != nil {
			return swept, err
		}
		swept.Queues = append(swept.Queues, gained)
	}
	return swept, nil
}

func (s *queueStore) Expire(ctx context.Context, id int64, p queue.Policy, retention time.Duration, limit int) (int, error) {
	// Usually there is nothing to do; this avoids a transaction.
	var old *bool
	err := s.db.pool.QueryRow(ctx, s.in(`SELECT (SELECT m.since <= `+clock+` - $2 FROM {schema}.queue_messages m WHERE m.bucket = q.bucket ORDER BY m.seq LIMIT 1)
		FROM {schema}.queues q WHERE q.id = $1`), id, retention.Microseconds()).Scan(&old)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, noQueue(id)
	}
	if err != nil || old == nil || !*old {
		return 0, s.db.fault(ctx, err, "look for old messages")
	}
	return writing(ctx, s, "expire messages", func(t *queueTx) (int, error) { return t.expire(id, p, retention, limit) })
}

// expire keeps messages that must be kept or are in flight, because their worker may still
// finish.
func (t *queueTx) expire(id int64, p queue.Policy, retention time.Duration, limit int) (int, error) {
	d, err := t.open(id)
	if err != nil {
		return 0, err
	}
	var seqs []int64
	err = t.each(`SELECT m.seq FROM (
			SELECT seq, since, hold <> 0 AND visible > $3 AND NOT letter AS busy FROM {schema}.queue_messages WHERE bucket = $1 ORDER BY seq LIMIT $4
		) m WHERE m.since <= $2 AND NOT ($5 AND m.busy) ORDER BY m.seq LIMIT $6`,
		[]any{d.bucket, t.now - retention.Microseconds(), t.now, 4 * limit, p.KeepExpired, limit}, func(rows pgx.Rows) error {
			seqs = append(seqs, 0)
			return rows.Scan(&seqs[len(seqs)-1])
		})
	if err != nil {
		return 0, err
	}
	rows, err := t.lockRows(d, seqs, "SKIP LOCKED")
	if err != nil {
		return 0, err
	}
	rows = slices.DeleteFunc(rows, func(m *messageRow) bool { return m.Locks(t.now) && m.Lapse(p, retention) != nil })
	if p.KeepExpired {
		if err := t.judge(id, rows, p); err != nil {
			return 0, err
		}
	}
	for _, m := range rows {
		if _, err := t.lapse(m, d, p, m.Lapse(p, retention)); err != nil {
			return 0, err
		}
	}
	return len(rows), nil
}
