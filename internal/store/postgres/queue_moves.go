package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

// moveRow is a move task with its progress.
type moveRow struct {
	queue.MoveTask
	number, bucket, cursor, next int64
}

// moveColumns add the outcomes since the task was last written.
const moveColumns = `v.number, v.id, v.kind, v.source, v.destination, v.rate, v.state, v.failure, v.doc, v.started, v.ended, v.moved, v.to_move,
	v.done + coalesce(e.done, 0), v.dead + coalesce(e.dead, 0), v.forgiven, v.bucket, v.cursor, v.next`

const fromMoves = ` FROM {schema}.queue_moves v LEFT JOIN LATERAL (
		SELECT sum(e.done)::bigint AS done, sum(e.dead)::bigint AS dead FROM {schema}.queue_endings e WHERE e.task = v.number
	) e ON true`

func scanMove(row pgx.Row, more ...any) (m moveRow, err error) {
	var started, ended int64
	var kind, state string
	var doc []byte
	err = row.Scan(append([]any{
		&m.number, &m.ID, &kind, &m.Source, &m.Destination, &m.Rate, &state, &m.Failure, &doc, &started, &ended, &m.Moved, &m.ToMove,
		&m.Done, &m.Dead, &m.Forgiven, &m.bucket, &m.cursor, &m.next,
	}, more...)...)
	if err != nil {
		return m, err
	}
	m.Kind, m.State, m.Started, m.Ended = queue.MoveKind(kind), queue.MoveState(state), record.Time(started), record.Time(ended)
	m.Drained = m.cursor == drained
	return m, record.DecodeMove(doc, &m.MoveTask)
}

// drained is the cursor of a task with nothing left to move.
const drained = math.MaxInt64

func (s *queueStore) StartMove(ctx context.Context, task queue.MoveTask) (queue.MoveTask, error) {
	return writing(ctx, s, "start a move task", func(t *queueTx) (queue.MoveTask, error) { return t.startMove(task) })
}

func (t *queueTx) startMove(task queue.MoveTask) (none queue.MoveTask, err error) {
	var m moveRow
	if task.Source != "" {
		source, err := t.named(task.Source)
		if err != nil {
			return none, err
		}
		m.bucket = source.bucket
	}
	var last int64
	if err := t.row(`SELECT last_value, `+clock+` FROM {schema}.queue_sequence`, nil, &last, &t.now); err != nil {
		return none, err
	}
	m.MoveTask = record.BeginMove(task, last, t.now)
	if m.Kind == queue.MoveSQS {
		err = t.row(`SELECT coalesce(sum(n), 0)::bigint FROM {schema}.queue_tallies WHERE bucket = $1`, []any{m.bucket}, &m.ToMove)
	} else {
		var newest int64
		err = t.s.countLetters(t.ctx, t.tx, m.Selection, &m.ToMove, &newest)
	}
	if err != nil {
		return none, err
	}
	doc, err := record.EncodeMove(m.MoveTask)
	if err != nil {
		return none, err
	}
	err = t.row(`INSERT INTO {schema}.queue_moves (id, kind, source, destination, rate, state, failure, doc, started, ended, moved, to_move,
			done, dead, forgiven, bucket, next)
		VALUES ($1, $2, $3, $4, $5, $6, '', $7, $8, 0, 0, $9, 0, 0, 0, $10, $8) ON CONFLICT DO NOTHING RETURNING number`,
		[]any{m.ID, string(m.Kind), m.Source, m.Destination, m.Rate, string(m.State), string(doc), t.now, m.ToMove, m.bucket}, &m.number)
	if errors.Is(err, pgx.ErrNoRows) {
		return none, fmt.Errorf("queue %q: %w", m.Source, queue.ErrMoveRunning)
	}
	if err != nil {
		return none, err
	}
	return m.MoveTask, t.forgetMoves(m)
}

// forgetMoves drops the oldest tasks above the limit.
func (t *queueTx) forgetMoves(m moveRow) error {
	alike, most, args := `kind <> ''`, record.KeptTriage, []any{}
	if m.Kind == queue.MoveSQS {
		alike, most, args = `kind = '' AND source = $1`, record.KeptMoves, []any{m.Source}
	}
	_, err := t.tx.Exec(t.ctx, t.in(fmt.Sprintf(`DELETE FROM {schema}.queue_moves WHERE number IN (
			SELECT number FROM {schema}.queue_moves WHERE %[1]s AND state NOT IN ('running', 'paused', 'halted') AND number <= (
				SELECT number FROM {schema}.queue_moves WHERE %[1]s ORDER BY number DESC OFFSET %[2]d LIMIT 1
			) FOR UPDATE SKIP LOCKED)`, alike, most)), args...)
	return err
}

