package facts

import (
	"bytes"
	"encoding/json"
	"maps"
	"time"
)

// A process that was stopped (SIGSTOP, a debugger, a frozen container) in a transaction keeps the lock of the file. Nobody
// may write then, but other processes need not stop either: this process keeps its changes in memory, ahead of the file,
// and writes them when the lock is free again.

const lookAgain = time.Second // how often a View tries to catch up

// ahead holds the changes that are not in the file.
type ahead struct {
	on      bool      // the last wait for the lock was in vain
	tried   time.Time // when the lock was last tried
	changed map[string]change
}

// change is an unwritten fact, and the file's content when it was changed.
// changed.
type change struct{ was, is json.RawMessage }

// caught counts what happened to the changes.
type caught struct{ written, overtaken int }

func (s *Store) behind() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ahead.on
}

// due reports whether to try the lock again, although there is nothing new to write.
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
		s.log.Warn("another worker keeps the lock of the facts that all workers of this folder share: "+
			"this worker goes on with the facts in its memory and catches up later", "file", s.path, "waited", waited.Round(time.Millisecond))
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

// writeAhead writes the changes that are ahead of the file. Facts that another process has changed meanwhile stay as that
// process wrote them. The caller holds mutex and lock, and has read the file to its end.
func (s *Store) writeAhead() (*caught, error) {
	if !s.ahead.on {
		return nil, nil //nolint:nilnil // there is nothing to report
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

// fact returns the fact with a key; nil for none.
func (s *Store) fact(key string) json.RawMessage {
	if c, ok := s.ahead.changed[key]; ok {
		return c.is
	}
	return s.facts[key]
}

// known returns all facts. The caller must not change the map.
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

// count returns the number of facts.
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
