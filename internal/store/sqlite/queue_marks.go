package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

const markColumns = `key, version, put, until, doc`

func scanMark(scan func(...any) error, now int64) (m queue.Mark, err error) {
	var put, until int64
	err = scan(&m.Key, &m.Version, &put, &until, &m.Doc)
	m.TTL, m.Age = time.Duration(until-now)*time.Microsecond, time.Duration(max(now-put, 0))*time.Microsecond
	return m, err
}

// maxMarks is the maximum length of a list.
const maxMarks = 10_000

func (s *queueStore) Marks(ctx context.Context, prefix string) ([]queue.Mark, error) {
	now := time.Now().UnixMicro()
	var q query
	q.add(`SELECT `+markColumns+` FROM queue_marks WHERE key >= ? AND substr(key, 1, ?) = ? AND until > ? ORDER BY key LIMIT ?`,
		prefix, len(prefix), prefix, now, maxMarks)
	var found []queue.Mark
	err := q.each(ctx, s.db.reader, func(rows *sql.Rows) error {
		m, err := scanMark(rows.Scan, now)
		found = append(found, m)
		return err
	})
	return found, s.db.fault(ctx, err, "list marks")
}

// mark finds a mark that has not expired.
func (t *queueTx) mark(key string) (m queue.Mark, err error) {
	m, err = scanMark(func(dest ...any) error {
		return t.row(`SELECT `+markColumns+` FROM queue_marks WHERE key = ? AND until > ?`, []any{key, t.now}, dest...)
	}, t.now)
	if errors.Is(err, sql.ErrNoRows) {
		return queue.Mark{}, nil
	}
	return m, err
}

func (s *queueStore) PutMark(ctx context.Context, m queue.Mark) (queue.Mark, error) {
	if err := record.CheckMark(m); err != nil {
		return queue.Mark{}, err
	}
	type result struct {
		queue.Mark
		stored bool
	}
	r, err := writing(ctx, s, "put a mark", func(t *queueTx) (r result, err error) {
		if r.Mark, err = t.mark(m.Key); err != nil || r.Version != m.Version {
			return r, err
		}
		version, err := t.number("mark", 1)
		if err != nil {
			return r, err
		}
		err = t.exec(`INSERT INTO queue_marks (`+markColumns+`) VALUES (?1, ?2, ?3, ?4, ?5)
			ON CONFLICT (key) DO UPDATE SET version = ?2, put = ?3, until = ?4, doc = ?5`,
			m.Key, version, t.now, t.now+m.TTL.Microseconds(), m.Doc)
		if err != nil {
			return r, err
		}
		r.Mark, err = t.mark(m.Key)
		r.stored = true
		return r, err
	})
	if err == nil && !r.stored {
		err = fmt.Errorf("mark %s has version %d, not %d: %w", m.Key, r.Version, m.Version, queue.ErrConflict)
	}
	return r.Mark, err
}

func (s *queueStore) DeleteMark(ctx context.Context, key string, version int64) error {
	there, err := writing(ctx, s, "delete a mark", func(t *queueTx) (queue.Mark, error) {
		m, err := t.mark(key)
		if err != nil || version != 0 && m.Version != version {
			return m, err
		}
		return m, t.exec(`DELETE FROM queue_marks WHERE key = ?`, key)
	})
	if err == nil && version != 0 && there.Version != 0 && there.Version != version {
		err = fmt.Errorf("mark %.255q has version %d, not %d: %w", key, there.Version, version, queue.ErrConflict)
	}
	return err
}

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
