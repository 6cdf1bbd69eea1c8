package facts

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// The bounds.
const (
	MaxFacts = 20_000
	MaxFact  = 8 << 10
	maxKey   = 256
	maxLine  = MaxFact + 4*maxKey
	slack    = 1000 // outdated lines that make a rewrite worthwhile
)

// DefaultWait is how long a transaction waits for those of other processes.
const DefaultWait = 2 * time.Second

// ErrFull is wrapped if there is no room for another fact.
var ErrFull = errors.New("the fact store is full")

// Config says where the facts are. Only Path is required.
type Config struct {
	Path string        // of the file; its folder must exist
	Log  *slog.Logger  // nil discards
	Wait time.Duration // for transactions of other processes; default DefaultWait
}

// Store is an open fact store. It is safe for concurrent use.
type Store struct {
	path string
	log  *slog.Logger
	wait time.Duration
	lock lock

	mu      sync.Mutex // guards all below; held during transactions, never while waiting for the lock
	file    *os.File   // nil: it does not exist yet
	is      os.FileInfo
	read    int64 // how many bytes of file are in facts
	lines   int
	facts   map[string]json.RawMessage
	damaged int
	ahead   ahead
}

type line struct {
	Key  string          `json:"k"`
	Fact json.RawMessage `json:"v,omitempty"` // none: dropped
}

// Open opens the fact store at Config.Path, and creates it if necessary.
func Open(c Config) (*Store, error) {
	if c.Path == "" {
		return nil, errors.New("open the fact store: Path is missing")
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Wait <= 0 {
		c.Wait = DefaultWait
	}
	lock, err := openLock(c.Path)
	if err != nil {
		return nil, fmt.Errorf("open the fact store: %w", err)
	}
	s := InMemory()
	s.path, s.log, s.wait, s.lock = c.Path, c.Log, c.Wait, lock
	if err := s.Update(nothing); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func nothing(*Tx) error { return nil }

// Note returns what could not be read, or "".
func (s *Store) Note() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.damaged == 0 {
		return ""
	}
	return fmt.Sprintf("%d lines of %s are damaged and were skipped", s.damaged, s.path)
}

// InMemory returns a fact store in memory that is not shared.
func InMemory() *Store {
	return &Store{log: slog.New(slog.DiscardHandler), facts: map[string]json.RawMessage{}}
}

// Close closes the files. It tries once more to write changes that could not be shared.
func (s *Store) Close() (err error) {
	if s.path == "" {
		return nil
	}
	if s.behind() {
		err = s.Update(nothing)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		err = errors.Join(err, s.file.Close())
	}
	return errors.Join(err, s.lock.close())
}

// Update runs f as one transaction. If f fails, nothing of it is kept. If another process has the lock for longer than
// Config.Wait, f runs on the facts that this process has in memory, and its changes are written later.
func (s *Store) Update(f func(*Tx) error) error {
	if s.path == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.transact(f)
	}
	began := time.Now()
	locked, err := s.lock.acquire(s.patience)
	if err != nil {
		return fmt.Errorf("lock the fact store %s: %w", s.path, err)
	}
	if !locked {
		return s.updateAhead(f, time.Since(began))
	}
	caught, err := s.updateLocked(f)
	err = errors.Join(err, s.lock.release())
	if caught != nil {
		s.log.Info("the facts of all workers of this folder are shared again",
			"file", s.path, "written", caught.written, "overtaken", caught.overtaken)
	}
	return err
}

func (s *Store) updateLocked(f func(*Tx) error) (*caught, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.catchUp(true); err != nil {
		return nil, fmt.Errorf("read the fact store %s: %w", s.path, err)
	}
	caught, err := s.writeAhead()
	if err != nil {
		return nil, fmt.Errorf("write the fact store %s: %w", s.path, err)
	}
	return caught, s.transact(f)
}

// transact runs f on the known facts and writes its changes. The caller holds the mutex, and the lock of the file if there
// is one.
func (s *Store) transact(f func(*Tx) error) error {
	tx := &Tx{s: s, changed: map[string]json.RawMessage{}}
	if err := f(tx); err != nil || len(tx.changed) == 0 {
		return err
	}
	if s.path == "" {
		s.apply(tx.changed)
		return nil
	}
	if err := s.write(tx.changed); err != nil {
		return fmt.Errorf("write the fact store %s: %w", s.path, err)
	}
	return nil
}

// View runs f on the known facts. It does not wait for transactions of other processes.
func (s *Store) View(f func(*Tx) error) error {
	if s.due() {
		// An error here occurs again in the next Update, which returns it.
		_ = s.Update(nothing)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.catchUp(false); err != nil {
		return fmt.Errorf("read the fact store %s: %w", s.path, err)
	}
	return f(&Tx{s: s, readOnly: true})
}
