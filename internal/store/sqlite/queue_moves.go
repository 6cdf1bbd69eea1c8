package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

// moveRow is a move task with its progress.
type moveRow struct {
	queue.MoveTask
	bucket int64 // bucket of its source, for a task of kind MoveSQS
	cursor int64 // sequence number up to which messages are moved or skipped
	next   int64 // time of the next step, according to the rate
}

const moveColumns = `id, kind, source, destination, rate, state, failure, started, ended, moved, to_move, done, dead, forgiven,
	doc, last, bucket, cursor, next`

func (m *moveRow) scan(scan func(...any) error) error {
	var started, ended, last int64
	var doc string
	err := scan(&m.ID, &m.Kind, &m.Source, &m.Destination, &m.Rate, &m.State, &m.Failure, &started, &ended, &m.Moved, &m.ToMove,
		&m.Done, &m.Dead, &m.Forgiven, &doc, &last, &m.bucket, &m.cursor, &m.next)
	if err != nil {
		return err
	}
	m.Started, m.Ended = record.Time(started), record.Time(ended)
	err = record.DecodeMove([]byte(doc), &m.MoveTask)
	m.Selection.Last = last
	m.Drained = m.cursor == drained
	return err
}

// drained is the cursor of a task with nothing left to move.
const drained = math.MaxInt64

func (s *queueStore) StartMove(ctx context.Context, task queue.MoveTask) (queue.MoveTask, error) {
	counted := int64(-1)
	if task.Selection.ByContent() { // reading all letters must not block writers
		task.Selection.Queue = cmp.Or(task.Selection.Queue, task.Source)
		n, last, err := s.CountLetters(ctx, task.Selection)
		if err != nil {
			return queue.MoveTask{}, err
		}
		if counted = n; task.Selection.Last == 0 {
			task.Selection.Last = last
		}
	}
	return writing(ctx, s, "start a move task", func(t *queueTx) (none queue.MoveTask, err error) {
		last, err := t.number("message", 0)
		if err != nil {
			return none, err
		}
		m := moveRow{MoveTask: record.BeginMove(task, last, t.now), next: t.now}
		if m.Source != "" {
			source, err := t.named(m.Source)
			if err != nil {
				return none, err
			}
			m.bucket = source.bucket
		}
		switch {
		case m.Kind == queue.MoveSQS:
			err = t.beginSQS(&m)
		case counted >= 0:
			m.ToMove = counted
		default:
			m.ToMove, _, err = t.countLetters(m.Selection)
		}
		if err != nil {
			return none, err
		}
		return m.MoveTask, t.begin(m)
	})
}

// beginSQS counts the messages to move, unless another task moves them.
func (t *queueTx) beginSQS(m *moveRow) error {
	var live bool
	err := t.row(`SELECT EXISTS (SELECT 1 FROM queue_moves WHERE source = ? AND kind = '' AND state IN ('running', 'paused', 'halted'))`, []any{m.Source}, &live)
	if err != nil {
		return err
	}
	if live {
		return fmt.Errorf("queue %q: %w", m.Source, queue.ErrMoveRunning)
	}
	err = t.row(`SELECT coalesce((SELECT n FROM queue_sizes WHERE bucket = ?), 0)`, []any{m.bucket}, &m.ToMove)
	m.ToMove += t.cache.sizes[m.bucket]
	return err
}

