package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/internal/sorted"
	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

// task is a move task with its progress.
type task struct {
	queue.MoveTask
	bucket int64 // bucket of its source, for a task of kind MoveSQS
	cursor int64 // sequence number up to which messages are moved or skipped
	next   int64 // time of the next step, according to the rate
}

// show returns a copy of a task for a caller.
func (t *task) show() queue.MoveTask {
	out := t.MoveTask
	out.Selection = cloneSelection(out.Selection)
	return out
}

func cloneSelection(s queue.Selection) queue.Selection {
	s.Groups, s.IDs, s.Attributes = slices.Clone(s.Groups), slices.Clone(s.IDs), maps.Clone(s.Attributes)
	return s
}

func (s *queueStore) StartMove(ctx context.Context, t queue.MoveTask) (queue.MoveTask, error) {
	return within(ctx, &s.lock, func() (queue.MoveTask, error) {
		now := micros()
		t.Selection = cloneSelection(t.Selection)
		one := &task{MoveTask: record.BeginMove(t, s.sequence, now), next: now}
		if t.Source != "" {
			source, ok := s.byName[t.Source]
			if !ok {
				return queue.MoveTask{}, fmt.Errorf("queue %q: %w", t.Source, queue.ErrQueueNotFound)
			}
			one.bucket = source.bucket.id
			one.ToMove = int64(len(source.bucket.rows))
		}
		if t.Kind == queue.MoveSQS && slices.ContainsFunc(s.tasks, func(other *task) bool {
			return other.Kind == queue.MoveSQS && other.Source == t.Source && other.State.Live()
		}) {
			return queue.MoveTask{}, fmt.Errorf("queue %q: %w", t.Source, queue.ErrMoveRunning)
		}
		if t.Kind != queue.MoveSQS {
			one.ToMove = int64(len(s.selected(one.Selection)))
		}
		s.tasks = append(s.tasks, one)
		s.forgetMoves(t.Kind, t.Source)
		return one.show(), nil
	})
}

// forgetMoves drops the oldest task of a kind above the limit.
func (s *queueStore) forgetMoves(kind queue.MoveKind, source string) {
	alike := func(t *task) bool {
		return (kind == queue.MoveSQS) == (t.Kind == queue.MoveSQS) && (kind != queue.MoveSQS || t.Source == source)
	}
	n, most := 0, record.KeptTriage
	if kind == queue.MoveSQS {
		most = record.KeptMoves
	}
	for _, t := range s.tasks {
		if alike(t) {
			n++
		}
	}
	for ; n > most; n-- {
		i := slices.IndexFunc(s.tasks, func(t *task) bool { return alike(t) && !t.State.Live() })
		if i < 0 {
			return
		}
		s.tasks = slices.Delete(s.tasks, i, i+1)
	}
}

func (s *queueStore) task(id string) (*task, error) {
	i := slices.IndexFunc(s.tasks, func(t *task) bool { return t.ID == id })
	if i < 0 {
		return nil, fmt.Errorf("move task %.64q: %w", id, queue.ErrMoveNotFound)
	}
	return s.tasks[i], nil
}

func (s *queueStore) StepMove(ctx context.Context, id string, limit int) (queue.Step, error) {
	return within(ctx, &s.lock, func() (queue.Step, error) {
		t, err := s.task(id)
		if err != nil {
			return queue.Step{}, err
		}
		if t.State != queue.MoveRunning {
			return queue.Step{}, fmt.Errorf("move task %s is %s: %w", id, t.State, queue.ErrMoveNotRunning)
		}
		now := micros()
		n, next := record.Turn(&t.MoveTask, t.next, now, limit)
		step := queue.Step{Next: time.Duration(max(next-now, 0)) * time.Microsecond}
		if n > 0 {
			before := t.Moved
			step.Queues = s.stepMove(t, n, now)
			step.Moved, t.next = int(t.Moved-before), next
		}
		step.Task = t.show()
		return step, nil
	})
}

