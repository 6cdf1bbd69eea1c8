package judge

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/policy/budget"
	"github.com/bezoar-dev/bezoar/policy/outage"
)

// Keys of marks begin so.
const (
	outageMarks  = "outage/"
	breakerMarks = "breaker/"
)

// state is what a mark holds.
type state interface {
	at() *mark
	document() any
	// merge takes from a stored document what is newer, and reports whether
	// it now says the same, and whether anything has changed.
	merge(now time.Time, doc []byte) (same, changed bool, err error)
}

// mark is where a state is kept.
type mark struct {
	key     string
	version int64         // that was read last
	turn    chan struct{} // held by who writes it
}

func newMark(prefix, name string) mark {
	return mark{key: prefix + url.PathEscape(name), turn: make(chan struct{}, 1)}
}

func (m *mark) at() *mark { return m }

// queueState is what is known of a queue that had a failure. One that never had
// one has none, and costs nothing.
type queueState struct {
	mark
	guard  outage.Guard
	budget budget.Budget
	unused uint64 // a canary that nothing has been found for yet; 0: none
}

func (s *queueState) document() any { return s.guard.Snapshot() }

func (s *queueState) merge(now time.Time, doc []byte) (same, changed bool, err error) {
	var stored outage.Snapshot
	if err := json.Unmarshal(doc, &stored); err != nil {
		return false, false, err
	}
	changed = s.guard.Merge(now, stored)
	return s.guard.Snapshot() == stored, changed, nil
}

func (s *queueState) paused() bool {
	_, paused := s.guard.Paused()
	return paused
}

// groupState is what is known of a downstream group.
type groupState struct {
	mark
	name    string
	breaker breaker.Breaker
	budget  budget.Budget
}

func (s *groupState) document() any { return s.breaker.Snapshot() }

func (s *groupState) merge(now time.Time, doc []byte) (same, changed bool, err error) {
	var stored breaker.Snapshot
	if err := json.Unmarshal(doc, &stored); err != nil {
		return false, false, err
	}
	changed = s.breaker.Merge(now, stored)
	return s.breaker.Snapshot() == stored, changed, nil
}

// queueState returns what is known of a queue, nil for nothing unless create.
// The caller holds the lock.
func (j *Judge) queueState(name string, create bool) *queueState {
	if name == "" {
		return nil
	}
	s := j.queues[name]
	if s == nil && create && len(j.queues) < j.cfg.Max {
		s = &queueState{mark: newMark(outageMarks, name), guard: outage.Guard{Config: j.cfg.Outage}}
		j.queues[name] = s
		j.some.Store(true)
	}
	return s
}

// groupState does so for a group.
func (j *Judge) groupState(name string, create bool) *groupState {
	if name == "" {
		return nil
	}
	s := j.groups[name]
	if s == nil && create && len(j.groups) < j.cfg.Max {
		s = &groupState{mark: newMark(breakerMarks, name), name: name, breaker: breaker.Breaker{Config: j.cfg.Breaker}}
		j.groups[name] = s
		j.some.Store(true)
	}
	return s
}

// stateOf returns the state that a mark is of, nil if there is none.
func (j *Judge) stateOf(key string) state {
	if name, ok := strings.CutPrefix(key, outageMarks); ok {
		if name, err := url.PathUnescape(name); err == nil {
			if s := j.queueState(name, true); s != nil {
				return s
			}
		}
	}
	if name, ok := strings.CutPrefix(key, breakerMarks); ok {
		if name, err := url.PathUnescape(name); err == nil {
			if s := j.groupState(name, true); s != nil {
				return s
			}
		}
	}
	return nil
}
