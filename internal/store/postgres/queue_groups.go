package postgres

import (
	"cmp"
	"encoding/binary"
	"maps"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/sorted"
)

// Stripes are advisory locks that serialize changes of a FIFO group, and of a payload's
// case. Many groups share one stripe, so that a call with many groups cannot exhaust the
// server's lock table. The keys of a schema are one block of lockSpace.
const (
	stripes   = 1024
	lockSpace = 4096
	ofGroups  = 0
	ofCases   = stripes
)

// groupStripe is the SQL expression for the lock of a group g; $1 is the first lock.
const groupStripe = `($1::bigint + (hashtextextended(g, 0) & 1023))`

func (s *queueStore) caseLock(f bezoar.Fingerprint) int64 {
	return s.locks + ofCases + int64(binary.BigEndian.Uint16(f[:])%stripes)
}

// lockGroups locks FIFO groups, and then reads the clock. It must be called before the
// groups' messages are changed.
func (t *queueTx) lockGroups(groups []string) error {
	if len(groups) == 0 {
		return nil
	}
	return t.lock(`SELECT count(pg_advisory_xact_lock(k)) FROM (
		SELECT DISTINCT `+groupStripe+` AS k FROM unnest($2::text[]) g ORDER BY 1) o`, t.s.locks+ofGroups, groups)
}

func (t *queueTx) lockCases(all []bezoar.Fingerprint) error {
	locks := make([]int64, len(all))
	for i, f := range all {
		locks[i] = t.s.caseLock(f)
	}
	return t.lock(`SELECT count(pg_advisory_xact_lock(k)) FROM (SELECT DISTINCT k FROM unnest($1::bigint[]) k ORDER BY 1) o`, locks)
}

func (t *queueTx) lock(statement string, args ...any) error {
	var batch pgx.Batch
	batch.Queue(statement, args...)
	batch.Queue(`SELECT ` + clock).QueryRow(func(row pgx.Row) error { return row.Scan(&t.now) })
	return t.tx.SendBatch(t.ctx, &batch).Close()
}

func (t *queueTx) lockGroupsOf(bucket int64, seqs []int64) error {
	var groups []string
	err := t.each(`SELECT DISTINCT grp FROM {schema}.queue_messages WHERE bucket = $1 AND seq = ANY ($2::bigint[]) AND grp IS NOT NULL`,
		[]any{bucket, seqs}, func(rows pgx.Rows) error {
			groups = append(groups, "")
			return rows.Scan(&groups[len(groups)-1])
		})
	if err != nil {
		return err
	}
	return t.lockGroups(groups)
}

type groupKey struct {
	bucket int64
	group  string
}

// touch records that a FIFO group has changed; empty: none.
func (t *queueTx) touch(bucket int64, group string) {
	if group != "" {
		t.groups[groupKey{bucket, group}] = true
	}
}

// regroup updates the time at which each touched FIFO group has a message: when the first
// of its messages in flight returns, or an earlier one becomes visible.
func (t *queueTx) regroup(batch *pgx.Batch) {
	if len(t.groups) == 0 {
		return
	}
	keys := sorted.Collect(maps.Keys(t.groups), func(a, b groupKey) int {
		return cmp.Or(cmp.Compare(a.bucket, b.bucket), cmp.Compare(a.group, b.group))
	})
	var c columns
	for _, key := range keys {
		c.add(key.bucket, key.group)
	}
	batch.Queue(t.in(regroup), append(c.args(), t.now)...)
}

// lockOf finds the first message that locks a group at a time, for rows u: no later message
// overtakes it. It reads nothing of a long group without a lock.
const lockOf = `SELECT m.seq, m.visible FROM {schema}.queue_messages m
		WHERE m.bucket = u.bucket AND m.grp = u.grp AND m.hold <> 0 AND m.visible > u.now AND (EXISTS (
				SELECT FROM {schema}.queue_messages h WHERE h.bucket = u.bucket AND h.grp = u.grp AND h.hold = 1 AND h.visible > u.now
			) OR EXISTS (
				SELECT FROM {schema}.queue_messages h WHERE h.bucket = u.bucket AND h.grp = u.grp AND h.hold = 2 AND h.visible > u.now))
		ORDER BY m.seq LIMIT 1`

const regroup = `WITH k AS MATERIALIZED (
		SELECT u.bucket, u.grp, CASE WHEN l.seq IS NOT NULL THEN least(l.visible, (
			SELECT min(m.visible) FROM {schema}.queue_messages m WHERE m.bucket = u.bucket AND m.grp = u.grp AND m.seq < l.seq AND m.due = 0
		)) ELSE (
			SELECT min(f.visible) FROM (VALUES (0), (1), (2)) h (hold) CROSS JOIN LATERAL (
				SELECT m.visible FROM {schema}.queue_messages m
				WHERE m.bucket = u.bucket AND m.grp = u.grp AND m.hold = h.hold AND m.due = 0 ORDER BY m.visible LIMIT 1) f
		) END AS ready
		FROM (SELECT bucket, grp, $3::bigint AS now FROM unnest($1::bigint[], $2::text[]) o (bucket, grp)) u LEFT JOIN LATERAL (` + lockOf + `) l ON true
	), gone AS (
		DELETE FROM {schema}.queue_groups g USING k WHERE g.bucket = k.bucket AND g.grp = k.grp AND k.ready IS NULL
	) INSERT INTO {schema}.queue_groups AS g (bucket, grp, ready)
		SELECT k.bucket, k.grp, k.ready FROM k WHERE k.ready IS NOT NULL ORDER BY k.bucket, k.grp
		ON CONFLICT (bucket, grp) DO UPDATE SET ready = excluded.ready WHERE g.ready <> excluded.ready`
