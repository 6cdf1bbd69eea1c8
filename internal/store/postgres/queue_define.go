package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

// definition is a queue with the bucket of its messages.
type definition struct {
	queue.Queue
	bucket int64
}

const queueColumns = `q.id, q.name, q.bucket, q.version, q.created, q.modified, q.doc`

func scanQueue(row pgx.Row, more ...any) (d definition, err error) {
	var created, modified int64
	var doc []byte
	err = row.Scan(append([]any{&d.ID, &d.Name, &d.bucket, &d.Version, &created, &modified, &doc}, more...)...)
	if err != nil {
		return d, err
	}
	d.Created, d.Modified = record.Time(created), record.Time(modified)
	return d, record.DecodeQueue(doc, &d.Queue)
}

func noQueue(key any) error { return fmt.Errorf("queue %v: %w", key, queue.ErrQueueNotFound) }

// prepare creates the trash, an ordinary queue with a special name.
func (s *queueStore) prepare(ctx context.Context) error {
	_, err := s.CreateQueue(ctx, queue.ImplicitQueue(queue.TrashQueue, false))
	if errors.Is(err, queue.ErrQueueExists) {
		return nil
	}
	return err
}

func (s *queueStore) CreateQueue(ctx context.Context, q queue.Queue) (queue.Queue, error) {
	doc, err := record.EncodeQueue(q)
	if err != nil {
		return queue.Queue{}, err
	}
	for {
		made, err := scanQueue(s.db.pool.QueryRow(ctx, s.in(`INSERT INTO {schema}.queues AS q (name, fifo, created, modified, dead_letter, doc)
			SELECT $1, $2, t.now, t.now, $3, $4 FROM (SELECT `+clock+` AS now) t
			ON CONFLICT (name) DO NOTHING RETURNING `+queueColumns),
			q.Name, q.Settings.FIFO, q.Settings.DeadLetter.Queue, string(doc)))
		if !errors.Is(err, pgx.ErrNoRows) {
			return made.Queue, s.db.fault(ctx, err, "create queue %s", q.Name)
		}
		there, err := s.named(ctx, q.Name)
		if err == nil {
			return there.Queue, fmt.Errorf("queue %q: %w", q.Name, queue.ErrQueueExists)
		}
		if !errors.Is(err, queue.ErrQueueNotFound) { // unless it was just deleted
			return queue.Queue{}, err
		}
	}
}

func (s *queueStore) Queue(ctx context.Context, name string) (queue.Queue, error) {
	if name == queue.TrashQueue {
		return queue.Queue{}, noQueue(name)
	}
	d, err := s.named(ctx, name)
	return d.Queue, err
}

func (s *queueStore) named(ctx context.Context, name string) (definition, error) {
	if !plain(name) {
		return definition{}, errors.Join(ctx.Err(), noQueue(strconv.Quote(name)))
	}
	row := s.db.pool.QueryRow(ctx, s.in(`SELECT `+queueColumns+` FROM {schema}.queues q WHERE q.name = $1`), name)
	d, err := scanQueue(row)
	if errors.Is(err, pgx.ErrNoRows) {
		return d, noQueue(name)
	}
	return d, s.db.fault(ctx, err, "read queue %.100q", name)
}

func (s *queueStore) UpdateQueue(ctx context.Context, q queue.Queue) (queue.Queue, error) {
	doc, err := record.EncodeQueue(q)
	if err != nil {
		return queue.Queue{}, err
	}
	row := s.db.pool.QueryRow(ctx, s.in(`UPDATE {schema}.queues q SET version = version + 1, modified = `+clock+`, dead_letter = $3, doc = $4
		WHERE q.id = $1 AND q.version = $2 RETURNING `+queueColumns), q.ID, q.Version, q.Settings.DeadLetter.Queue, string(doc))
	d, err := scanQueue(row)
	if errors.Is(err, pgx.ErrNoRows) {
		if err := s.exists(ctx, q.ID); err != nil {
			return queue.Queue{}, err
		}
		return queue.Queue{}, fmt.Errorf("queue %q: %w", q.Name, queue.ErrConflict)
	}
	return d.Queue, s.db.fault(ctx, err, "update queue %s", q.Name)
}

func (s *queueStore) exists(ctx context.Context, id int64) error {
	var there bool
	err := s.db.pool.QueryRow(ctx, s.in(`SELECT EXISTS (SELECT FROM {schema}.queues WHERE id = $1)`), id).Scan(&there)
	if err == nil && !there {
		return noQueue(id)
	}
	return s.db.fault(ctx, err, "look for a queue")
}

func (s *queueStore) DeleteQueue(ctx context.Context, id int64) error {
	return s.write(ctx, "delete a queue", func(t *queueTx) error {
		return t.leave(id, `DELETE FROM {schema}.queues WHERE id = $1 AND bucket = $2`,
			`DELETE FROM {schema}.queue_cases WHERE queue = $1`)
	})
}

func (s *queueStore) Purge(ctx context.Context, id int64) error {
	return s.write(ctx, "purge a queue", func(t *queueTx) error {
		return t.leave(id, `UPDATE {schema}.queues SET bucket = nextval('{schema}.queue_bucket') WHERE id = $1 AND bucket = $2`,
			`DELETE FROM {schema}.queue_dedups WHERE queue = $1`)
	})
}

// leave detaches a queue's bucket by the first statement, and lets Clean remove its
// content, whatever its size. A send in progress may still add to the bucket, as if it had
// come earlier.
func (t *queueTx) leave(id int64, statement string, more ...string) error {
	d, err := scanQueue(t.tx.QueryRow(t.ctx, t.in(`SELECT `+queueColumns+` FROM {schema}.queues q WHERE q.id = $1 FOR UPDATE`), id))
	if errors.Is(err, pgx.ErrNoRows) {
		return noQueue(id)
	}
	if err != nil {
		return err
	}
	var batch pgx.Batch
	batch.Queue(t.in(statement), id, d.bucket)
	for _, statement := range more {
		batch.Queue(t.in(statement), id)
	}
	batch.Queue(t.in(`INSERT INTO {schema}.queue_leftovers (bucket, since) VALUES ($1, `+clock+`)`), d.bucket)
	batch.Queue(t.in(`INSERT INTO {schema}.queue_endings (task, done, dead)
		SELECT task, 0, count(*) FROM {schema}.queue_messages WHERE bucket = $1 AND task IS NOT NULL GROUP BY task`), d.bucket)
	return t.tx.SendBatch(t.ctx, &batch).Close()
}

func (s *queueStore) Queues(ctx context.Context, lq queue.ListQuery) ([]queue.Queue, error) {
	q := query{s.in(`SELECT ` + queueColumns + ` FROM {schema}.queues q WHERE true`), nil}
	q.add("AND q.name > $?", lq.After)
	q.add("AND q.name <> $?", queue.TrashQueue)
	if lq.Prefix != "" {
		q.add("AND starts_with(q.name, $?)", lq.Prefix)
		q.add("AND q.name >= $?", lq.Prefix)
	}
	if lq.DeadLetter != "" {
		q.add("AND q.dead_letter = $?", lq.DeadLetter)
	}
	q.add("ORDER BY q.name LIMIT $?", orThousand(lq.Limit))
	found, err := collect(ctx, s.db, q, func(row pgx.CollectableRow) (queue.Queue, error) {
		d, err := scanQueue(row)
		return d.Queue, err
	})
	return found, s.db.fault(ctx, err, "list queues")
}

func orThousand(limit int) int {
	if limit == 0 {
		return 1000
	}
	return limit
}
