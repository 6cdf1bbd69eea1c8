package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/sorted"
	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

type mark struct {
	version, put, until int64
	doc                 []byte
}

func (m mark) show(key string, now int64) queue.Mark {
	return queue.Mark{
		Key: key, Version: m.version, Doc: bytes.Clone(m.doc),
		TTL: time.Duration(m.until-now) * time.Microsecond, Age: time.Duration(max(now-m.put, 0)) * time.Microsecond,
	}
}

// maxMarks is the maximum length of a list.
const maxMarks = 10_000

func (s *queueStore) Marks(ctx context.Context, prefix string) ([]queue.Mark, error) {
	return within(ctx, &s.lock, func() ([]queue.Mark, error) {
		now := micros()
		var found []queue.Mark
		for key, m := range s.marks {
			if strings.HasPrefix(key, prefix) && m.until > now {
				found = append(found, m.show(key, now))
			}
		}
		sorted.Func(found, func(a, b queue.Mark) int { return cmp.Compare(a.Key, b.Key) })
		return found[:min(len(found), maxMarks)], nil
	})
}

func (s *queueStore) PutMark(ctx context.Context, m queue.Mark) (queue.Mark, error) {
	if err := record.CheckMark(m); err != nil {
		return queue.Mark{}, err
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return queue.Mark{}, err
	}
	defer leave()
	now := micros()
	there, ok := s.marks[m.Key]
	if ok = ok && there.until > now; !ok {
		there = mark{}
	}
	if there.version != m.Version {
		err := fmt.Errorf("mark %s has version %d, not %d: %w", m.Key, there.version, m.Version, queue.ErrConflict)
		if !ok {
			return queue.Mark{}, err
		}
		return there.show(m.Key, now), err
	}
	s.version++
	stored := mark{s.version, now, now + m.TTL.Microseconds(), bytes.Clone(m.Doc)}
	s.marks[m.Key] = stored
	return stored.show(m.Key, now), nil
}

func (s *queueStore) DeleteMark(ctx context.Context, key string, version int64) error {
	return locked(ctx, &s.lock, func() error {
		there, ok := s.marks[key]
		if !ok || there.until <= micros() {
			return nil
		}
		if version != 0 && there.version != version {
			return fmt.Errorf("mark %s has version %d, not %d: %w", key, there.version, version, queue.ErrConflict)
		}
		delete(s.marks, key)
		return nil
	})
}

func (s *queueStore) Audit(ctx context.Context, e queue.AuditEntry) (queue.AuditEntry, error) {
	if err := record.CheckAudit(e); err != nil {
		return queue.AuditEntry{}, err
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return queue.AuditEntry{}, err
	}
	defer leave()
	s.audited++
	e.Number, e.At, e.Detail = s.audited, record.Time(micros()), bytes.Clone(e.Detail)
	s.audit = append(s.audit, e)
	e.Detail = bytes.Clone(e.Detail)
	return e, nil
}

func (s *queueStore) AuditLog(ctx context.Context, before int64, limit int) ([]queue.AuditEntry, error) {
	return within(ctx, &s.lock, func() ([]queue.AuditEntry, error) {
		var found []queue.AuditEntry
		for _, e := range slices.Backward(s.audit) {
			if len(found) == limit {
				break
			}
			if before == 0 || e.Number < before {
				e.Detail = bytes.Clone(e.Detail)
				found = append(found, e)
			}
		}
		return found, nil
	})
}
