package book

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
var ErrFull = errors.New("the book is full")

// Book is an open book. It is safe for concurrent use.
type Book struct {
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

// Open opens the book at path, and makes it. The folder must exist.
func Open(path string) (*Book, error) {
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the book: %w", err)
	}
	b := &Book{path: path, lock: lock, facts: map[string]json.RawMessage{}}
	if err := b.Update(func(*Tx) error { return nil }); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return b, nil
}

// Note says what could not be read, or "".
func (b *Book) Note() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.damaged == 0 {
		return ""
	}
	return fmt.Sprintf("%d lines of %s are damaged and were passed over", b.damaged, b.path)
}

// InMemory returns a book that nobody shares and that ends with the process.
func InMemory() *Book { return &Book{facts: map[string]json.RawMessage{}} }

// Close lets go of the files.
func (b *Book) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.path == "" {
		return nil
	}
	return errors.Join(b.file.Close(), b.lock.Close())
}

// Update runs f as one transaction. Nothing of it is kept when f fails.
func (b *Book) Update(f func(*Tx) error) (err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.path != "" {
		if err := lockFile(b.lock); err != nil {
			return fmt.Errorf("lock the book %s: %w", b.path, err)
		}
		defer func() { err = errors.Join(err, unlockFile(b.lock)) }()
	}
	if err := b.catchUp(true); err != nil {
		return fmt.Errorf("read the book %s: %w", b.path, err)
	}
	tx := &Tx{b: b, changed: map[string]json.RawMessage{}}
	if err := f(tx); err != nil || len(tx.changed) == 0 {
		return err
	}
	if err := b.write(tx); err != nil {
		return fmt.Errorf("write the book %s: %w", b.path, err)
	}
	return nil
}

// View runs f on what is known. It does not wait for transactions of other
// processes.
func (b *Book) View(f func(*Tx) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.catchUp(false); err != nil {
		return fmt.Errorf("read the book %s: %w", b.path, err)
	}
	return f(&Tx{b: b, readOnly: true})
}

// catchUp reads what has been written since. Who has the lock may cut a torn
// line off: nobody is writing it any more.
func (b *Book) catchUp(locked bool) error {
	if b.path == "" {
		return nil
	}
	info, err := os.Stat(b.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if !locked && b.file != nil {
			return nil
		}
		return b.rewrite()
	case err != nil:
		return err
	}
	if b.file == nil || !os.SameFile(info, b.is) || info.Size() < b.read {
		if err := b.reopen(); err != nil {
			return err
		}
	}
	if info.Size() == b.read {
		return nil
	}
	return b.readOn(locked)
}

func (b *Book) reopen() error {
	f, err := os.OpenFile(b.path, os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	b.adopt(f, info)
	b.read, b.lines = 0, 0
	clear(b.facts)
	return nil
}

func (b *Book) adopt(f *os.File, info os.FileInfo) {
	if b.file != nil {
		_ = b.file.Close() // there is nothing in it that we need
	}
	b.file, b.is = f, info
}

// readOn takes in the lines behind what has been read.
func (b *Book) readOn(locked bool) error {
	r := bufio.NewReaderSize(io.NewSectionReader(b.file, b.read, 1<<62), 64<<10)
	for {
		text, err := r.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) { // no line of ours
			b.read += int64(len(text))
			text, err = r.ReadSlice('\n')
		}
		if errors.Is(err, io.EOF) {
			if len(text) > 0 && locked {
				return b.file.Truncate(b.read)
			}
			return nil
		}
		if err != nil {
			return err
		}
		b.read += int64(len(text))
		b.lines++
		b.take(text)
	}
}

func (b *Book) take(text []byte) {
	var l line
	switch err := json.Unmarshal(text, &l); {
	case err != nil || l.Key == "" || len(text) > maxLine:
		b.damaged++
	case l.Fact == nil:
		delete(b.facts, l.Key)
	default:
		if _, known := b.facts[l.Key]; known || len(b.facts) < MaxFacts {
			b.facts[l.Key] = bytes.Clone(l.Fact)
		}
	}
}

func (b *Book) write(tx *Tx) error {
	if b.path == "" {
		b.apply(tx)
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
	if _, err := b.file.Write(out); err != nil {
		return errors.Join(err, b.file.Truncate(b.read))
	}
	if err := datasync(b.file); err != nil {
		return err
	}
	b.read += int64(len(out))
	b.lines += len(tx.changed)
	b.apply(tx)
	if b.lines > 2*len(b.facts)+slack {
		return b.rewrite()
	}
	return nil
}

func (b *Book) apply(tx *Tx) {
	for key, fact := range tx.changed {
		if fact == nil {
			delete(b.facts, key)
		} else {
			b.facts[key] = fact
		}
	}
}

// rewrite writes what holds into a new file, whole or not at all.
func (b *Book) rewrite() (err error) {
	f, err := os.CreateTemp(filepath.Dir(b.path), ".book-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	w := bufio.NewWriter(f)
	for key, fact := range b.facts {
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
	if err = os.Rename(f.Name(), b.path); err != nil {
		return err
	}
	appending, err := os.OpenFile(b.path, os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := appending.Stat()
	if err != nil {
		return errors.Join(err, appending.Close())
	}
	_ = f.Close() // it is synced
	b.adopt(appending, info)
	b.read, b.lines = info.Size(), len(b.facts)
	return nil
}