func (s *queueStore) stepMove(t *task, n int, now int64) (gained []string) {
	batch, more := s.ahead(t, n)
	if !more {
		defer func() {
			if t.State == queue.MoveRunning {
				record.DrainMove(&t.MoveTask, now)
			}
		}()
	}
	for _, m := range batch {
		t.cursor = m.seq
		if m.Locks(now) || m.Due != 0 {
			continue
		}
		to := record.MoveTo(&t.MoveTask, m.letter)
		target, ok := s.byName[to]
		if !ok || !record.MayMove(&t.MoveTask, m.bucket.queue.Settings.FIFO, target.Settings.FIFO, m.entry.Group) {
			record.EndMove(&t.MoveTask, queue.MoveFailed, record.MoveFailure(m.id, to), now)
			break
		}
		s.forward(t, m, target, now)
		t.Moved++
		gained = append(gained, to)
	}
	slices.Sort(gained)
	return slices.Compact(gained)
}

// ahead returns up to n next messages of a task, and whether there are more.
func (s *queueStore) ahead(t *task, n int) (batch []*message, more bool) {
	var all []*message
	if t.Kind == queue.MoveSQS {
		source, ok := s.byName[t.Source]
		if !ok || source.bucket.id != t.bucket {
			return nil, false // nothing is left
		}
		for m := range source.bucket.after(t.cursor) {
			if m.seq > t.Selection.Last || len(all) > n {
				break
			}
			all = append(all, m)
		}
	} else {
		all = slices.DeleteFunc(s.selected(t.Selection), func(m *message) bool { return m.seq <= t.cursor })
		sorted.Func(all, func(a, b *message) int { return cmp.Compare(a.seq, b.seq) })
	}
	if len(all) > n {
		return all[:n], true
	}
	return all, false
}

func (s *queueStore) forward(t *task, m *message, target *definition, now int64) {
	from := m.bucket.queue.Name
	s.remove(m)
	switch t.Kind {
	case queue.MoveDiscard:
		letter := cloneLetter(m.letter)
		letter.Discarded = &queue.Discarded{At: record.Time(now), From: from}
		s.settle(m, target, letter, now)
		return
	case queue.MoveRestore:
		letter := cloneLetter(m.letter)
		letter.Discarded = nil
		s.settle(m, target, letter, now)
		return
	case queue.MoveSQS, queue.MoveRedrive:
	}
	moved := &message{id: queue.NewID(), entry: m.entry, dedup: m.dedup, since: now, lineage: m.lineage}
	if m.letter != nil {
		moved.lineage = m.lineage.Child(m.id, m.letter, t.ID, false)
	}
	if target.Settings.FIFO {
		moved.group, moved.dedup = m.entry.Group, moved.id
	}
	moved.Sent, moved.Payload, moved.Visible = now, m.Payload, now
	s.add(target.bucket, moved)
}

func (s *queueStore) ChangeMove(ctx context.Context, id string, c queue.MoveChange) (queue.MoveTask, error) {
	return within(ctx, &s.lock, func() (queue.MoveTask, error) {
		t, err := s.task(id)
		if err != nil {
			return queue.MoveTask{}, err
		}
		changed := t.MoveTask
		if err := record.ChangeMove(&changed, c, micros()); err != nil {
			return queue.MoveTask{}, err
		}
		t.MoveTask = changed
		return t.show(), nil
	})
}

func (s *queueStore) Moves(ctx context.Context, q queue.MoveQuery) ([]queue.MoveTask, error) {
	return within(ctx, &s.lock, func() ([]queue.MoveTask, error) {
		limit := q.Limit
		limit = cmp.Or(limit, 1000)
		var out []queue.MoveTask
		for _, t := range slices.Backward(s.tasks) { // newest first
			if len(out) < limit && (q.Source == "" || q.Source == t.Source) && (q.ID == "" || q.ID == t.ID) &&
				(!q.Live || t.State.Live()) && (!q.Triage || t.Kind != queue.MoveSQS) {
				out = append(out, t.show())
			}
		}
		return out, nil
	})
}
