package queue

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/policy/budget"
	"github.com/bezoar-dev/bezoar/policy/outage"
)

// What all processes know of queues and groups is kept in marks.
const (
	outageMarks  = "outage/"
	breakerMarks = "breaker/"
	// markFor is how long a mark is kept that nobody touches: longer than
	// any pause or trip.
	markFor = 7 * 24 * time.Hour
	// knowFor is how long this process believes what it read. It is also how
	// late it learns what others found out.
	knowFor = time.Second
	// storeFor is how long a mark may take to be written.
	storeFor = 5 * time.Second
	// maxConditions bounds the queues, and the groups, that something is
	// known of. Of further ones nothing is.
	maxConditions = 10_000
	maxSwaps      = 5 // attempts to write one mark
)

// conditions are what is known of the queues and groups that had failures. A
// queue that never had one is not here, and costs nothing.
type conditions struct {
	mu     sync.Mutex // guards all below, and every state; never held while waiting
	queues map[string]*queueState
	groups map[string]*groupState
	trials map[Receipt]*trial
	pauses map[string]Pause // of queues, by operators
	read   time.Time        // when the marks were read; zero: never
	loaded bool             // they have been read without an error
	some   atomic.Bool
}

func newConditions() *conditions {
	return &conditions{queues: make(map[string]*queueState), groups: make(map[string]*groupState), trials: make(map[Receipt]*trial), pauses: make(map[string]Pause)}
}

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

func (m *mark) at() *mark { return m }

// queueState is what is known of a queue.
type queueState struct {
	mark
	name   string
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
func (e *Engine) queueState(name string, create bool) *queueState {
	c := e.conditions
	s := c.queues[name]
	if s == nil && create && len(c.queues) < maxConditions {
		s = &queueState{mark: newMark(outageMarks, name), name: name, guard: outage.Guard{Config: e.config.Outage}}
		c.queues[name] = s
		c.some.Store(true)
	}
	return s
}

// groupState does so for a group.
func (e *Engine) groupState(name string, create bool) *groupState {
	if name == "" {
		return nil
	}
	c := e.conditions
	s := c.groups[name]
	if s == nil && create && len(c.groups) < maxConditions {
		s = &groupState{mark: newMark(breakerMarks, name), name: name, breaker: breaker.Breaker{Config: e.config.Breaker}}
		c.groups[name] = s
		c.some.Store(true)
	}
	return s
}

func newMark(prefix, name string) mark {
	return mark{key: prefix + url.PathEscape(name), turn: make(chan struct{}, 1)}
}

// publish brings the store and this process together about a state.
func (e *Engine) publish(ctx context.Context, states ...state) {
	if len(states) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeFor)
	defer cancel()
	for _, s := range states {
		if err := e.publishOne(ctx, s); err != nil {
			e.complain(ctx, "tell others about "+s.at().key, err)
		}
	}
	e.hub.wakeAll()
}

func (e *Engine) publishOne(ctx context.Context, s state) error {
	m := s.at()
	select {
	case m.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-m.turn }()
	for range maxSwaps {
		if same, err := e.swap(ctx, s); same || err != nil {
			return err
		}
	}
	return ErrConflict
}

// swap writes a state unless somebody else has been faster; then it takes from
// what they wrote what is newer. It reports whether the store says now what s
// says. The caller has the mark's turn.
func (e *Engine) swap(ctx context.Context, s state) (same bool, err error) {
	e.conditions.mu.Lock()
	says := newDraft(s)
	e.conditions.mu.Unlock()
	stored, err := e.put(ctx, s, says)
	if !errors.Is(err, ErrConflict) {
		return err == nil, err
	}
	e.conditions.mu.Lock()
	defer e.conditions.mu.Unlock()
	s.at().version = stored.Version
	if stored.Version == 0 {
		return false, nil // its time was over
	}
	same, _, err = s.merge(time.Now(), stored.Doc)
	return same, err
}

// draft is what a state says, and the version that this was made of.
type draft struct {
	mark Mark
	err  error
}

// newDraft returns what is to be put of a state. The caller holds the lock, and
// had it when the state became so: with a version that was learned in between,
// a claim would replace another's without a conflict.
func newDraft(s state) draft {
	doc, err := json.Marshal(s.document())
	return draft{Mark{Key: s.at().key, Version: s.at().version, Doc: doc, TTL: markFor}, err}
}

// put writes a draft of a state, or returns ErrConflict and the mark that is there.
func (e *Engine) put(ctx context.Context, s state, d draft) (Mark, error) {
	if d.err != nil {
		return d.mark, d.err
	}
	stored, err := e.store.PutMark(ctx, d.mark)
	if err == nil {
		e.conditions.mu.Lock()
		s.at().version = max(s.at().version, stored.Version) // others may have been heard of since
		e.conditions.mu.Unlock()
	}
	return stored, err
}

// refresh reads what others found out, at most every knowFor. A store that
// fails leaves what was known last.
func (e *Engine) refresh(ctx context.Context) {
	c := e.conditions
	now := time.Now()
	c.mu.Lock()
	fresh := !c.read.IsZero() && (now.Sub(c.read) < knowFor || c.loaded && !e.store.Shared())
	if !fresh && !c.read.IsZero() {
		c.read = now // one reads, the others go on with what is known
	}
	c.mu.Unlock()
	if fresh {
		return
	}
	var marks []Mark
	for _, prefix := range []string{blamedMarks, pauseMarks, outageMarks, breakerMarks} {
		some, err := e.store.Marks(ctx, prefix)
		if err != nil {
			e.complain(ctx, "read what others know of queues", err)
			if ctx.Err() == nil {
				c.mu.Lock()
				c.read = now
				c.mu.Unlock()
			}
			return
		}
		switch prefix {
		case blamedMarks:
			e.blameToo(some)
		case pauseMarks:
			e.pauseToo(some)
		default:
			marks = append(marks, some...)
		}
	}
	if e.learn(ctx, now, marks) {
		e.hub.wakeAll()
	}
}

// learn takes from marks what is newer, and reports whether anything was.
func (e *Engine) learn(ctx context.Context, now time.Time, marks []Mark) (changed bool) {
	failed := map[string]error{}
	defer func() { // when the lock is no longer held: a log may block
		for key, err := range failed {
			e.complain(ctx, "read mark "+key, err)
		}
	}()
	c := e.conditions
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read, c.loaded = now, true
	for _, m := range marks {
		s := e.stateOf(m.Key)
		if s == nil || m.Version <= s.at().version {
			continue
		}
		_, newer, err := s.merge(now, m.Doc)
		if err != nil {
			failed[m.Key] = err
			continue
		}
		s.at().version = m.Version
		changed = changed || newer
	}
	return changed
}

// stateOf returns the state that a mark is of, nil if there is none.
func (e *Engine) stateOf(key string) state {
	if name, ok := strings.CutPrefix(key, outageMarks); ok {
		if name, err := url.PathUnescape(name); err == nil {
			if s := e.queueState(name, true); s != nil {
				return s
			}
		}
	}
	if name, ok := strings.CutPrefix(key, breakerMarks); ok {
		if name, err := url.PathUnescape(name); err == nil {
			if s := e.groupState(name, true); s != nil {
				return s
			}
		}
	}
	return nil
}
