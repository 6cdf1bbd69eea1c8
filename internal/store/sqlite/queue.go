package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/internal/store/tables"
	"github.com/bezoar-dev/bezoar/queue"
)

// queueStore stores queues. It uses the clock of this process, which owns the file. The
// clock is read in the transaction of each decision.
type queueStore struct {
	tables.MarkStore
	db    *DB
	cache *cache
}

var _ queue.Store = (*queueStore)(nil)

func newQueueStore(ctx context.Context, db *DB) (*queueStore, error) {
	s := &queueStore{tables.MarkStore{DB: db.shared}, db, newCache()}
	db.writer.before, db.writer.after = s.settle, s.cache.ended
	return s, s.load(ctx)
}

// queueTx is one caller's part of a transaction, at one time.
type queueTx struct {
	tx
	cache *cache
	now   int64
	// groups holds the FIFO groups to update, and the copies that they wait for.
	groups map[groupKey]waits
	freed  bool // messages that waited for a copy may have become available
}

// write runs do in the shared transaction. do may run twice.
func (s *queueStore) write(ctx context.Context, what string, do func(*queueTx) error) error {
	return s.writeBy(ctx, s.db.writer.run, what, do)
}

func (s *queueStore) writeBy(ctx context.Context, run func(context.Context, func(tx) error) error, what string, do func(*queueTx) error) error {
	err := run(ctx, func(t tx) error {
		q := &queueTx{tx: t, cache: s.cache, now: time.Now().UnixMicro()}
		if err := do(q); err != nil {
			return err
		}
		return q.regroup()
	})
	if queue.CodeOf(err) != "" {
		return err
	}
	return s.db.fault(ctx, err, "%s", what)
}

// writing is write with a result. The result belongs to do until the write has ended, even
// if ctx ends first.
func writing[T any](ctx context.Context, s *queueStore, what string, do func(*queueTx) (T, error)) (T, error) {
	return writingBy(ctx, s, s.db.writer.run, what, do)
}

// growing is writing for data that may stay for long; see [writer.grow].
func growing[T any](ctx context.Context, s *queueStore, what string, do func(*queueTx) (T, error)) (T, error) {
	return writingBy(ctx, s, s.db.writer.grow, what, do)
}

func writingBy[T any](ctx context.Context, s *queueStore, run func(context.Context, func(tx) error) error, what string, do func(*queueTx) (T, error)) (T, error) {
	var out, none T
	err := s.writeBy(ctx, run, what, func(t *queueTx) (err error) {
		out, err = do(t)
		return err
	})
	if err != nil {
		return none, err
	}
	return out, nil
}

