package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/queue"
)

// claimMessages leases the visible messages of a standard queue if all of them are plain,
// which means that no decision is necessary. It searches each rank, and reads only visible
// messages. If a message is not plain, it says so and leases none.
//
// A message is plain if all of these hold: it was never leased or its last delivery was
// ended; it may be received once more; it is not too old; and its payload either has no
// unproven case and no other copy that was leased, or has a proven case and no copy whose
// worker vanished. Of copies that go to one claimant together, the first has the lane. The
// unique index of lanes excludes changes that commit between the snapshot and the update.
// snapshot and the update is kept out by the unique index of lanes.
var claimMessages = function{
	name:  "claim",
	takes: `bigint, bigint, bigint, bigint, boolean, bigint, text[], bigint[], bigint`,
	returns: `bucket bigint, seq bigint, payload bigint, since bigint, lane bigint, task bigint, rank smallint, grp text, gen bigint, hold smallint,
		visible bigint, due bigint, receives integer, received bigint, first bigint, worker text, holding integer, letter boolean, fp bytea, history text,
		id text, sent bigint, dedup text, label text, lineage text, died bigint, doc text, sender text, attributes text, body bytea, who bigint,
		now bigint, odd bigint, next bigint`,
	text: `WITH t AS MATERIALIZED (
		SELECT q.id, q.bucket, ` + clock + ` AS now FROM {schema}.queues q WHERE q.id = $1
	), u AS MATERIALIZED (
		SELECT u.who, sum(u.most) OVER (ORDER BY u.who) AS upto FROM unnest($8) WITH ORDINALITY u (most, who)
	), picked AS MATERIALIZED (
		SELECT m.* FROM t CROSS JOIN generate_series(0, 9) r (rank) CROSS JOIN LATERAL (
			SELECT m.seq, m.hold, m.receives, m.since, m.fp, m.letter FROM {schema}.queue_messages m
			WHERE m.bucket = t.bucket AND m.rank = r.rank AND m.due = 0 AND m.visible <= t.now
			ORDER BY m.visible, m.seq LIMIT $2 FOR UPDATE SKIP LOCKED
		) m LIMIT $2
	), judged AS MATERIALIZED (
		SELECT p.seq, p.n, p.who, CASE WHEN p.judged AND k.proven IS NOT TRUE AND p.nth = 1 THEN 0 ELSE p.seq END AS lane,
			p.hold = 0 AND ($3 = 0 OR p.receives < $3) AND p.since > t.now - $4 AND (NOT p.judged
				OR coalesce(k.state = 0 AND k.proven, false) AND NOT EXISTS (
					SELECT FROM {schema}.queue_messages f WHERE f.bucket = t.bucket AND f.fp = p.fp AND f.hold = 1 AND f.holding > 0)
				OR coalesce(k.state = 0, true) AND p.near AND NOT EXISTS (
					SELECT FROM {schema}.queue_messages f WHERE f.bucket = t.bucket AND f.fp = p.fp AND f.hold = 1 AND NOT f.letter)
			) AS plain
		FROM t CROSS JOIN (
			SELECT *, NOT $5 AND NOT letter AND fp IS NOT NULL AS judged, row_number() OVER w AS nth,
				min(who) OVER w = max(who) OVER w AS near
			FROM (
				SELECT *, (SELECT min(u.who) FROM u WHERE p.n <= u.upto) AS who FROM (SELECT *, row_number() OVER () AS n FROM picked) p
			) p WINDOW w AS (PARTITION BY fp)
		) p LEFT JOIN {schema}.queue_cases k ON p.judged AND k.queue = t.id AND k.fp = p.fp
	), claimed AS (
		UPDATE {schema}.queue_messages m SET gen = m.gen + 1, hold = 1, receives = m.receives + 1, received = t.now, visible = t.now + $6,
			first = CASE m.first WHEN 0 THEN t.now ELSE m.first END, due = CASE WHEN $3 > 0 AND m.receives + 1 >= $3 THEN t.now + $6 ELSE 0 END,
			worker = ($7)[j.who], holding = 0, lane = j.lane
		FROM t CROSS JOIN judged j WHERE m.bucket = t.bucket AND m.seq = j.seq AND (SELECT bool_and(plain) FROM judged)
		RETURNING m.*, j.n, j.who
	) SELECT ` + fullColumns + `, m.who, t.now, (SELECT count(*) FILTER (WHERE NOT plain) FROM judged), CASE WHEN (SELECT count(*) FROM judged) <= $9 THEN (
			SELECT min(f.visible) FROM generate_series(0, 9) r (rank) CROSS JOIN LATERAL (
				SELECT m.visible FROM {schema}.queue_messages m WHERE m.bucket = t.bucket AND m.rank = r.rank AND m.due = 0
					AND m.visible > CASE WHEN EXISTS (SELECT FROM judged) THEN t.now ELSE 0 END
				ORDER BY m.visible LIMIT 1) f) END
	FROM t LEFT JOIN claimed m ON true LEFT JOIN {schema}.queue_payloads p ON p.payload = m.payload
		LEFT JOIN {schema}.queue_letters l ON m.letter AND l.bucket = m.bucket AND l.seq = m.seq
	ORDER BY m.n`,
}