// begin stores a task, and removes the oldest ones.
func (t *queueTx) begin(m moveRow) error {
	doc, err := record.EncodeMove(m.MoveTask)
	if err != nil {
		return err
	}
	number, err := t.number("move", 1)
	if err != nil {
		return err
	}
	err = t.exec(`INSERT INTO queue_moves (number, id, kind, source, destination, rate, state, started, to_move, doc, last, bucket, next)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		number, m.ID, string(m.Kind), m.Source, m.Destination, m.Rate, string(m.State), m.Started.UnixMicro(), m.ToMove,
		string(doc), m.Selection.Last, m.bucket, m.next)
	if err != nil {
		return err
	}
	if m.Kind == queue.MoveSQS {
		return t.exec(`DELETE FROM queue_moves WHERE kind = '' AND source = ?1 AND number NOT IN
			(SELECT number FROM queue_moves WHERE kind = '' AND source = ?1 ORDER BY number DESC LIMIT ?2)`, m.Source, record.KeptMoves)
	}
	return t.exec(`DELETE FROM queue_moves WHERE kind <> '' AND state NOT IN ('running', 'paused', 'halted') AND number <=
		(SELECT number FROM queue_moves WHERE kind <> '' ORDER BY number DESC LIMIT 1 OFFSET ?)`, record.KeptTriage)
}

func (t *queueTx) task(id string) (m moveRow, err error) {
	err = m.scan(func(dest ...any) error {
		return t.row(`SELECT `+moveColumns+` FROM queue_moves WHERE id = ?`, []any{id}, dest...)
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("move task %.64q: %w", id, queue.ErrMoveNotFound)
	}
	return m, err
}

// keep stores the progress of a task. Outcomes are counted elsewhere.
func (t *queueTx) keep(m moveRow) error {
	var ended int64
	if !m.Ended.IsZero() {
		ended = m.Ended.UnixMicro()
	}
	return t.exec(`UPDATE queue_moves SET rate = ?, state = ?, failure = ?, moved = ?, cursor = ?, next = ?, ended = ?, forgiven = ? WHERE id = ?`,
		m.Rate, string(m.State), m.Failure, m.Moved, m.cursor, m.next, ended, m.Forgiven, m.ID)
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
		if n > 0 || m.State != queue.MoveRunning {
			t.reached(beforeCursor)
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
	rows, upTo, err := t.ahead(task, n)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		m := &rows[i]
		task.cursor = m.seq
		if m.Locks(t.now) || m.Due != 0 {
			continue
		}
		letter, err := t.letter(m)
		if err != nil {
			return nil, err
		}
		to := record.MoveTo(&task.MoveTask, letter)
		target, err := t.named(to)
		if err != nil && !errors.Is(err, queue.ErrQueueNotFound) {
			return nil, err
		}
		if err != nil || !record.MayMove(&task.MoveTask, m.locking, target.Settings.FIFO, m.group) {
			record.EndMove(&task.MoveTask, queue.MoveFailed, record.MoveFailure(m.id, to), t.now)
			break
		}
		if err := t.forward(&task.MoveTask, m, letter, target); err != nil {
			return nil, err
		}
		t.reached(inMove)
		task.Moved++
		gained = append(gained, to)
	}
	if len(rows) < n && task.State == queue.MoveRunning {
		if task.cursor = upTo; upTo == drained {
			record.DrainMove(&task.MoveTask, t.now)
		}
	}
	slices.Sort(gained)
	return slices.Compact(gained), nil
}

// ahead returns up to n next messages, and the new cursor if there are fewer; drained means
// the end.
func (t *queueTx) ahead(task *moveRow, n int) (found []messageRow, upTo int64, err error) {
	upTo = drained
	if task.Kind != queue.MoveSQS {
		s := task.Selection
		if s.ByContent() {
			seq, err := t.horizon(s, task.cursor)
			if err != nil {
				return nil, 0, err
			}
			if seq > 0 {
				s.Last, upTo = seq, seq
			}
		}
		found, err = t.lettersAhead(s, task.cursor, n)
		return found, upTo, err
	}
	source, err := t.named(task.Source)
	if errors.Is(err, queue.ErrQueueNotFound) || err == nil && source.bucket != task.bucket {
		return nil, upTo, nil // nothing is left
	}
	if err != nil {
		return nil, 0, err
	}
	const query = `SELECT ` + stateColumns + ` FROM queue_messages m WHERE m.bucket = ? AND m.seq > ? AND m.seq <= ? ORDER BY m.seq LIMIT ?`
	err = t.each(query, []any{task.bucket, task.cursor, task.Selection.Last, n}, func(r *sql.Rows) error {
		found = append(found, messageRow{})
		return found[len(found)-1].scan(r.Scan)
	})
	return found, upTo, err
}

func (t *queueTx) forward(task *queue.MoveTask, m *messageRow, letter *queue.Letter, target definition) error {
	from, err := t.owner(m.bucket)
	if err != nil {
		return err
	}
	if err := t.remove(m); err != nil {
		return err
	}
	switch task.Kind {
	case queue.MoveDiscard:
		letter.Discarded = &queue.Discarded{At: record.Time(t.now), From: from.Name}
		return t.settle(m, target, letter)
	case queue.MoveRestore:
		letter.Discarded = nil
		return t.settle(m, target, letter)
	case queue.MoveSQS, queue.MoveRedrive:
	}
	seq, err := t.number("message", 1)
	if err != nil {
		return err
	}
	again := messageRow{
		bucket: target.bucket, seq: seq, id: queue.NewID(), payload: m.payload, rank: m.rank, group: m.group,
		locking: target.Settings.FIFO, dedup: m.dedup, since: t.now, lineage: m.lineage,
	}
	if letter != nil {
		lineage, err := m.ancestry()
		if err != nil {
			return err
		}
		if again.lineage, err = record.EncodeLineage(lineage.Child(m.id, letter, task.ID, false)); err != nil {
			return err
		}
	}
	if again.locking {
		again.dedup = again.id
	}
	again.Sent, again.Visible, again.Payload = t.now, t.now, m.Payload
	return t.insert(&again)
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
		return m.MoveTask, t.keep(m)
	})
}

func (s *queueStore) Moves(ctx context.Context, mq queue.MoveQuery) ([]queue.MoveTask, error) {
	var q query
	q.add(`SELECT ` + moveColumns + ` FROM queue_moves WHERE 1`)
	if mq.Source != "" {
		q.add(`AND source = ?`, mq.Source)
	}
	if mq.ID != "" {
		q.add(`AND id = ?`, mq.ID)
	}
	if mq.Live {
		q.add(`AND state IN ('running', 'paused', 'halted')`)
	}
	if mq.Triage {
		q.add(`AND kind <> ''`)
	}
	q.add(`ORDER BY number DESC LIMIT ?`, cmp.Or(mq.Limit, 1000))
	var found []queue.MoveTask
	err := q.each(ctx, s.db.reader, func(rows *sql.Rows) error {
		var m moveRow
		err := m.scan(rows.Scan)
		found = append(found, m.MoveTask)
		return err
	})
	return found, s.db.fault(ctx, err, "list move tasks")
}
