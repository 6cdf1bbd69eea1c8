package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

const markColumns = `m.key, m.version, m.doc, m.until - ` + clock + `, ` + clock + ` - m.put`

func scanMark(row pgx.Row) (m queue.Mark, err error) {
	var left, age int64
	err = row.Scan(&m.Key, &m.Version, &m.Doc, &left, &age)
	m.TTL, m.Age = time.Duration(left)*time.Microsecond, time.Duration(max(age, 0))*time.Microsecond
	return m, err
}

// maxMarks is the maximum length of a list.
const maxMarks = 10_000

func (s *queueStore) Marks(ctx context.Context, prefix string) ([]queue.Mark, error) {
	if !plain(prefix) {
		return nil, ctx.Err()
	}
	q := query{s.in(`SELECT ` + markColumns + ` FROM {schema}.queue_marks m WHERE m.until > ` + clock), nil}
	q.add("AND starts_with(m.key, $?)", prefix)
	q.add("AND m.key >= $?", prefix)
	q.add("ORDER BY m.key LIMIT $?", maxMarks)
	found, err := collect(ctx, s.db, q, func(row pgx.CollectableRow) (queue.Mark, error) { return scanMark(row) })
	return found, s.db.fault(ctx, err, "list marks")
}

// putMark inserts a mark, or replaces one that has expired or has the given version.
const putMark = `INSERT INTO {schema}.queue_marks AS m (key, version, put, until, doc)
	SELECT $1, nextval('{schema}.queue_mark_version'), t.now, t.now + $4, $5 FROM (SELECT ` + clock + ` AS now) t
	WHERE $2 = 0 OR EXISTS (SELECT FROM {schema}.queue_marks o WHERE o.key = $1)
	ON CONFLICT (key) DO UPDATE SET version = excluded.version, put = excluded.put, until = excluded.until, doc = excluded.doc
		WHERE $3 = CASE WHEN m.until > excluded.put THEN m.version ELSE 0 END
	RETURNING ` + markColumns

func (s *queueStore) PutMark(ctx context.Context, m queue.Mark) (queue.Mark, error) {
	if err := record.CheckMark(m); err != nil {
		return queue.Mark{}, err
	}
	put, err := scanMark(s.db.pool.QueryRow(ctx, s.in(putMark), m.Key, m.Version, m.Version, m.TTL.Microseconds(), m.Doc))
	if !errors.Is(err, pgx.ErrNoRows) {
		return put, s.db.fault(ctx, err, "put mark %s", m.Key)
	}
	there, err := scanMark(s.db.pool.QueryRow(ctx, s.in(`SELECT `+markColumns+` FROM {schema}.queue_marks m
		WHERE m.key = $1 AND m.until > `+clock), m.Key))
	if errors.Is(err, pgx.ErrNoRows) {
		there, err = queue.Mark{}, nil
	}
	if err != nil {
		return queue.Mark{}, s.db.fault(ctx, err, "read mark %s", m.Key)
	}
	return there, fmt.Errorf("mark %s has version %d, not %d: %w", m.Key, there.Version, m.Version, queue.ErrConflict)
}

func (s *queueStore) DeleteMark(ctx context.Context, key string, version int64) error {
	if !plain(key) {
		return ctx.Err()
	}
	gone, err := s.db.pool.Exec(ctx, s.in(`DELETE FROM {schema}.queue_marks WHERE key = $1 AND ($2 = 0 OR version = $2 OR until <= `+clock+`)`), key, version)
	if err != nil || gone.RowsAffected() > 0 || version == 0 {
		return s.db.fault(ctx, err, "delete mark %s", key)
	}
	var there int64
	err = s.db.pool.QueryRow(ctx, s.in(`SELECT version FROM {schema}.queue_marks WHERE key = $1`), key).Scan(&there)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return s.db.fault(ctx, err, "read mark %s", key)
	}
	return fmt.Errorf("mark %s has version %d, not %d: %w", key, there, version, queue.ErrConflict)
}

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
