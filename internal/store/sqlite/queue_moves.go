package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

// keptMoves is how many tasks of a source are remembered.
const keptMoves = 10

// moveRow is a move task and where it stands.
type moveRow struct {
	queue.MoveTask
	bucket, cursor, last, next int64
}

const moveColumns = `id, source, destination, rate, state, failure, started, moved, to_move, bucket, cursor, last, next`

func (m *moveRow) scan(scan func(...any) error) error {
	var started int64
	err := scan(&m.ID, &m.Source, &m.Destination, &m.Rate, &m.State, &m.Failure, &started, &m.Moved, &m.ToMove,
		&m.bucket, &m.cursor, &m.last, &m.next)
	m.Started = record.Time(started)
	return err
}

func (s *queueStore) StartMove(ctx context.Context, task queue.MoveTask) (queue.MoveTask, error) {
	return writing(ctx, s, "start a move task", func(t *queueTx) (none queue.MoveTask, err error) {
		source, err := t.named(task.Source)
		if err != nil {
			return none, err
		}
		var running int
		err = t.row(`SELECT count(*) FROM queue_moves WHERE source = ? AND state = 'running'`, []any{task.Source}, &running)
		if err != nil {
			return none, err
		}
		if running > 0 {
			return none, fmt.Errorf("queue %q: %w", task.Source, queue.ErrMoveRunning)
		}
		number, err := t.number("move", 1)
		if err != nil {
			return none, err
		}
		err = t.exec(`INSERT INTO queue_moves (number, id, source, destination, rate, state, started, to_move, bucket, last, next)
			VALUES (?1, ?2, ?3, ?4, ?5, 'running', ?6, (SELECT count(*) FROM queue_messages WHERE bucket = ?7), ?7,
				(SELECT last FROM queue_numbers WHERE kind = 'message'), ?6)`,
			number, task.ID, task.Source, task.Destination, task.Rate, t.now, source.bucket)
		if err != nil {
			return none, err
		}
		err = t.exec(`DELETE FROM queue_moves WHERE source = ?1 AND number NOT IN
			(SELECT number FROM queue_moves WHERE source = ?1 ORDER BY number DESC LIMIT ?2)`, task.Source, keptMoves)
		if err != nil {
			return none, err
		}
		m, err := t.task(task.ID)
		return m.MoveTask, err
	})
}

// task finds a running one.
func (t *queueTx) task(id string) (m moveRow, err error) {
	err = m.scan(func(dest ...any) error {
		return t.row(`SELECT `+moveColumns+` FROM queue_moves WHERE id = ?`, []any{id}, dest...)
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		err = fmt.Errorf("move task %.64q: %w", id, queue.ErrMoveNotFound)
	case err == nil && m.State != queue.MoveRunning:
		err = fmt.Errorf("move task %s is %s: %w", id, m.State, queue.ErrMoveNotRunning)
	}
	return m, err
}

func (t *queueTx) keep(m moveRow) error {
	return t.exec(`UPDATE queue_moves SET state = ?, failure = ?, moved = ?, cursor = ?, next = ? WHERE id = ?`,
		string(m.State), m.Failure, m.Moved, m.cursor, m.next, m.ID)
}

func (s *queueStore) StepMove(ctx context.Context, id string, limit int) (queue.Step, error) {
	return writing(ctx, s, "move messages", func(t *queueTx) (step queue.Step, err error) {
		m, err := t.task(id)
		if err != nil {
			return step, err
		}
		n, next := record.Pace(m.next, t.now, m.Rate, limit)
		if n > 0 {
			if step.Queues, err = t.step(&m, n); err != nil {
				return step, err
			}
			m.next = next
			if err := t.keep(m); err != nil {
				return step, err
			}
		}
		step.Task, step.Next = m.MoveTask, time.Duration(max(next-t.now, 0))*time.Microsecond
		return step, nil
	})
}

// step moves up to n messages.
func (t *queueTx) step(task *moveRow, n int) (gained []string, err error) {
	source, err := t.named(task.Source)
	if errors.Is(err, queue.ErrQueueNotFound) || err == nil && source.bucket != task.bucket {
		task.State = queue.MoveCompleted // nothing of it is left
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	const query = `SELECT ` + stateColumns + ` FROM queue_messages m WHERE m.bucket = ? AND m.seq > ? AND m.seq <= ? ORDER BY m.seq LIMIT ?`
	var rows []messageRow
	err = t.each(query, []any{task.bucket, task.cursor, task.last, n}, func(r *sql.Rows) error {
		rows = append(rows, messageRow{})
		return rows[len(rows)-1].scan(r.Scan)
	})
	if err != nil {
		return nil, err
	}
	if len(rows) < n {
		task.State = queue.MoveCompleted
	}
	for i := range rows {
		m := &rows[i]
		task.cursor = m.seq
		if m.Locks(t.now) || m.Due != 0 {
			continue
		}
		to, moved, err := t.forward(m, task.Destination, source.Settings.FIFO)
		if err != nil {
			return nil, err
		}
		if !moved {
			task.State, task.Failure = queue.MoveFailed, record.MoveFailure(m.id, to)
			break
		}
		task.Moved++
		gained = append(gained, to)
	}
	return slices.Compact(gained), nil
}

// forward moves one message to a queue, or where it came from.
func (t *queueTx) forward(m *messageRow, to string, fifo bool) (name string, moved bool, err error) {
	if to == "" && m.letter {
		var doc []byte
		if err := t.row(`SELECT doc FROM queue_letters WHERE bucket = ? AND seq = ?`, []any{m.bucket, m.seq}, &doc); err != nil {
			return "", false, err
		}
		letter, err := record.DecodeDeath(doc)
		if err != nil {
			return "", false, err
		}
		to = letter.Origin
	}
	target, err := t.named(to)
	if errors.Is(err, queue.ErrQueueNotFound) || err == nil && target.Settings.FIFO != fifo {
		return to, false, nil
	}
	if err != nil {
		return to, false, err
	}
	if err := t.remove(m); err != nil {
		return to, false, err
	}
	seq, err := t.number("message", 1)
	if err != nil {
		return to, false, err
	}
	again := messageRow{
		bucket: target.bucket, seq: seq, id: record.NewID(), payload: m.payload, rank: m.rank, group: m.group,
		locking: fifo, dedup: m.dedup, sent: t.now, since: t.now,
	}
	if fifo {
		again.dedup = again.id
	}
	again.Visible = t.now
	return to, true, t.insert(&again)
}

func (s *queueStore) CancelMove(ctx context.Context, id string) (queue.MoveTask, error) {
	return writing(ctx, s, "cancel a move task", func(t *queueTx) (queue.MoveTask, error) {
		m, err := t.task(id)
		if err != nil {
			return queue.MoveTask{}, err
		}
		m.State = queue.MoveCancelled
		return m.MoveTask, t.keep(m)
	})
}

func (s *queueStore) Moves(ctx context.Context, source string, limit int) ([]queue.MoveTask, error) {
	var q query
	q.add(`SELECT ` + moveColumns + ` FROM queue_moves`)
	if source == "" {
		q.add(`WHERE state = 'running'`)
	} else {
		q.add(`WHERE source = ?`, source)
	}
	q.add(`ORDER BY number DESC LIMIT ?`, limit)
	var found []queue.MoveTask
	err := q.each(ctx, s.db.reader, func(rows *sql.Rows) error {
		var m moveRow
		err := m.scan(rows.Scan)
		found = append(found, m.MoveTask)
		return err
	})
	if err != nil {
		return nil, s.db.fault(ctx, err, "list move tasks")
	}
	return found, nil
}
