package judge

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/bezoar-dev/bezoar/internal/state/marks"
)

const (
	// markFor is how long an untouched mark is kept: longer than any pause or trip.
	markFor = 7 * 24 * time.Hour
	// storeFor bounds the write of a mark.
	storeFor = 5 * time.Second
	maxSwaps = 5 // attempts to write one mark
	// askAgain is when to ask again if others were faster repeatedly.
	askAgain = time.Second
)

// publish synchronises states between the store and this process.
func (j *Judge) publish(ctx context.Context, now time.Time, states ...state) {
	if len(states) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeFor)
	defer cancel()
	for _, s := range states {
		if err := j.publishOne(ctx, now, s); err != nil {
			j.cfg.Complain(ctx, "tell other processes about "+s.at().key, err)
		}
	}
	j.cfg.Changed()
}

func (j *Judge) publishOne(ctx context.Context, now time.Time, s state) error {
	m := s.at()
	select {
	case m.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-m.turn }()
	for range maxSwaps {
		if same, err := j.swap(ctx, now, s); same || err != nil {
			return err
		}
	}
	return marks.ErrConflict
}

// swap writes a state unless another process has been faster; then it takes over what is newer there. It reports whether
// the store now says the same as s. The caller has the mark's turn.
func (j *Judge) swap(ctx context.Context, now time.Time, s state) (same bool, err error) {
	j.mu.Lock()
	says := newDraft(s)
	j.mu.Unlock()
	stored, err := j.put(ctx, s, says)
	if !errors.Is(err, marks.ErrConflict) {
		return err == nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	s.at().version = stored.Version
	if stored.Version == 0 {
		return false, nil // its time was over
	}
	same, _, err = s.merge(now, stored.Doc)
	return same, err
}

// draft is the document of a state, and the version that it was made from.
type draft struct {
	mark marks.Mark
	err  error
}

// newDraft returns the document to put for a state. The caller has held the lock since the state changed: with a version
// that was learned in between, a claim would replace another process's claim without a conflict.
func newDraft(s state) draft {
	doc, err := json.Marshal(s.document())
	return draft{marks.Mark{Key: s.at().key, Version: s.at().version, Doc: doc, TTL: markFor}, err}
}

// put writes a draft of a state, or returns marks.ErrConflict and the existing mark.
func (j *Judge) put(ctx context.Context, s state, d draft) (marks.Mark, error) {
	if d.err != nil {
		return d.mark, d.err
	}
	stored, err := j.cfg.Store.PutMark(ctx, d.mark)
	if err == nil {
		j.mu.Lock()
		s.at().version = max(s.at().version, stored.Version) // newer versions may have been read since
		j.mu.Unlock()
	}
	return stored, err
}

// claim stores the change that offer made in s. If another process is faster, concede undoes the change, and offer is
// called again. Both are called under the lock; offer reports whether it changed anything. claim reports whether others
// were faster every time. If the store does not answer, this process goes on alone.
func (j *Judge) claim(ctx context.Context, now time.Time, s state, doing string, offer func(time.Time) bool, concede func(time.Time, marks.Mark)) (lost bool) {
	select {
	case s.at().turn <- struct{}{}:
	case <-ctx.Done():
		return true
	}
	defer func() { <-s.at().turn }()
	began := time.Now()
	for range maxSwaps {
		at := now.Add(time.Since(began))
		j.mu.Lock()
		changed := offer(at)
		d := newDraft(s)
		j.mu.Unlock()
		if !changed {
			return false
		}
		stored, err := j.put(ctx, s, d)
		if err == nil {
			return false
		}
		if !errors.Is(err, marks.ErrConflict) {
			j.cfg.Complain(ctx, doing, err)
			return false
		}
		j.mu.Lock()
		s.at().version = stored.Version
		concede(at, stored)
		j.mu.Unlock()
	}
	return true
}

// Refresh reads what others found out, at most every Config.Trust. If the store fails, the last known state stays.
func (j *Judge) Refresh(ctx context.Context, now time.Time) {
	j.mu.Lock()
	fresh := !j.read.IsZero() && (now.Sub(j.read) < j.cfg.Trust || j.loaded && !j.cfg.Shared)
	if !fresh && !j.read.IsZero() {
		j.read = now // one goroutine reads, the others go on with the known state
	}
	j.mu.Unlock()
	if fresh {
		return
	}
	err := j.cfg.Also(ctx)
	var all []marks.Mark
	for _, prefix := range []string{outageMarks, breakerMarks} {
		if err != nil {
			break
		}
		var some []marks.Mark
		some, err = j.cfg.Store.Marks(ctx, prefix)
		all = append(all, some...)
	}
	if err != nil {
		j.cfg.Complain(ctx, "read what other processes know of queues", err)
		if ctx.Err() == nil {
			j.mu.Lock()
			j.read = now
			j.mu.Unlock()
		}
		return
	}
	if j.learn(ctx, now, all) {
		j.cfg.Changed()
	}
}

// learn takes newer content from all marks, and reports whether there was any.
func (j *Judge) learn(ctx context.Context, now time.Time, all []marks.Mark) (changed bool) {
	failed := map[string]error{}
	defer func() { // after the lock is released: a log may block
		for key, err := range failed {
			j.cfg.Complain(ctx, "read mark "+key, err)
		}
	}()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read, j.loaded = now, true
	for _, m := range all {
		s := j.stateOf(m.Key)
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
