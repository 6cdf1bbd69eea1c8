package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/sorted"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

type queueStore struct {
	lock     // guards the fields below; never held while waiting
	byName   map[string]*definition
	byID     map[int64]*definition
	lastID   int64 // of queues and buckets
	sequence int64
	due      schedule
	tasks    []*task
	marks    map[string]mark
	version  int64 // last version of a mark
	audit    []queue.AuditEntry
	audited  int64 // number of the last audit entry
}

var _ queue.Store = (*queueStore)(nil)

// definition is a queue with its content.
type definition struct {
	queue.Queue
	bucket *bucket
	dedups map[string]dedup
	oldest []string // keys of dedups, by time
	cases  map[bezoar.Fingerprint]*poison.Case
}

type dedup struct {
	sent queue.Sent
	at   int64
}

func newQueueStore() *queueStore {
	s := &queueStore{
		byName: make(map[string]*definition),
		byID:   make(map[int64]*definition),
		marks:  make(map[string]mark),
		due: schedule{
			when:  func(m *message) int64 { return m.Due },
			place: func(m *message) *int { return &m.dueAt },
		},
	}
	s.define(queue.ImplicitQueue(queue.TrashQueue, false))
	return s
}

func micros() int64 { return time.Now().UnixMicro() }

// enterQueue is enter followed by open.
func (s *queueStore) enterQueue(ctx context.Context, id int64) (*definition, func(), error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, nil, err
	}
	d, err := s.open(id)
	if err != nil {
		leave()
		return nil, nil, err
	}
	return d, leave, nil
}

func (s *queueStore) open(id int64) (*definition, error) {
	d, ok := s.byID[id]
	if !ok {
		return nil, fmt.Errorf("queue %d: %w", id, queue.ErrQueueNotFound)
	}
	return d, nil
}

// Shared returns false: no other process sees this memory.
func (s *queueStore) Shared() bool { return false }

func (s *queueStore) CreateQueue(ctx context.Context, q queue.Queue) (queue.Queue, error) {
	return within(ctx, &s.lock, func() (queue.Queue, error) {
		if d, ok := s.byName[q.Name]; ok {
			return cloneQueue(d.Queue), fmt.Errorf("queue %q: %w", q.Name, queue.ErrQueueExists)
		}
		return cloneQueue(s.define(q).Queue), nil
	})
}

func (s *queueStore) define(q queue.Queue) *definition {
	s.lastID++
	q = cloneQueue(q)
	q.ID, q.Version, q.Created = s.lastID, 1, time.UnixMicro(micros()).UTC()
	q.Modified = q.Created
	d := &definition{Queue: q, dedups: make(map[string]dedup), cases: make(map[bezoar.Fingerprint]*poison.Case)}
	s.lastID++
	d.bucket = newBucket(s.lastID, d)
	s.byName[q.Name], s.byID[q.ID] = d, d
	return d
}

func (s *queueStore) Queue(ctx context.Context, name string) (queue.Queue, error) {
	return within(ctx, &s.lock, func() (queue.Queue, error) {
		d, ok := s.byName[name]
		if !ok || name == queue.TrashQueue {
			return queue.Queue{}, fmt.Errorf("queue %.100q: %w", name, queue.ErrQueueNotFound)
		}
		return cloneQueue(d.Queue), nil
	})
}

func (s *queueStore) UpdateQueue(ctx context.Context, q queue.Queue) (queue.Queue, error) {
	d, leave, err := s.enterQueue(ctx, q.ID)
	if err != nil {
		return queue.Queue{}, err
	}
	defer leave()
	if d.Version != q.Version {
		return queue.Queue{}, fmt.Errorf("queue %q: %w", d.Name, queue.ErrConflict)
	}
	q = cloneQueue(q)
	d.Settings, d.Tags, d.Version, d.Modified = q.Settings, q.Tags, q.Version+1, time.UnixMicro(micros()).UTC()
	return cloneQueue(d.Queue), nil
}

func (s *queueStore) DeleteQueue(ctx context.Context, id int64) error {
	d, leave, err := s.enterQueue(ctx, id)
	if err != nil {
		return err
	}
	defer leave()
	s.drop(d.bucket)
	delete(s.byName, d.Name)
	delete(s.byID, id)
	return nil
}

func (s *queueStore) Queues(ctx context.Context, lq queue.ListQuery) ([]queue.Queue, error) {
	return within(ctx, &s.lock, func() ([]queue.Queue, error) {
		var found []queue.Queue
		for name, d := range s.byName {
			if name != queue.TrashQueue && strings.HasPrefix(name, lq.Prefix) && name > lq.After &&
				(lq.DeadLetter == "" || d.Settings.DeadLetter.Queue == lq.DeadLetter) {
				found = append(found, cloneQueue(d.Queue))
			}
		}
		sorted.Func(found, func(a, b queue.Queue) int { return cmp.Compare(a.Name, b.Name) })
		limit := lq.Limit
		limit = cmp.Or(limit, 1000)
		return found[:min(len(found), limit)], nil
	})
}

func (s *queueStore) Purge(ctx context.Context, id int64) error {
	d, leave, err := s.enterQueue(ctx, id)
	if err != nil {
		return err
	}
	defer leave()
	s.drop(d.bucket)
	s.lastID++
	d.bucket = newBucket(s.lastID, d)
	d.dedups, d.oldest = make(map[string]dedup), nil
	return nil
}

func cloneQueue(q queue.Queue) queue.Queue {
	q.Tags = maps.Clone(q.Tags)
	q.Settings.Extra = maps.Clone(q.Settings.Extra)
	q.Settings.Allow.Queues = slices.Clone(q.Settings.Allow.Queues)
	q.Settings.Quarantine.Ignore = slices.Clone(q.Settings.Quarantine.Ignore)
	return q
}

func cloneAttributes(from map[string]queue.Attribute) map[string]queue.Attribute {
	if len(from) == 0 {
		return nil
	}
	to := make(map[string]queue.Attribute, len(from))
	for name, a := range from {
		a.Binary = bytes.Clone(a.Binary)
		to[name] = a
	}
	return to
}
