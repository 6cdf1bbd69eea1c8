package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/quota"
)

// quotaStore sums the counts of quotas, in one round trip per batch.
type quotaStore struct {
	db *DB

	// Statements with the schema filled in.
	add, read, expireCounts, expireNodes string
}

var _ quota.Store = (*quotaStore)(nil)

// begun is the time at the start of the transaction. Unlike clock, it can be used with an
// index.
const begun = `(extract(epoch FROM now()) * 1000000)::bigint`

func newQuotaStore(db *DB, schema string) *quotaStore {
	in := func(statement string) string { return inSchema(schema, statement) }
	return &quotaStore{
		db: db,

		// Rows are updated in a fixed order, so that nodes do not deadlock. The amount
		// added is the difference between the row's value and its Floor.
		add: in(`WITH mark AS (
				INSERT INTO {schema}.quota_nodes AS m (node, seq, until) VALUES ($1, $2, ` + begun + ` + $3)
				ON CONFLICT (node) DO UPDATE SET seq = excluded.seq, until = excluded.until WHERE m.seq < excluded.seq
				RETURNING 1
			)
			INSERT INTO {schema}.quota_counts AS t (quota, key, bucket, floor, n, until)
			SELECT c.quota, c.key, c.bucket, c.floor, c.floor + c.n, (` + begun + ` + c.keep + c.grain - 1) / c.grain * c.grain
			FROM unnest($4::bigint[], $5::bytea[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[])
				AS c (quota, key, bucket, floor, n, keep, grain)
			WHERE EXISTS (SELECT FROM mark) ORDER BY c.quota, c.key, c.bucket
			ON CONFLICT (quota, key, bucket) DO UPDATE
			SET n = least(greatest(t.n, excluded.floor) + (excluded.n - excluded.floor), $11), until = greatest(t.until, excluded.until)`),
		// A new row may exceed the maximum.
		read: in(`SELECT least(coalesce(t.n, 0), $4) FROM unnest($1::bigint[], $2::bytea[], $3::bigint[]) WITH ORDINALITY AS c (quota, key, bucket, i)
			LEFT JOIN {schema}.quota_counts t USING (quota, key, bucket) ORDER BY c.i`),
		expireCounts: in(`DELETE FROM {schema}.quota_counts WHERE ctid = ANY (ARRAY(
			SELECT ctid FROM {schema}.quota_counts WHERE until < ` + begun + ` ORDER BY until LIMIT $1 FOR UPDATE SKIP LOCKED))`),
		expireNodes: in(`DELETE FROM {schema}.quota_nodes WHERE ctid = ANY (ARRAY(
			SELECT ctid FROM {schema}.quota_nodes WHERE until < ` + begun + ` LIMIT 100 FOR UPDATE SKIP LOCKED))`),
	}
}

// rows holds counts by column.
type rows struct {
	quota, bucket, floor, n, keep, grain []int64
	key                                  [][]byte
}

func (r *rows) append(c quota.Count) {
	r.quota, r.key, r.bucket = append(r.quota, int64(c.Quota)), append(r.key, c.Key[:]), append(r.bucket, c.Bucket)
	r.floor, r.n = append(r.floor, c.Floor), append(r.n, c.N)
	r.keep, r.grain = append(r.keep, c.Keep.Microseconds()), append(r.grain, c.Grain())
}

func (s *quotaStore) AddCounts(ctx context.Context, b quota.Batch) (quota.Totals, error) {
	if err := b.Validate(); err != nil {
		return quota.Totals{}, fmt.Errorf("add counts: %w", err)
	}
	var all, adding rows
	for _, c := range b.Counts {
		all.append(c)
		if c.N > 0 {
			adding.append(c)
		}
	}
	var batch pgx.Batch
	if len(adding.n) > 0 {
		batch.Queue(s.add, []byte(b.Node), b.Seq, quota.KeepNode.Microseconds(),
			adding.quota, adding.key, adding.bucket, adding.floor, adding.n, adding.keep, adding.grain, int64(quota.MaxTotal))
	}
	// A separate statement sees what others added while this one waited.
	batch.Queue(s.read, all.quota, all.key, all.bucket, int64(quota.MaxTotal))
	batch.Queue(s.expireCounts, 100+2*len(b.Counts))
	batch.Queue(s.expireNodes)
	batch.Queue(`SELECT ` + clock)
	totals, err := s.results(s.db.pool.SendBatch(ctx, &batch), len(adding.n) > 0)
	if err != nil {
		return quota.Totals{}, s.db.fault(ctx, err, "add %d counts", len(b.Counts))
	}
	return totals, nil
}

// results reads the answers of a batch. A batch is one transaction, which ends when the
// results are closed.
func (s *quotaStore) results(r pgx.BatchResults, adds bool) (totals quota.Totals, err error) {
	defer func() {
		if closed := r.Close(); err == nil {
			err = closed
		}
	}()
	if adds {
		if _, err := r.Exec(); err != nil {
			return totals, err
		}
	}
	found, err := r.Query()
	if err != nil {
		return totals, err
	}
	if totals.N, err = pgx.CollectRows(found, pgx.RowTo[int64]); err != nil {
		return totals, err
	}
	for range 2 {
		if _, err := r.Exec(); err != nil {
			return totals, err
		}
	}
	var now int64
	err = r.QueryRow().Scan(&now)
	totals.Now = time.UnixMicro(now)
	return totals, err
}
