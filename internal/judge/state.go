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

// Prefixes of the keys of marks.
const (
	outageMarks  = "outage/"
	breakerMarks = "breaker/"
)

// state is the content of a mark.
type state interface {
	at() *mark
	document() any
	// merge takes over what is newer in a stored document, and reports whether both now say the same, and whether anything
	// has changed.
	merge(now time.Time, doc []byte) (same, changed bool, err error)
}

// mark is where a state is kept.
type mark struct {
	key     string
	version int64         // the version that was read last
	turn    chan struct{} // held by the goroutine that writes it
}

func newMark(prefix, name string) mark {
	return mark{key: prefix + url.PathEscape(name), turn: make(chan struct{}, 1)}
}

func (m *mark) at() *mark { return m }

// queueState is the state of a queue that had a failure. A queue that never had one has no state, and costs nothing.
type queueState struct {
	mark
	guard  outage.Guard
	budget budget.Budget
	unused uint64 // a canary without a message so far; 0: none
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

// queueState returns the state of a queue; nil if there is none and create is false. The caller holds the lock.
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

// groupState does the same for a group.
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

// stateOf returns the state for a mark's key; nil if there is none.
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
