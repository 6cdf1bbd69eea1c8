package postgres

import (
	"context"
	"time"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

// leftFor is how long an emptied bucket is remembered after its queue left it: longer than
// any send in progress.
const leftFor = time.Hour

// cleaning lists what Clean removes, and the age limits; $1 is the time limit, $2 the row
// limit.
var cleaning = []struct {
	what      string
	statement string
	before    func(now int64) int64
}{
	{"deduplication ids", `DELETE FROM {schema}.queue_dedups d USING (
			SELECT queue, key FROM {schema}.queue_dedups WHERE sent <= $1 ORDER BY sent LIMIT $2 FOR UPDATE SKIP LOCKED
		) o WHERE d.queue = o.queue AND d.key = o.key`, func(now int64) int64 { return now - queue.DedupWindow.Microseconds() }},
	{"forgotten payloads", `DELETE FROM {schema}.queue_cases k USING (
			SELECT queue, fp FROM {schema}.queue_cases WHERE greatest(touched, until) <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED
		) o WHERE k.queue = o.queue AND k.fp = o.fp`, record.Forgotten},
	{"marks", `DELETE FROM {schema}.queue_marks m USING (
			SELECT key FROM {schema}.queue_marks WHERE until <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED
		) o WHERE m.key = o.key`, func(now int64) int64 { return now }},
	{"the oldest audit entries", `DELETE FROM {schema}.queue_audit WHERE number IN (
			SELECT number FROM {schema}.queue_audit WHERE number <= (
				SELECT number FROM {schema}.queue_audit WHERE (SELECT max(number) - min(number) FROM {schema}.queue_audit) >= $1::bigint
				ORDER BY number DESC OFFSET $1::bigint LIMIT 1
			) ORDER BY number LIMIT $2 FOR UPDATE SKIP LOCKED)`, func(int64) int64 { return queue.MaxAudit }},
	{"counts already added to move tasks", `WITH v AS (
			SELECT number FROM {schema}.queue_moves WHERE number IN (SELECT task FROM {schema}.queue_endings WHERE $1::bigint > 0 LIMIT $2) FOR UPDATE SKIP LOCKED
		), e AS (
			DELETE FROM {schema}.queue_endings e USING v WHERE e.task = v.number RETURNING e.*
		), o AS (
			UPDATE {schema}.queue_moves v SET done = v.done + e.done, dead = v.dead + e.dead
			FROM (SELECT task, sum(done) AS done, sum(dead) AS dead FROM e GROUP BY task) e WHERE v.number = e.task
		) DELETE FROM {schema}.queue_endings WHERE false`, func(now int64) int64 { return now }},
	{"counts of ended move tasks", `DELETE FROM {schema}.queue_endings WHERE ctid IN (
			SELECT e.ctid FROM {schema}.queue_endings e WHERE $1::bigint > 0 AND NOT EXISTS (SELECT FROM {schema}.queue_moves v WHERE v.number = e.task)
			LIMIT $2 FOR UPDATE SKIP LOCKED)`, func(now int64) int64 { return now }},
	{"empty buckets", `DELETE FROM {schema}.queue_leftovers l USING (
			SELECT bucket FROM {schema}.queue_leftovers l WHERE since <= $1
				AND NOT EXISTS (SELECT FROM {schema}.queue_messages m WHERE m.bucket = l.bucket) LIMIT $2 FOR UPDATE SKIP LOCKED
		) o WHERE l.bucket = o.bucket`, func(now int64) int64 { return now - leftFor.Microseconds() }},
}

// emptyBucket removes a part of the content of buckets without a queue.
const emptyBucket = `WITH o AS MATERIALIZED (
		SELECT m.bucket, m.seq, m.payload FROM {schema}.queue_leftovers l CROSS JOIN LATERAL (
			SELECT m.bucket, m.seq, m.payload FROM {schema}.queue_messages m WHERE m.bucket = l.bucket ORDER BY m.seq LIMIT $1 FOR UPDATE SKIP LOCKED
		) m LIMIT $1
	), m AS (
		DELETE FROM {schema}.queue_messages m USING o WHERE m.bucket = o.bucket AND m.seq = o.seq
	), l AS (
		DELETE FROM {schema}.queue_letters l USING o WHERE l.bucket = o.bucket AND l.seq = o.seq
	), d AS (
		DELETE FROM {schema}.queue_deaths d USING o WHERE d.bucket = o.bucket AND d.seq = o.seq
	), p AS (
		DELETE FROM {schema}.queue_payloads p USING o WHERE p.payload = o.payload
	), g AS (
		DELETE FROM {schema}.queue_groups g USING {schema}.queue_leftovers l WHERE g.bucket = l.bucket
	), a AS (
		DELETE FROM {schema}.queue_tallies a USING {schema}.queue_leftovers l WHERE a.bucket = l.bucket
	) SELECT count(*) FROM o`

func (s *queueStore) Clean(ctx context.Context, limit int) (int, error) {
	trash, err := s.named(ctx, queue.TrashQueue)
	if err != nil {
		return 0, err
	}
	n, err := s.Expire(ctx, trash.ID, queue.Policy{}, queue.TrashFor, limit)
	if err != nil {
		return 0, err
	}
	var now int64
	if err := s.db.pool.QueryRow(ctx, `SELECT `+clock).Scan(&now); err != nil {
		return 0, s.db.fault(ctx, err, "read the clock")
	}
	for _, c := range cleaning {
		if n >= limit {
			return n, nil
		}
		gone, err := s.db.pool.Exec(ctx, s.in(c.statement), c.before(now), limit-n)
		if err != nil {
			return 0, s.db.fault(ctx, err, "remove %s", c.what)
		}
		n += int(gone.RowsAffected())
	}
	if n >= limit {
		return n, nil
	}
	var gone int
	err = s.again(ctx, "remove leftovers", func() error { return s.db.pool.QueryRow(ctx, s.in(emptyBucket), limit-n).Scan(&gone) })
	return n + gone, err
}
