package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/queue"
)

func (s *queueStore) Peek(ctx context.Context, id, after int64, limit int) ([]queue.Message, error) {
	var found []queue.Message
	err := each(ctx, s.db.pool, s.in(`SELECT `+fullColumns+`, `+clock+` FROM`+fromMessages+` JOIN {schema}.queues q ON q.bucket = m.bucket
		WHERE q.id = $1 AND m.seq > $2 ORDER BY m.seq LIMIT $3`), []any{id, after, limit}, func(rows pgx.Rows) error {
		var now int64
		f, err := scanFull(rows, &now)
		found = append(found, f.show(now, false))
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

// The total is the sum of the tallies; only messages that are not yet visible are counted.
// Both use one snapshot.
var countMessages = function{
	name:    "count",
	takes:   `bigint`,
	returns: `total bigint, flying bigint, delayed bigint, oldest bigint`,
	text: `WITH t AS MATERIALIZED (
		SELECT q.bucket, ` + clock + ` AS now FROM {schema}.queues q WHERE q.id = $1
	), later AS MATERIALIZED (
		SELECT m.hold, count(*) AS n FROM t CROSS JOIN generate_series(0, 9) r (rank) CROSS JOIN LATERAL (
			SELECT m.hold FROM {schema}.queue_messages m WHERE m.bucket = t.bucket AND m.rank = r.rank AND m.due = 0 AND m.visible > t.now OFFSET 0
		) m GROUP BY m.hold
		UNION ALL
		SELECT m.hold, count(*) FROM t CROSS JOIN LATERAL (
			SELECT m.hold FROM {schema}.queue_messages m WHERE m.bucket = t.bucket AND m.due > 0 AND m.visible > t.now OFFSET 0
		) m GROUP BY m.hold
	) SELECT coalesce((SELECT sum(a.n)::bigint FROM {schema}.queue_tallies a WHERE a.bucket = t.bucket), 0),
		coalesce((SELECT sum(n)::bigint FROM later WHERE hold > 0), 0), coalesce((SELECT sum(n)::bigint FROM later WHERE hold = 0), 0),
		(SELECT greatest(t.now - m.since, 1) FROM {schema}.queue_messages m WHERE m.bucket = t.bucket ORDER BY m.seq LIMIT 1)
	FROM t`,
}

func (s *queueStore) Counts(ctx context.Context, id int64) (queue.Counts, error) {
	var all int64
	var oldest *int64
	var c queue.Counts
	err := s.db.pool.QueryRow(ctx, countMessages.call(s.schema), id).Scan(&all, &c.InFlight, &c.Delayed, &oldest)
	if errors.Is(err, pgx.ErrNoRows) {
		return c, noQueue(id)
	}
	if err != nil {
		return c, s.db.fault(ctx, err, "count messages")
	}
	c.Visible = max(all-c.InFlight-c.Delayed, 0)
	if oldest != nil {
		c.Oldest = time.Duration(*oldest) * time.Microsecond
	}
	return c, nil
}
