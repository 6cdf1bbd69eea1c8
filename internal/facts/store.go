package facts

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// The bounds.
const (
	MaxFacts = 20_000
	MaxFact  = 8 << 10
	maxKey   = 256
	maxLine  = MaxFact + 4*maxKey
	slack    = 1000 // lines that may be overtaken before it is worth to write anew
)

// ErrFull is wrapped when there is no room for another fact.
var ErrFull = errors.New("the fact store is full")

// Store is an open fact store. It is safe for concurrent use.
type Store struct {
	path string

	mu      sync.Mutex // guards all below; held during transactions
	lock    *os.File
	file    *os.File
	is      os.FileInfo // file's
	read    int64       // how much of file is in facts
	lines   int
	facts   map[string]json.RawMessage
	damaged int
}

type line struct {
	Key  string          `json:"k"`
	Fact json.RawMessage `json:"v,omitempty"` // none: dropped
}

// Open opens the fact store at path, and makes it. The folder must exist.
func Open(path string) (*Store, error) {
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the fact store: %w", err)
	}
	s := &Store{path: path, lock: lock, facts: map[string]json.RawMessage{}}
	if err := s.Update(func(*Tx) error { return nil }); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

// Note says what could not be read, or "".
func (s *Store) Note() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.damaged == 0 {
		return ""
	}
	return fmt.Sprintf("%d lines of %s are damaged and were passed over", s.damaged, s.path)
}

// InMemory returns a fact store that nobody shares and that ends with the process.
func InMemory() *Store { return &Store{facts: map[string]json.RawMessage{}} }

// Close lets go of the files.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.path == "" {
		return nil
	}
	return errors.Join(s.file.Close(), s.lock.Close())
}

// Update runs f as one transaction. Nothing of it is kept when f fails.
func (s *Store) Update(f func(*Tx) error) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.path != "" {
		if err := lockFile(s.lock); err != nil {
			return fmt.Errorf("lock the fact store %s: %w", s.path, err)
		}
		defer func() { err = errors.Join(err, unlockFile(s.lock)) }()
	}
	if err := s.catchUp(true); err != nil {
		return fmt.Errorf("read the fact store %s: %w", s.path, err)
	}
	tx := &Tx{s: s, changed: map[string]json.RawMessage{}}
	if err := f(tx); err != nil || len(tx.changed) == 0 {
		return err
	}
	if err := s.write(tx); err != nil {
		return fmt.Errorf("write the fact store %s: %w", s.path, err)
	}
	return nil
}

// View runs f on what is known. It does not wait for transactions of other
// processes.
func (s *Store) View(f func(*Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.catchUp(false); err != nil {
		return fmt.Errorf("read the fact store %s: %w", s.path, err)
	}
	return f(&Tx{s: s, readOnly: true})
}

// catchUp reads what has been written since. Who has the lock may cut a torn
// line off: nobody is writing it any more.
func (s *Store) catchUp(locked bool) error {
	if s.path == "" {
		return nil
	}
	info, err := os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if !locked && s.file != nil {
			return nil
		}
		return s.rewrite()
	case err != nil:
		return err
	}
	if s.file == nil || !os.SameFile(info, s.is) || info.Size() < s.read {
		if err := s.reopen(); err != nil {
			return err
		}
	}
	if info.Size() == s.read {
		return nil
	}
	return s.readOn(locked)
}

func (s *Store) reopen() error {
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	s.adopt(f, info)
	s.read, s.lines = 0, 0
	clear(s.facts)
	return nil
}

func (s *Store) adopt(f *os.File, info os.FileInfo) {
	if s.file != nil {
		_ = s.file.Close() // there is nothing in it that we need
	}
	s.file, s.is = f, info
}

// readOn takes in the lines behind what has been read.
func (s *Store) readOn(locked bool) error {
	r := bufio.NewReaderSize(io.NewSectionReader(s.file, s.read, 1<<62), 64<<10)
	for {
		text, err := r.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) { // no line of ours
			s.read += int64(len(text))
			text, err = r.ReadSlice('\n')
		}
		if errors.Is(err, io.EOF) {
			if len(text) > 0 && locked {
				return s.file.Truncate(s.read)
			}
			return nil
		}
		if err != nil {
			return err
		}
		s.read += int64(len(text))
		s.lines++
		s.take(text)
	}
}

func (s *Store) take(text []byte) {
	var l line
	switch err := json.Unmarshal(text, &l); {
	case err != nil || l.Key == "" || len(text) > maxLine:
		s.damaged++
	case l.Fact == nil:
		delete(s.facts, l.Key)
	default:
		if _, known := s.facts[l.Key]; known || len(s.facts) < MaxFacts {
			s.facts[l.Key] = bytes.Clone(l.Fact)
		}
	}
}

func (s *Store) write(tx *Tx) error {
	if s.path == "" {
		s.apply(tx)
		return nil
	}
	var out []byte
	for key, fact := range tx.changed {
		text, err := json.Marshal(line{key, fact})
		if err != nil {
			return err
		}
		out = append(append(out, text...), '\n')
	}
	if _, err := s.file.Write(out); err != nil {
		return errors.Join(err, s.file.Truncate(s.read))
	}
	if err := datasync(s.file); err != nil {
		return err
	}
	s.read += int64(len(out))
	s.lines += len(tx.changed)
	s.apply(tx)
	if s.lines > 2*len(s.facts)+slack {
		return s.rewrite()
	}
	return nil
}

func (s *Store) apply(tx *Tx) {
	for key, fact := range tx.changed {
		if fact == nil {
			delete(s.facts, key)
		} else {
			s.facts[key] = fact
		}
	}
}

// rewrite writes what holds into a new file, whole or not at all.
func (s *Store) rewrite() (err error) {
	f, err := os.CreateTemp(filepath.Dir(s.path), ".facts-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	w := bufio.NewWriter(f)
	for key, fact := range s.facts {
		text, err := json.Marshal(line{key, fact})
		if err != nil {
			return err
		}
		if _, err := w.Write(append(text, '\n')); err != nil {
			return err
		}
	}
	if err = w.Flush(); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), s.path); err != nil {
		return err
	}
	appending, err := os.OpenFile(s.path, os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := appending.Stat()
	if err != nil {
		return errors.Join(err, appending.Close())
	}
	_ = f.Close() // it is synced
	s.adopt(appending, info)
	s.read, s.lines = info.Size(), len(s.facts)
	return nil
}
