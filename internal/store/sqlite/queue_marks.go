package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

func (s *queueStore) Audit(ctx context.Context, e queue.AuditEntry) (queue.AuditEntry, error) {
	if err := record.CheckAudit(e); err != nil {
		return queue.AuditEntry{}, err
	}
	e.Number, e.At = 0, time.Time{}
	doc, err := json.Marshal(e)
	if err != nil {
		return queue.AuditEntry{}, err
	}
	return writing(ctx, s, "write to the audit log", func(t *queueTx) (queue.AuditEntry, error) {
		done := e
		done.At = record.Time(t.now)
		err := t.row(`INSERT INTO queue_audit (at, doc) VALUES (?, ?) RETURNING number`, []any{t.now, string(doc)}, &done.Number)
		return done, err
	})
}

func (s *queueStore) AuditLog(ctx context.Context, before int64, limit int) ([]queue.AuditEntry, error) {
	before = cmp.Or(before, 1<<63-1)
	var q query
	q.add(`SELECT number, at, doc FROM queue_audit WHERE number < ? ORDER BY number DESC LIMIT ?`, before, limit)
	var found []queue.AuditEntry
	err := q.each(ctx, s.db.reader, func(rows *sql.Rows) error {
		var e queue.AuditEntry
		var number, at int64
		var doc string
		if err := rows.Scan(&number, &at, &doc); err != nil {
			return err
		}
		err := json.Unmarshal([]byte(doc), &e)
		e.Number, e.At = number, record.Time(at)
		found = append(found, e)
		return err
	})
	return found, s.db.fault(ctx, err, "read the audit log")
}
