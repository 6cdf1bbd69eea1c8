package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

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

// The total is cached. Only messages in flight or delayed are counted, using indexes alone.
// Due messages are in flight, or about to leave.
const countMessages = `WITH RECURSIVE q (bucket, fifo) AS (SELECT bucket, fifo FROM queues WHERE id = ?1),
	ranks (rank) AS (
		SELECT 0 UNION ALL SELECT rank + 1 FROM ranks WHERE rank < 9
	), later (hold) AS (
		SELECT m.hold FROM q, ranks CROSS JOIN queue_messages m INDEXED BY queue_messages_ready
		WHERE m.locking = 0 AND m.due = 0 AND m.bucket = q.bucket AND m.rank = ranks.rank AND m.visible > ?2 AND q.fifo = 0
		UNION ALL
		SELECT m.hold FROM q CROSS JOIN queue_messages m INDEXED BY queue_messages_due
		WHERE m.due > 0 AND m.bucket = q.bucket AND m.visible > ?2 AND q.fifo = 0
		UNION ALL
		SELECT m.hold FROM q CROSS JOIN queue_messages m INDEXED BY queue_messages_later
		WHERE m.locking = 1 AND m.bucket = q.bucket AND m.visible > ?2 AND q.fifo = 1
	)
	SELECT (SELECT n FROM queue_sizes JOIN q USING (bucket)), count(*) FILTER (WHERE hold > 0), count(*) FILTER (WHERE hold = 0),
		(SELECT m.since FROM q JOIN queue_messages m ON m.bucket = q.bucket ORDER BY m.seq LIMIT 1),
		EXISTS (SELECT 1 FROM q)
	FROM later`

func (s *queueStore) Counts(ctx context.Context, id int64) (c queue.Counts, err error) {
	var all, since sql.NullInt64
	var exists bool
	now := time.Now().UnixMicro()
	err = s.db.reader.QueryRowContext(ctx, countMessages, id, now).Scan(&all, &c.InFlight, &c.Delayed, &since, &exists)
	if err != nil {
		return queue.Counts{}, s.db.fault(ctx, err, "count messages")
	}
	if !exists {
		return queue.Counts{}, queue.ErrQueueNotFound
	}
	c.Visible = all.Int64 - c.InFlight - c.Delayed
	if since.Valid {
		c.Oldest = max(record.Time(now).Sub(record.Time(since.Int64)), 1)
	}
	return c, nil
}