// each runs a query and calls f for each row.
func (t tx) each(query string, args []any, f func(*sql.Rows) error) error {
	stmt, err := t.stmt(query) //nolint:sqlclosecheck // kept for the next one; writer.close closes it
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(context.Background(), args...)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Shared returns false: only one process uses the file.
func (s *queueStore) Shared() bool { return false }

// definition is a queue with the bucket of its messages.
type definition struct {
	queue.Queue
	bucket int64
}

const queueColumns = `id, name, bucket, version, created, modified, doc`

func scanQueue(scan func(...any) error) (d definition, err error) {
	var created, modified int64
	var doc string
	if err := scan(&d.ID, &d.Name, &d.bucket, &d.Version, &created, &modified, &doc); err != nil {
		return d, err
	}
	d.Created, d.Modified = record.Time(created), record.Time(modified)
	return d, record.DecodeQueue([]byte(doc), &d.Queue)
}

// open finds a queue by its id.
func (t *queueTx) open(id int64) (definition, error) {
	if d, ok := t.cache.byID[id]; ok {
		return d, nil
	}
	return t.definition(`SELECT `+queueColumns+` FROM queues WHERE id = ?`, id)
}

// named finds a queue by its name.
func (t *queueTx) named(name string) (definition, error) {
	if d, ok := t.cache.byName[name]; ok {
		return d, nil
	}
	return t.definition(`SELECT `+queueColumns+` FROM queues WHERE name = ?`, name)
}

// owner finds a queue by its bucket.
func (t *queueTx) owner(bucket int64) (definition, error) {
	if d, ok := t.cache.bucket[bucket]; ok {
		return d, nil
	}
	return t.definition(`SELECT `+queueColumns+` FROM queues WHERE bucket = ?`, bucket)
}

func (t *queueTx) definition(query string, key any) (definition, error) {
	d, err := scanQueue(func(dest ...any) error { return t.row(query, []any{key}, dest...) })
	if errors.Is(err, sql.ErrNoRows) {
		return d, fmt.Errorf("queue %v: %w", key, queue.ErrQueueNotFound)
	}
	if err == nil {
		t.cache.remember(d)
	}
	return d, err
}

func (t *queueTx) number(kind string, n int) (last int64, err error) {
	err = t.row(`UPDATE queue_numbers SET last = last + ? WHERE kind = ? RETURNING last`, []any{n, kind}, &last)
	return last, err
}

func (s *queueStore) CreateQueue(ctx context.Context, q queue.Queue) (queue.Queue, error) {
	doc, err := record.EncodeQueue(q)
	if err != nil {
		return queue.Queue{}, err
	}
	type result struct {
		queue.Queue
		taken bool
	}
	made, err := writing(ctx, s, "create queue "+q.Name, func(t *queueTx) (result, error) {
		there, err := t.named(q.Name)
		if err == nil {
			return result{there.Queue, true}, nil
		}
		if !errors.Is(err, queue.ErrQueueNotFound) {
			return result{}, err
		}
		there, err = t.define(q, doc)
		return result{there.Queue, false}, err
	})
	made.Queue = own(made.Queue)
	if err == nil && made.taken {
		err = fmt.Errorf("queue %q: %w", q.Name, queue.ErrQueueExists)
	}
	return made.Queue, err
}

func (t *queueTx) define(q queue.Queue, doc []byte) (definition, error) {
	t.cache.forget()
	bucket, err := t.number("bucket", 1)
	if err != nil {
		return definition{}, err
	}
	err = t.exec(`INSERT INTO queues (name, bucket, fifo, version, created, modified, dead_letter, doc) VALUES (?, ?, ?, 1, ?, ?, ?, ?)`,
		q.Name, bucket, q.Settings.FIFO, t.now, t.now, q.Settings.DeadLetter.Queue, string(doc))
	if err != nil {
		return definition{}, err
	}
	return t.named(q.Name)
}

// own returns a copy of a cached definition for a caller.
func own(q queue.Queue) queue.Queue {
	q.Tags, q.Settings.Extra = maps.Clone(q.Tags), maps.Clone(q.Settings.Extra)
	q.Settings.Allow.Queues = slices.Clone(q.Settings.Allow.Queues)
	q.Settings.Quarantine.Ignore = slices.Clone(q.Settings.Quarantine.Ignore)
	return q
}

func (s *queueStore) Queue(ctx context.Context, name string) (queue.Queue, error) {
	row := s.db.reader.QueryRowContext(ctx, `SELECT `+queueColumns+` FROM queues WHERE name = ? AND name <> '`+queue.TrashQueue+`'`, name)
	d, err := scanQueue(row.Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return queue.Queue{}, fmt.Errorf("queue %.100q: %w", name, queue.ErrQueueNotFound)
	}
	return d.Queue, s.db.fault(ctx, err, "read queue %.100q", name)
}

func (s *queueStore) UpdateQueue(ctx context.Context, q queue.Queue) (queue.Queue, error) {
	doc, err := record.EncodeQueue(q)
	if err != nil {
		return queue.Queue{}, err
	}
	return writing(ctx, s, "update queue "+q.Name, func(t *queueTx) (queue.Queue, error) {
		d, err := t.open(q.ID)
		if err != nil {
			return queue.Queue{}, err
		}
		if d.Version != q.Version {
			return queue.Queue{}, fmt.Errorf("queue %q: %w", d.Name, queue.ErrConflict)
		}
		err = t.exec(`UPDATE queues SET version = version + 1, modified = ?, dead_letter = ?, doc = ? WHERE id = ?`,
			t.now, q.Settings.DeadLetter.Queue, string(doc), q.ID)
		if err != nil {
			return queue.Queue{}, err
		}
		t.cache.forget()
		d, err = t.open(q.ID)
		return own(d.Queue), err
	})
}

func (s *queueStore) DeleteQueue(ctx context.Context, id int64) error {
	return s.write(ctx, "delete a queue", func(t *queueTx) error {
		d, err := t.open(id)
		if err != nil {
			return err
		}
		return errors.Join(t.leave(d.bucket), t.exec(`DELETE FROM queues WHERE id = ?`, id), t.forgetCases(id))
	})
}

func (s *queueStore) Purge(ctx context.Context, id int64) error {
	return s.write(ctx, "purge a queue", func(t *queueTx) error {
		d, err := t.open(id)
		if err != nil {
			return err
		}
		bucket, err := t.number("bucket", 1)
		if err != nil {
			return err
		}
		return errors.Join(t.leave(d.bucket), t.exec(`UPDATE queues SET bucket = ? WHERE id = ?`, bucket, id),
			t.exec(`DELETE FROM queue_dedups WHERE queue = ?`, id))
	})
}

// leave lets Clean remove the content of a bucket, whatever its size.
func (t *queueTx) leave(bucket int64) error {
	t.cache.forget()
	return t.exec(`INSERT INTO queue_leftovers (bucket) VALUES (?)`, bucket)
}

func (s *queueStore) Queues(ctx context.Context, lq queue.ListQuery) ([]queue.Queue, error) {
	var q query
	q.add(`SELECT `+queueColumns+` FROM queues WHERE name > ? AND name <> '`+queue.TrashQueue+`'`, lq.After)
	if lq.Prefix != "" {
		q.add(`AND substr(name, 1, ?) = ? AND name >= ?`, len(lq.Prefix), lq.Prefix, lq.Prefix)
	}
	if lq.DeadLetter != "" {
		q.add(`AND dead_letter = ?`, lq.DeadLetter)
	}
	q.add(`ORDER BY name LIMIT ?`, cmp.Or(lq.Limit, 1000))
	var found []queue.Queue
	err := q.each(ctx, s.db.reader, func(rows *sql.Rows) error {
		d, err := scanQueue(rows.Scan)
		found = append(found, d.Queue)
		return err
	})
	return found, s.db.fault(ctx, err, "list queues like %.80q", strings.ToValidUTF8(lq.Prefix, "?"))
}
