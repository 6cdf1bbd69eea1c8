package circuit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar/circuit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errDown = errors.New("connection refused")

// shelf is the store of all nodes: marks in memory.
type shelf struct {
	mu      sync.Mutex
	marks   map[string]circuit.Mark
	until   map[string]time.Time
	version int64
}

func newShelf() *shelf {
	return &shelf{marks: map[string]circuit.Mark{}, until: map[string]time.Time{}}
}

func (s *shelf) get(key string) circuit.Mark {
	m := s.marks[key]
	if m.TTL = time.Until(s.until[key]); m.TTL <= 0 {
		return circuit.Mark{}
	}
	m.Doc = bytes.Clone(m.Doc)
	return m
}

// keys returns what is there, without the prefix.
func (s *shelf) keys() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(s.marks)) {
		if s.get(key).Version > 0 {
			keys = append(keys, strings.TrimPrefix(key, "circuit/"))
		}
	}
	return strings.Join(keys, " ")
}

func (s *shelf) doc(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.get("circuit/" + name).Doc)
}

func (s *shelf) set(name, doc string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(circuit.Mark{Key: "circuit/" + name, Doc: []byte(doc), TTL: time.Hour})
}

func (s *shelf) put(m circuit.Mark) circuit.Mark {
	s.version++
	m.Version = s.version
	s.marks[m.Key], s.until[m.Key] = m, time.Now().Add(m.TTL)
	return m
}

// view is one node's way to the shelf, with its faults.
type view struct {
	shelf *shelf
	fault func(op string) (lost bool, delay time.Duration, err error) // nil: none

	twice bool // each put is tried twice

	mu    sync.Mutex
	count map[string]int
}

func (s *shelf) view() *view { return &view{shelf: s, count: map[string]int{}} }

func (v *view) calls(op string) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.count[op]
}

// reach does what is asked for, perhaps late, perhaps not at all, and perhaps
// although the answer is lost.
func (v *view) reach(ctx context.Context, op string, do func()) error {
	v.mu.Lock()
	v.count[op]++
	fault := v.fault
	v.mu.Unlock()
	var lost bool
	var delay time.Duration
	var err error
	if fault != nil {
		lost, delay, err = fault(op)
	}
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err == nil || lost {
		v.shelf.mu.Lock()
		defer v.shelf.mu.Unlock()
		do()
	}
	return err
}

func (v *view) setFault(f func(op string) (lost bool, delay time.Duration, err error)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.fault = f
}

func (v *view) cut() {
	v.setFault(func(string) (bool, time.Duration, error) { return false, 0, errDown })
}
func (v *view) mend() { v.setFault(nil) }

func (v *view) Marks(ctx context.Context, prefix string) (all []circuit.Mark, err error) {
	err = v.reach(ctx, "list", func() {
		for _, key := range slices.Sorted(maps.Keys(v.shelf.marks)) {
			if m := v.shelf.get(key); m.Version > 0 && strings.HasPrefix(key, prefix) {
				all = append(all, m)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func (v *view) PutMark(ctx context.Context, m circuit.Mark) (stored circuit.Mark, err error) {
	if len(m.Doc) > 4096 || len(m.Key) > 255 || m.TTL <= 0 {
		return stored, fmt.Errorf("mark %+v breaks the contract", m)
	}
	conflict := false
	err = v.reach(ctx, "put", func() {
		if there := v.shelf.get(m.Key); there.Version != m.Version {
			stored, conflict = there, true
			return
		}
		stored, conflict = v.shelf.put(m), v.twice
	})
	if err != nil {
		return circuit.Mark{}, err
	}
	if conflict {
		return stored, fmt.Errorf("mark %s: %w", m.Key, circuit.ErrConflict)
	}
	return stored, nil
}

func (v *view) DeleteMark(ctx context.Context, key string, version int64) error {
	return v.reach(ctx, "delete", func() {
		if version == 0 || v.shelf.marks[key].Version == version {
			delete(v.shelf.marks, key)
		}
	})
}