// task locks a task, and adds the outcomes so far.
func (t *queueTx) task(id string) (m moveRow, err error) {
	lost := fmt.Errorf("move task %.64q: %w", id, queue.ErrMoveNotFound)
	if !plain(id) {
		return m, lost
	}
	var number int64
	err = t.row(`SELECT number FROM {schema}.queue_moves WHERE id = $1 FOR UPDATE`, []any{id}, &number)
	if errors.Is(err, pgx.ErrNoRows) {
		return m, lost
	}
	if err != nil {
		return m, err
	}
	m, err = scanMove(t.tx.QueryRow(t.ctx, t.in(`WITH e AS (
			DELETE FROM {schema}.queue_endings WHERE task = $1 RETURNING done, dead
		) SELECT `+moveColumns+`, `+clock+` FROM {schema}.queue_moves v LEFT JOIN (
			SELECT sum(done)::bigint AS done, sum(dead)::bigint AS dead FROM e
		) e ON true WHERE v.number = $1`), number), &t.now)
	return m, err
}

func (t *queueTx) keepMove(m moveRow) error {
	var ended int64
	if !m.Ended.IsZero() {
		ended = m.Ended.UnixMicro()
	}
	_, err := t.tx.Exec(t.ctx, t.in(`UPDATE {schema}.queue_moves SET rate = $2, state = $3, failure = $4, ended = $5, moved = $6, done = $7, dead = $8,
		forgiven = $9, cursor = $10, next = $11 WHERE number = $1`),
		m.number, m.Rate, string(m.State), m.Failure, ended, m.Moved, m.Done, m.Dead, m.Forgiven, m.cursor, m.next)
	return err
}

func (s *queueStore) StepMove(ctx context.Context, id string, limit int) (queue.Step, error) {
	return writing(ctx, s, "move messages", func(t *queueTx) (step queue.Step, err error) {
		m, err := t.task(id)
		if err != nil {
			return step, err
		}
		if m.State != queue.MoveRunning {
			return step, fmt.Errorf("move task %s is %s: %w", id, m.State, queue.ErrMoveNotRunning)
		}
		n, next := record.Turn(&m.MoveTask, m.next, t.now, limit)
		if n > 0 {
			before := m.Moved
			if step.Queues, err = t.step(&m, n); err != nil {
				return step, err
			}
			if step.Moved = int(m.Moved - before); step.Moved == 0 && !m.Drained && m.Selection.ByContent() {
				next = t.now // the step only searched
			}
			m.next = next
		}
		step.Task, step.Next = m.MoveTask, time.Duration(max(next-t.now, 0))*time.Microsecond
		return step, t.keepMove(m)
	})
}

// step moves up to n messages. Messages locked by others count as in flight.
func (t *queueTx) step(task *moveRow, n int) (gained []string, err error) {
	batch, upTo, err := t.ahead(task, n)
	if err != nil {
		return nil, err
	}
	defer func() {
		if task.State != queue.MoveRunning {
			return
		}
		if task.cursor = upTo; upTo == drained {
			record.DrainMove(&task.MoveTask, t.now)
		}
	}()
	if len(batch) == 0 {
		return nil, nil
	}
	owners, rows, err := t.lockAhead(batch)
	if err != nil {
		return nil, err
	}
	for _, m := range rows {
		from, ok := owners[m.bucket]
		if !ok || m.Locks(t.now) || m.Due != 0 {
			continue
		}
		letter, err := m.letter()
		if err != nil {
			return nil, err
		}
		to := record.MoveTo(&task.MoveTask, letter)
		target, err := t.named(to)
		if err != nil && !errors.Is(err, queue.ErrQueueNotFound) {
			return nil, err
		}
		if err != nil || !record.MayMove(&task.MoveTask, from.Settings.FIFO, target.Settings.FIFO, m.label) {
			record.EndMove(&task.MoveTask, queue.MoveFailed, record.MoveFailure(m.id, to), t.now)
			break
		}
		if err := t.forward(task, m, letter, from, target); err != nil {
			return nil, err
		}
		task.Moved++
		task.cursor = m.seq
		gained = append(gained, to)
	}
	slices.Sort(gained)
	return slices.Compact(gained), nil
}

// place is the position of a message.
type place struct {
	bucket, seq int64
	group       string
}

// ahead returns the positions of up to n next messages of a task, and the task's new
// cursor; drained means the end.
func (t *queueTx) ahead(task *moveRow, n int) (batch []place, upTo int64, err error) {
	var q query
	upTo = drained
	if task.Kind == queue.MoveSQS {
		source, err := t.named(task.Source)
		if errors.Is(err, queue.ErrQueueNotFound) || err == nil && source.bucket != task.bucket {
			return nil, upTo, nil // nothing is left
		}
		if err != nil {
			return nil, 0, err
		}
		q.text = `SELECT d.bucket, d.seq, coalesce(d.grp, '') FROM {schema}.queue_messages d`
		q.add("WHERE d.bucket = $?", task.bucket)
		q.add("AND d.seq <= $?", task.Selection.Last)
	} else {
		s := task.Selection
		seq, err := t.horizon(s, task.cursor)
		if err != nil {
			return nil, 0, err
		}
		if seq > 0 {
			s.Last, upTo = seq, seq
		}
		q.text = `SELECT d.bucket, d.seq, CASE WHEN q.fifo THEN (
			SELECT coalesce(m.grp, '') FROM {schema}.queue_messages m WHERE m.bucket = d.bucket AND m.seq = d.seq) ELSE '' END` + letters
		q.choose(s, t.in)
	}
	q.add("AND d.seq > $?", task.cursor)
	q.add("ORDER BY d.seq LIMIT $?", n+1)
	err = t.each(q.text, q.args, func(rows pgx.Rows) error {
		var p place
		err := rows.Scan(&p.bucket, &p.seq, &p.group)
		batch = append(batch, p)
		return err
	})
	if len(batch) > n {
		batch, upTo = batch[:n], batch[n-1].seq
	}
	return batch, upTo, err
}

