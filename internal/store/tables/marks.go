package tables

import (
	"context"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/internal/state/marks"
	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

// MarkStore keeps small facts that all processes share. An expired mark counts as missing.
type MarkStore struct{ DB DB }

var _ marks.Store = MarkStore{}

const markColumns = `key, version, doc, until - {now}, {now} - put`

func scanMark(scan record.Scan) (m queue.Mark, err error) {
	var left, age int64
	err = scan(&m.Key, &m.Version, &m.Doc, &left, &age)
	m.TTL, m.Age = time.Duration(left)*time.Microsecond, time.Duration(max(age, 0))*time.Microsecond
	return m, err
}

// maxMarks is the maximum length of a list.
const maxMarks = 10_000

// Marks implements [marks.Store].
func (s MarkStore) Marks(ctx context.Context, prefix string) ([]queue.Mark, error) {
	if !plain(prefix) {
		return nil, ctx.Err()
	}
	q := query{
		`SELECT ` + markColumns + ` FROM {schema}.queue_marks WHERE until > {now} AND key >= $1 AND substr(key, 1, $2) = $1 ORDER BY key LIMIT $3`,
		[]any{prefix, len(prefix), maxMarks},
	}
	found, err := collect(ctx, s.DB, q, scanMark)
	return found, s.DB.Fault(ctx, err, "list marks")
}

// PutMark inserts a mark, or replaces one that has expired or has the given version.
func (s MarkStore) PutMark(ctx context.Context, m queue.Mark) (queue.Mark, error) {
	if err := record.CheckMark(m); err != nil {
		return queue.Mark{}, err
	}
	var put, there queue.Mark
	read := func(m *queue.Mark) func(record.Scan) error {
		return func(scan record.Scan) (err error) {
			*m, err = scanMark(scan)
			return err
		}
	}
	var b Batch
	b.add(`{count mark}`)
	b.read(`INSERT INTO {schema}.queue_marks AS m (key, version, put, until, doc)
		SELECT $1, {mark}, t.now, t.now + $3, $4 FROM (SELECT {now} AS now) t
		WHERE CAST($2 AS bigint) = 0 OR EXISTS (SELECT 1 FROM {schema}.queue_marks o WHERE o.key = $1)
		ON CONFLICT (key) DO UPDATE SET version = excluded.version, put = excluded.put, until = excluded.until, doc = excluded.doc
			WHERE $2 = CASE WHEN m.until > excluded.put THEN m.version ELSE 0 END
		RETURNING `+markColumns, []any{m.Key, m.Version, m.TTL.Microseconds(), m.Doc}, func() { put, there = queue.Mark{}, queue.Mark{} }, read(&put))
	b.ask(`SELECT `+markColumns+` FROM {schema}.queue_marks WHERE key = $1 AND until > {now}`, []any{m.Key}, read(&there))
	if err := s.DB.Send(ctx, b); err != nil {
		return queue.Mark{}, s.DB.Fault(ctx, err, "put mark %s", m.Key)
	}
	if put.Version == 0 {
		return there, fmt.Errorf("mark %s has version %d, not %d: %w", m.Key, there.Version, m.Version, queue.ErrConflict)
	}
	return put, nil
}

// DeleteMark implements [marks.Store].
func (s MarkStore) DeleteMark(ctx context.Context, key string, version int64) error {
	if !plain(key) {
		return ctx.Err()
	}
	var there int64
	var b Batch
	b.add(`DELETE FROM {schema}.queue_marks WHERE key = $1 AND (CAST($2 AS bigint) = 0 OR version = $2 OR until <= {now})`, key, version)
	b.read(`SELECT version FROM {schema}.queue_marks WHERE key = $1`, []any{key}, func() { there = 0 }, func(scan record.Scan) error { return scan(&there) })
	if err := s.DB.Send(ctx, b); err != nil {
		return s.DB.Fault(ctx, err, "delete mark %s", key)
	}
	if there != 0 && version != 0 {
		return fmt.Errorf("mark %s has version %d, not %d: %w", key, there, version, queue.ErrConflict)
	}
	return nil
}
