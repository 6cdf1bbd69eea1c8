package facts

import (
	"bytes"
	"encoding/json"
	"maps"
	"time"
)

// A process that was stopped (SIGSTOP, a debugger, a frozen container) in a
// transaction keeps the lock of the file. Nobody may write then, but nobody needs
// to stand still either: what this process finds out is kept ahead of the file,
// in memory, and is written when the lock is free again.

const lookAgain = time.Second // how often a View tries to catch up

// ahead is what is known beyond the file.
type ahead struct {
	on      bool      // the last wait for the lock was in vain
	tried   time.Time // when the lock was last asked for
	changed map[string]change
}

// change is a fact that is not written yet, and what the file said when it was
// changed.
type change struct{ was, is json.RawMessage }

// caught says what became of what was ahead of the file.
type caught struct{ written, overtaken int }

func (s *Store) behind() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ahead.on
}

// due reports whether it is time to ask for the lock again, though there is
// nothing new to write.
func (s *Store) due() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ahead.on || time.Since(s.ahead.tried) < lookAgain {
		return false
	}
	s.ahead.tried = time.Now()
	return true
}

// updateAhead is an Update without the lock.
func (s *Store) updateAhead(f func(*Tx) error, waited time.Duration) error {
	first, err := s.transactAhead(f)
	if first {
		s.log.Warn("another worker holds the lock of the facts that all workers of this folder share, and does not let go: "+
			"this worker goes on with what it knows and catches up later", "file", s.path, "waited", waited.Round(time.Millisecond))
	}
	return err
}

func (s *Store) transactAhead(f func(*Tx) error) (first bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first, s.ahead.on, s.ahead.tried = !s.ahead.on, true, time.Now()
	if err := s.catchUp(false); err != nil {
		return first, err
	}
	tx := &Tx{s: s, changed: map[string]json.RawMessage{}}
	if err := f(tx); err != nil {
		return first, err
	}
	if s.ahead.changed == nil {
		s.ahead.changed = map[string]change{}
	}
	for key, is := range tx.changed {
		c, known := s.ahead.changed[key]
		if !known {
			c.was = s.facts[key]
		}
		c.is = is
		s.ahead.changed[key] = c
	}
	return first, nil
}

// writeAhead writes what was ahead of the file. What somebody else has changed
// meanwhile stays as they wrote it. The caller holds mutex and lock, and has read
// the file to its end.
func (s *Store) writeAhead() (*caught, error) {
	if !s.ahead.on {
		return nil, nil //nolint:nilnil // there is nothing to tell
	}
	changed := map[string]json.RawMessage{}
	room := MaxFacts - len(s.facts)
	for key, c := range s.ahead.changed {
		if !bytes.Equal(c.was, s.facts[key]) {
			continue
		}
		if c.is != nil && c.was == nil {
			if room <= 0 {
				continue
			}
			room--
		}
		changed[key] = c.is
	}
	out := &caught{written: len(changed), overtaken: len(s.ahead.changed) - len(changed)}
	if len(changed) > 0 {
		if err := s.write(changed); err != nil {
			return nil, err
		}
	}
	s.ahead = ahead{}
	return out, nil
}

// fact returns what is known by a key, nil for nothing.
func (s *Store) fact(key string) json.RawMessage {
	if c, ok := s.ahead.changed[key]; ok {
		return c.is
	}
	return s.facts[key]
}

// known returns all that is known. The caller does not change it.
func (s *Store) known() map[string]json.RawMessage {
	if len(s.ahead.changed) == 0 {
		return s.facts
	}
	all := maps.Clone(s.facts)
	for key, c := range s.ahead.changed {
		if c.is == nil {
			delete(all, key)
		} else {
			all[key] = c.is
		}
	}
	return all
}

// count is how many facts are known.
func (s *Store) count() int {
	n := len(s.facts)
	for key, c := range s.ahead.changed {
		_, written := s.facts[key]
		switch {
		case c.is == nil && written:
			n--
		case c.is != nil && !written:
			n++
		}
	}
	return n
}
