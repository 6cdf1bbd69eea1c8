package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

func (s *queueStore) Sweep(ctx context.Context, limit int) (queue.Swept, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return queue.Swept{}, err
	}
	defer leave()
	now := micros()
	swept := queue.Swept{Next: -1}
	gained := map[string]bool{}
	for swept.Moved < limit {
		m := s.due.first()
		if m == nil {
			break
		}
		if m.Due > now {
			swept.Next = time.Duration(m.Due-now) * time.Microsecond
			break
		}
		swept.Moved++
		source := m.bucket.queue
		gained[source.Name] = true // a group may be free
		dead := source.Settings.DeadLetter
		if target, ok := s.byName[dead.Queue]; ok && m.Exhausted(queue.Policy{MaxReceives: dead.MaxReceives}) {
			gained[target.Name] = true
			s.bury(m, target, now)
			continue
		}
		m.Due = 0 // the policy has changed since: it is received again
		s.place(m)
	}
	for name := range gained {
		swept.Queues = append(swept.Queues, name)
	}
	slices.Sort(swept.Queues)
	return swept, nil
}

func (s *queueStore) Expire(ctx context.Context, id int64, retention time.Duration, limit int) (int, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	d, err := s.open(id)
	if err != nil {
		return 0, err
	}
	before := micros() - retention.Microseconds()
	var old []*message
	for m := range d.bucket.after(0) {
		if m.since > before || len(old) == limit {
			break
		}
		old = append(old, m)
	}
	for _, m := range old {
		s.remove(m)
	}
	return len(old), nil
}

// Clean forgets deduplication ids whose window is over. Purged messages go
// with their last reference.
func (s *queueStore) Clean(ctx context.Context, limit int) (int, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	before, n := micros()-queue.DedupWindow.Microseconds(), 0
	for _, d := range s.byID {
		for len(d.oldest) > 0 && n < limit {
			key := d.oldest[0]
			if at := d.dedups[key].at; at > before && at != 0 {
				break
			}
			delete(d.dedups, key)
			d.oldest = d.oldest[1:]
			n++
		}
	}
	return n, nil
}

// task is a move task and where it stands.
type task struct {
	queue.MoveTask
	bucket  int64
	cursor  int64 // moved or passed over up to here
	last    int64 // what is beyond came later
	next    int64 // when the rate allows the next step
	started int64
}

// keptTasks is how many of a source are remembered.
const keptTasks = 10

func (s *queueStore) StartMove(ctx context.Context, t queue.MoveTask) (queue.MoveTask, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return queue.MoveTask{}, err
	}
	defer leave()
	source, ok := s.byName[t.Source]
	if !ok {
		return queue.MoveTask{}, fmt.Errorf("queue %q: %w", t.Source, queue.ErrQueueNotFound)
	}
	of := 0
	for _, other := range s.tasks {
		if other.Source == t.Source && other.State == queue.MoveRunning {
			return queue.MoveTask{}, fmt.Errorf("queue %q: %w", t.Source, queue.ErrMoveRunning)
		}
		if other.Source == t.Source {
			of++
		}
	}
	if of >= keptTasks {
		i := slices.IndexFunc(s.tasks, func(other *task) bool { return other.Source == t.Source })
		s.tasks = slices.Delete(s.tasks, i, i+1)
	}
	now := micros()
	t.State, t.Started, t.ToMove = queue.MoveRunning, record.Time(now), int64(len(source.bucket.rows))
	s.tasks = append(s.tasks, &task{MoveTask: t, bucket: source.bucket.id, last: s.sequence, next: now, started: now})
	return t, nil
}

func (s *queueStore) task(id string) (*task, error) {
	i := slices.IndexFunc(s.tasks, func(t *task) bool { return t.ID == id })
	if i < 0 {
		return nil, fmt.Errorf("move task %.64q: %w", id, queue.ErrMoveNotFound)
	}
	if t := s.tasks[i]; t.State != queue.MoveRunning {
		return nil, fmt.Errorf("move task %s is %s: %w", id, t.State, queue.ErrMoveNotRunning)
	}
	return s.tasks[i], nil
}

func (s *queueStore) StepMove(ctx context.Context, id string, limit int) (queue.Step, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return queue.Step{}, err
	}
	defer leave()
	t, err := s.task(id)
	if err != nil {
		return queue.Step{}, err
	}
	now := micros()
	n, next := record.Pace(t.next, now, t.Rate, limit)
	if n == 0 {
		return queue.Step{Task: t.MoveTask, Next: time.Duration(next-now) * time.Microsecond}, nil
	}
	gained := s.stepMove(t, n, now)
	t.next = next
	return queue.Step{Task: t.MoveTask, Queues: gained, Next: time.Duration(max(next-now, 0)) * time.Microsecond}, nil
}

func (s *queueStore) stepMove(t *task, n int, now int64) (gained []string) {
	source, ok := s.byName[t.Source]
	if !ok || source.bucket.id != t.bucket {
		t.State = queue.MoveCompleted // nothing of it is left
		return nil
	}
	var batch []*message
	t.State = queue.MoveCompleted // unless there is more
	for m := range source.bucket.after(t.cursor) {
		if m.seq > t.last {
			break
		}
		if len(batch) == n {
			t.State = queue.MoveRunning
			break
		}
		t.cursor = m.seq
		if !m.Locks(now) && m.Due == 0 {
			batch = append(batch, m)
		}
	}
	for _, m := range batch {
		to := t.Destination
		if to == "" && m.letter != nil {
			to = m.letter.Origin
		}
		target, ok := s.byName[to]
		if !ok || target.Settings.FIFO != source.Settings.FIFO {
			t.State, t.Failure = queue.MoveFailed, record.MoveFailure(m.id, to)
			return gained
		}
		s.remove(m)
		moved := &message{id: record.NewID(), entry: m.entry, dedup: m.dedup, sent: now, since: now}
		if target.Settings.FIFO {
			moved.group, moved.dedup = m.entry.Group, moved.id
		}
		moved.Visible = now
		s.add(target.bucket, moved)
		t.Moved++
		gained = append(gained, to)
	}
	return gained
}

func (s *queueStore) CancelMove(ctx context.Context, id string) (queue.MoveTask, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return queue.MoveTask{}, err
	}
	defer leave()
	t, err := s.task(id)
	if err != nil {
		return queue.MoveTask{}, err
	}
	t.State = queue.MoveCancelled
	return t.MoveTask, nil
}

func (s *queueStore) Moves(ctx context.Context, source string, limit int) ([]queue.MoveTask, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var found []*task
	for _, t := range slices.Backward(s.tasks) {
		if t.Source == source || source == "" && t.State == queue.MoveRunning {
			found = append(found, t)
		}
	}
	slices.SortStableFunc(found, func(a, b *task) int { return cmp.Compare(b.started, a.started) })
	var out []queue.MoveTask
	for _, t := range found[:min(len(found), limit)] {
		out = append(out, t.MoveTask)
	}
	return out, nil
}