// horizon is the sequence number up to which a step searches the content of letters, so
// that no transaction reads all of them; 0: no limit.
func (t *queueTx) horizon(s queue.Selection, after int64) (seq int64, err error) {
	if !s.ByContent() {
		return 0, nil
	}
	s.Body, s.Reason, s.Attributes = "", "", nil
	q := query{`SELECT coalesce((SELECT d.seq` + letters, nil}
	q.choose(s, t.in)
	q.add("AND d.seq > $?", after)
	q.add("ORDER BY d.seq LIMIT 1 OFFSET $?), 0)", record.MaxLooked-1)
	err = t.row(q.text, q.args, &seq)
	return seq, err
}

// lockAhead locks messages with their groups, and reads their queues.
func (t *queueTx) lockAhead(batch []place) (owners map[int64]definition, rows []*messageRow, err error) {
	var groups []string
	var c columns
	for _, p := range batch {
		c.add(p.bucket, p.seq)
		if p.group != "" {
			groups = append(groups, p.group)
		}
	}
	if err := t.lockGroups(groups); err != nil {
		return nil, nil, err
	}
	owners = make(map[int64]definition)
	err = t.each(`SELECT `+queueColumns+` FROM {schema}.queues q WHERE q.bucket = ANY ($1::bigint[])`, c.args()[:1], func(rows pgx.Rows) error {
		d, err := scanQueue(rows)
		owners[d.bucket] = d
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	err = t.each(`SELECT `+stateColumns+` FROM unnest($1::bigint[], $2::bigint[]) u (bucket, seq) JOIN`+fromMessages+`
		ON m.bucket = u.bucket AND m.seq = u.seq ORDER BY m.seq FOR UPDATE OF m SKIP LOCKED`, c.args(), func(r pgx.Rows) error {
		rows = append(rows, new(messageRow))
		return rows[len(rows)-1].scan(r)
	})
	return owners, rows, err
}

func (t *queueTx) forward(task *moveRow, m *messageRow, letter *queue.Letter, from, target definition) error {
	t.take(m)
	switch task.Kind {
	case queue.MoveDiscard:
		letter.Discarded = &queue.Discarded{At: record.Time(t.now), From: from.Name}
		t.settle(m, target, letter)
		return nil
	case queue.MoveRestore:
		letter.Discarded = nil
		t.settle(m, target, letter)
		return nil
	case queue.MoveSQS, queue.MoveRedrive:
	}
	moved := t.settle(m, target, nil)
	moved.id, moved.Sent, moved.task = queue.NewID(), t.now, m.task
	if moved.locking() {
		moved.dedup = moved.id
	}
	if letter == nil {
		return nil
	}
	before, err := record.DecodeLineage(m.lineage)
	if err != nil {
		return err
	}
	moved.task = task.number
	moved.lineage, err = record.EncodeLineage(before.Child(m.id, letter, task.ID, false))
	return err
}

func (s *queueStore) ChangeMove(ctx context.Context, id string, c queue.MoveChange) (queue.MoveTask, error) {
	return writing(ctx, s, "change a move task", func(t *queueTx) (queue.MoveTask, error) {
		m, err := t.task(id)
		if err != nil {
			return queue.MoveTask{}, err
		}
		if err := record.ChangeMove(&m.MoveTask, c, t.now); err != nil {
			return queue.MoveTask{}, err
		}
		return m.MoveTask, t.keepMove(m)
	})
}

func (s *queueStore) Moves(ctx context.Context, mq queue.MoveQuery) ([]queue.MoveTask, error) {
	if !plain(mq.Source) || !plain(mq.ID) {
		return nil, ctx.Err()
	}
	q := query{s.in(`SELECT ` + moveColumns + fromMoves + ` WHERE true`), nil}
	if mq.Source != "" {
		q.add("AND v.source = $?", mq.Source)
	}
	if mq.ID != "" {
		q.add("AND v.id = $?", mq.ID)
	}
	if mq.Live {
		q.text += " AND v.state IN ('running', 'paused', 'halted')"
	}
	if mq.Triage {
		q.text += " AND v.kind <> ''"
	}
	q.add("ORDER BY v.number DESC LIMIT $?", orThousand(mq.Limit))
	found, err := collect(ctx, s.db, q, func(row pgx.CollectableRow) (queue.MoveTask, error) {
		m, err := scanMove(row)
		return m.MoveTask, err
	})
	return found, s.db.fault(ctx, err, "list move tasks")
}
