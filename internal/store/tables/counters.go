package tables

import (
	"context"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/quota"
)

// Quota sums the counts of quotas, in one round trip for each batch.
type Quota struct{ DB DB }

var _ quota.Store = Quota{}

const (
	// The row of a node exists before it is locked, so that two calls with one batch follow each other.
	addNode  = `INSERT INTO {schema}.quota_nodes (node, seq, until) VALUES ($1, 0, {begun} + $2) ON CONFLICT (node) DO NOTHING`
	lockNode = `SELECT 1 FROM {schema}.quota_nodes WHERE node = $1{lock}`
	markNode = `UPDATE {schema}.quota_nodes SET seq = $2, until = {begun} + $3 WHERE node = $1 AND seq < $2`

	// Rows are updated in a fixed order, so that nodes do not deadlock. The amount added is the
	// difference between the row's value and its floor.
	addCounts = `INSERT INTO {schema}.quota_counts AS t (quota, key, bucket, floor, n, until)
		SELECT u.quota, u.key, u.bucket, u.floor, u.floor + u.n, ({begun} + u.keep + u.grain - 1) / u.grain * u.grain
		FROM {rows 4: quota bigint, key bytea, bucket bigint, floor bigint, n bigint, keep bigint, grain bigint}
		WHERE EXISTS (SELECT 1 FROM {schema}.quota_nodes m WHERE m.node = $1 AND m.seq < $2) ORDER BY u.quota, u.key, u.bucket
		ON CONFLICT (quota, key, bucket) DO UPDATE
		SET n = {least}({greatest}(t.n, excluded.floor) + (excluded.n - excluded.floor), CAST($3 AS bigint)), until = {greatest}(t.until, excluded.until)`
	// A new row may exceed the maximum.
	readCounts = `SELECT {least}(coalesce(t.n, 0), CAST($1 AS bigint)) FROM {rows 2: quota bigint, key bytea, bucket bigint, i bigint}
		LEFT JOIN {schema}.quota_counts t ON t.quota = u.quota AND t.key = u.key AND t.bucket = u.bucket ORDER BY u.i`
	expireCounts = `DELETE FROM {schema}.quota_counts WHERE (quota, key, bucket) IN
		(SELECT quota, key, bucket FROM {schema}.quota_counts WHERE until < {begun} ORDER BY until LIMIT $1{skip})`
	expireNodes = `DELETE FROM {schema}.quota_nodes WHERE node IN (SELECT node FROM {schema}.quota_nodes WHERE until < {begun} LIMIT 100{skip})`
)

// AddCounts implements [quota.Store].
func (s Quota) AddCounts(ctx context.Context, b quota.Batch) (quota.Totals, error) {
	if err := b.Validate(); err != nil {
		return quota.Totals{}, fmt.Errorf("add counts: %w", err)
	}
	var all, adding Rows
	for i, c := range b.Counts {
		all.add(int64(c.Quota), c.Key[:], c.Bucket, int64(i))
		if c.N > 0 {
			adding.add(int64(c.Quota), c.Key[:], c.Bucket, c.Floor, c.N, c.Keep.Microseconds(), c.Grain())
		}
	}
	var q Batch
	if len(adding) > 0 {
		node, keep := []byte(b.Node), quota.KeepNode.Microseconds()
		q.add(addNode, node, keep)
		q = append(q, Query{Statement: lockNode, Args: []any{node}, Locks: true})
		q.addRows(addCounts, adding, node, b.Seq, int64(quota.MaxTotal))
		q.add(markNode, node, b.Seq, keep)
	}
	totals := quota.Totals{N: make([]int64, 0, len(all))}
	if len(all) > 0 { // a separate statement sees what others added while this one waited
		q.read(readCounts, []any{int64(quota.MaxTotal), all}, func() { totals.N = totals.N[:0] }, func(scan record.Scan) error {
			totals.N = append(totals.N, 0)
			return scan(&totals.N[len(totals.N)-1])
		})
	}
	q.add(expireCounts, 100+2*len(b.Counts))
	q.add(expireNodes)
	q.ask(`SELECT {now}`, nil, func(scan record.Scan) error {
		var now int64
		err := scan(&now)
		totals.Now = time.UnixMicro(now)
		return err
	})
	if err := s.DB.Send(ctx, q); err != nil {
		return quota.Totals{}, s.DB.Fault(ctx, err, "add %d counts", len(b.Counts))
	}
	return totals, nil
}