// claimKey holds the common parameters of receives that share a statement.
type claimKey struct {
	id                    int64
	policy                queue.Policy
	visibility, retention time.Duration
}

// claimant is one of these receives.
type claimant struct {
	most   int
	worker string
}

// claimed is the result of one receive; done means that no decision is necessary.
type claimed struct {
	queue.Claimed
	done bool
}

func (s *queueStore) claimAlone(ctx context.Context, key claimKey, one claimant) (claimed, error) {
	out, done, err := s.claim(ctx, key, []claimant{one})
	if err != nil {
		return claimed{}, err
	}
	out[0].done = done
	return out[0], nil
}

func (s *queueStore) claimTogether(ctx context.Context, key claimKey, all []claimant) ([]claimed, bool, error) {
	out, done, err := s.claim(ctx, key, all)
	for i := range out {
		out[i].done = true
	}
	return out, done, err
}

// giveBack ends deliveries whose receivers have left. If it fails, their leases expire.
func (s *queueStore) giveBack(key claimKey, got claimed) error {
	if len(got.Messages) == 0 {
		return nil
	}
	changes := make([]queue.Change, len(got.Messages))
	for i, m := range got.Messages {
		changes[i] = queue.Change{Receipt: m.Receipt, Release: true, Refund: true}
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxTogetherFor)
	defer cancel()
	_, err := s.Change(ctx, key.id, key.policy, changes)
	return err
}

// claim leases plain messages for several claimants in one statement. It reports whether
// all found messages are plain; if not, it has changed nothing.
func (s *queueStore) claim(ctx context.Context, key claimKey, all []claimant) (out []claimed, done bool, err error) {
	most, workers, sum := make([]int64, len(all)), make([]string, len(all)), int64(0)
	for i, one := range all {
		most[i], workers[i] = int64(one.most), one.worker
		sum += most[i]
	}
	args := []any{
		key.id, sum, key.policy.MaxReceives, key.retention.Microseconds(), key.policy.Poison.Off, key.visibility.Microseconds(),
		workers, most, sum - most[len(most)-1],
	}
	err = s.again(ctx, "receive messages", func() error {
		out, done = make([]claimed, len(all)), true
		found, next := false, time.Duration(-1)
		err := each(ctx, s.db.pool, claimMessages.call(s.schema), args, func(rows pgx.Rows) error {
			found = true
			var now, odd, who int64
			var later *int64
			if rows.RawValues()[0] == nil { // none was leased
				dest := make([]any, len(rows.FieldDescriptions()))
				dest[len(dest)-3], dest[len(dest)-2], dest[len(dest)-1] = &now, &odd, &later // the other columns are skipped
				if err := rows.Scan(dest...); err != nil {
					return err
				}
				done = odd == 0
			} else {
				f, err := scanFull(rows, &who, &now, &odd, &later)
				if err != nil {
					return err
				}
				out[who-1].Messages = append(out[who-1].Messages, f.show(now, true))
			}
			if later != nil {
				next = until(*later, now)
			}
			return nil
		})
		for i := range out {
			out[i].Next = next
		}
		if err == nil && !found {
			err = noQueue(key.id)
		}
		return err
	})
	return out, done && err == nil, err
}
