package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/queue"
)

// claimMessages leases what is visible in a standard queue if all of it is
// plain: nothing to be judged. It seeks in each rank, and reads nothing that is
// not visible. Of odd ones it says so and leases none.
//
// A message is plain when it was never leased or its last delivery was ended,
// it may be received once more, is not too old, and its payload either has no
// unproven case and no other copy that was leased, or a proven one and no copy
// whose worker vanished. Of copies that go together the first has the lane. What commits between the
// snapshot and the update is kept out by the unique index of lanes.
var claimMessages = function{
	name:  "claim",
	takes: `bigint, bigint, bigint, bigint, boolean, bigint, text`,
	returns: `bucket bigint, seq bigint, payload bigint, since bigint, lane bigint, task bigint, rank smallint, grp text, gen bigint, hold smallint,
		visible bigint, due bigint, receives integer, received bigint, first bigint, worker text, holding integer, letter boolean, fp bytea, history text,
		id text, sent bigint, dedup text, label text, lineage text, died bigint, doc text, sender text, attributes text, body bytea,
		now bigint, odd bigint, next bigint`,
	text: `WITH t AS MATERIALIZED (
		SELECT q.id, q.bucket, ` + clock + ` AS now FROM {schema}.queues q WHERE q.id = $1
	), picked AS MATERIALIZED (
		SELECT m.* FROM t CROSS JOIN generate_series(0, 9) r (rank) CROSS JOIN LATERAL (
			SELECT m.seq, m.hold, m.receives, m.since, m.fp, m.letter FROM {schema}.queue_messages m
			WHERE m.bucket = t.bucket AND m.rank = r.rank AND m.due = 0 AND m.visible <= t.now
			ORDER BY m.visible, m.seq LIMIT $2 FOR UPDATE SKIP LOCKED
		) m LIMIT $2
	), judged AS MATERIALIZED (
		SELECT p.seq, p.n, CASE WHEN p.judged AND k.proven IS NOT TRUE AND p.nth = 1 THEN 0 ELSE p.seq END AS lane,
			p.hold = 0 AND ($3 = 0 OR p.receives < $3) AND p.since > t.now - $4 AND (NOT p.judged
				OR coalesce(k.state = 0 AND k.proven, false) AND NOT EXISTS (
					SELECT FROM {schema}.queue_messages f WHERE f.bucket = t.bucket AND f.fp = p.fp AND f.hold = 1 AND f.holding > 0)
				OR coalesce(k.state = 0, true) AND NOT EXISTS (
					SELECT FROM {schema}.queue_messages f WHERE f.bucket = t.bucket AND f.fp = p.fp AND f.hold = 1 AND NOT f.letter)
			) AS plain
		FROM t CROSS JOIN (
			SELECT *, NOT $5 AND NOT letter AND fp IS NOT NULL AS judged, row_number() OVER (PARTITION BY fp) AS nth
			FROM (SELECT *, row_number() OVER () AS n FROM picked) p
		) p LEFT JOIN {schema}.queue_cases k ON p.judged AND k.queue = t.id AND k.fp = p.fp
	), claimed AS (
		UPDATE {schema}.queue_messages m SET gen = m.gen + 1, hold = 1, receives = m.receives + 1, received = t.now, visible = t.now + $6,
			first = CASE m.first WHEN 0 THEN t.now ELSE m.first END, due = CASE WHEN $3 > 0 AND m.receives + 1 >= $3 THEN t.now + $6 ELSE 0 END,
			worker = $7, holding = 0, lane = j.lane
		FROM t CROSS JOIN judged j WHERE m.bucket = t.bucket AND m.seq = j.seq AND (SELECT bool_and(plain) FROM judged)
		RETURNING m.*, j.n
	) SELECT ` + fullColumns + `, t.now, (SELECT count(*) FILTER (WHERE NOT plain) FROM judged), CASE WHEN NOT EXISTS (SELECT FROM judged) THEN (
			SELECT min(f.visible) FROM generate_series(0, 9) r (rank) CROSS JOIN LATERAL (
				SELECT m.visible FROM {schema}.queue_messages m WHERE m.bucket = t.bucket AND m.rank = r.rank AND m.due = 0
				ORDER BY m.visible LIMIT 1) f) END
	FROM t LEFT JOIN claimed m ON true LEFT JOIN {schema}.queue_payloads p ON p.payload = m.payload
		LEFT JOIN {schema}.queue_letters l ON m.letter AND l.bucket = m.bucket AND l.seq = m.seq
	ORDER BY m.n`,
}

// claim leases plain messages in one statement. It reports whether that was all
// there is to do.
func (s *queueStore) claim(ctx context.Context, id int64, c queue.Claim) (out queue.Claimed, done bool, err error) {
	err = s.again(ctx, "receive messages", func() error {
		out, done = queue.Claimed{Next: -1}, true
		found := false
		err := each(ctx, s.db.pool, claimMessages.call(s.schema), []any{
			id, c.Max, c.MaxReceives, c.Retention.Microseconds(), c.Poison.Off, c.Visibility.Microseconds(), c.Worker,
		}, func(rows pgx.Rows) error {
			found = true
			var now, odd int64
			var next *int64
			if rows.RawValues()[0] == nil { // none was leased
				dest := make([]any, len(rows.FieldDescriptions()))
				dest[len(dest)-3], dest[len(dest)-2], dest[len(dest)-1] = &now, &odd, &next // the others are skipped
				if err := rows.Scan(dest...); err != nil {
					return err
				}
				if done = odd == 0; next != nil {
					out.Next = until(*next, now)
				}
				return nil
			}
			f, err := scanFull(rows, &now, &odd, &next)
			if err != nil {
				return err
			}
			out.Messages = append(out.Messages, f.show(now, true))
			return nil
		})
		if err == nil && !found {
			err = noQueue(id)
		}
		return err
	})
	return out, done && err == nil, err
}
