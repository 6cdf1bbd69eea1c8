package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

func (s *queueStore) Audit(ctx context.Context, e queue.AuditEntry) (queue.AuditEntry, error) {
	if err := record.CheckAudit(e); err != nil {
		return queue.AuditEntry{}, err
	}
	var at int64
	err := s.db.pool.QueryRow(ctx, s.in(`INSERT INTO {schema}.queue_audit (at, actor, action, object, detail, error)
		VALUES (`+clock+`, $1, $2, $3, $4, $5) RETURNING number, at`),
		[]byte(e.Actor), []byte(e.Action), []byte(e.Object), []byte(e.Detail), []byte(e.Error)).Scan(&e.Number, &at)
	if err != nil {
		return queue.AuditEntry{}, s.db.fault(ctx, err, "keep an audit entry")
	}
	e.At = record.Time(at)
	return e, nil
}

func (s *queueStore) AuditLog(ctx context.Context, before int64, limit int) ([]queue.AuditEntry, error) {
	q := query{s.in(`SELECT number, at, actor, action, object, detail, error FROM {schema}.queue_audit WHERE true`), nil}
	if before != 0 {
		q.add("AND number < $?", before)
	}
	q.add("ORDER BY number DESC LIMIT $?", limit)
	found, err := collect(ctx, s.db, q, func(row pgx.CollectableRow) (queue.AuditEntry, error) {
		var e queue.AuditEntry
		var at int64
		var actor, action, object, detail, text []byte
		err := row.Scan(&e.Number, &at, &actor, &action, &object, &detail, &text)
		e.At, e.Actor, e.Action, e.Object, e.Error = record.Time(at), string(actor), string(action), string(object), string(text)
		if len(detail) > 0 {
			e.Detail = detail
		}
		return e, err
	})
	return found, s.db.fault(ctx, err, "list audit entries")
}
