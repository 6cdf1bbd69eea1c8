package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/quota"
)

// quotaStore sums the counts of quotas. Only one process uses the file, so the store only
// makes counts survive the process.
type quotaStore struct{ db *DB }

var _ quota.Store = (*quotaStore)(nil)

const (
	putQuotaNode = `INSERT INTO quota_nodes AS m (node, seq, until) VALUES (?1, ?2, ?3)
		ON CONFLICT (node) DO UPDATE SET seq = excluded.seq, until = excluded.until WHERE m.seq < excluded.seq`
	putQuotaCount = `INSERT INTO quota_counts AS t (quota, key, bucket, n, until) VALUES (?1, ?2, ?3, min(?4 + ?5, ?6), ?7)
		ON CONFLICT (quota, key, bucket) DO UPDATE SET n = min(max(t.n, ?4) + ?5, ?6), until = max(t.until, excluded.until)
		RETURNING n`
	getQuotaCount     = `SELECT n FROM quota_counts WHERE quota = ? AND key = ? AND bucket = ?`
	expireQuotaCounts = `DELETE FROM quota_counts WHERE (quota, key, bucket) IN
		(SELECT quota, key, bucket FROM quota_counts WHERE until < ? ORDER BY until LIMIT ?)`
	expireQuotaNodes = `DELETE FROM quota_nodes WHERE until < ?`
	overQuotaCounts  = `SELECT EXISTS (SELECT 1 FROM quota_counts WHERE until < ?)`
)

func (s *quotaStore) AddCounts(ctx context.Context, b quota.Batch) (quota.Totals, error) {
	if err := b.Validate(); err != nil {
		return quota.Totals{}, fmt.Errorf("add counts: %w", err)
	}
	write := b.Adds()
	if !write { // usually reading is enough: this avoids a transaction
		err := s.db.reader.QueryRowContext(ctx, overQuotaCounts, time.Now().UnixMicro()).Scan(&write)
		if err != nil {
			return quota.Totals{}, s.db.fault(ctx, err, "look for old counts")
		}
	}
	if !write {
		totals := quota.Totals{Now: time.Now()}
		err := readCounts(&totals, b, func(dest *int64, args ...any) error {
			return s.db.reader.QueryRowContext(ctx, getQuotaCount, args...).Scan(dest)
		})
		return totals, s.db.fault(ctx, err, "read %d counts", len(b.Counts))
	}
	var totals quota.Totals
	err := s.db.writer.run(ctx, func(t tx) (err error) {
		totals, err = addCounts(t, b)
		return err
	})
	if err != nil {
		return quota.Totals{}, s.db.fault(ctx, err, "add %d counts", len(b.Counts))
	}
	return totals, nil
}

// addCounts stores one batch in a transaction.
func addCounts(t tx, b quota.Batch) (quota.Totals, error) {
	totals := quota.Totals{Now: time.Now()}
	now := totals.Now.UnixMicro()
	added := int64(0)
	if b.Adds() {
		var err error
		added, err = t.changed(putQuotaNode, []byte(b.Node), b.Seq, now+quota.KeepNode.Microseconds())
		if err != nil {
			return totals, err
		}
	}
	for _, c := range b.Counts {
		if added == 0 || c.N == 0 {
			continue
		}
		var n int64
		err := t.row(putQuotaCount, []any{int64(c.Quota), c.Key[:], c.Bucket, c.Floor, c.N, int64(quota.MaxTotal), c.Until(now)}, &n)
		if err != nil {
			return totals, err
		}
	}
	err := readCounts(&totals, b, func(dest *int64, args ...any) error { return t.row(getQuotaCount, args, dest) })
	if err != nil {
		return totals, err
	}
	if err := t.exec(expireQuotaNodes, now); err != nil {
		return totals, err
	}
	return totals, t.exec(expireQuotaCounts, now, 100+2*len(b.Counts))
}

func readCounts(totals *quota.Totals, b quota.Batch, read func(dest *int64, args ...any) error) error {
	totals.N = make([]int64, len(b.Counts))
	for i, c := range b.Counts {
		err := read(&totals.N[i], int64(c.Quota), c.Key[:], c.Bucket)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	return nil
}
