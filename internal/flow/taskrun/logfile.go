package taskrun

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

// logFile is the log of a running attempt. Its file holds the first half of the limit, followed by a ring of the last half.
// When the attempt ends, the ring is put in order. The first byte creates the file.
type logFile struct {
	path, mark string // the file, and the note with the ring's position
	limit      int64

	mu      sync.Mutex // guards the fields below
	f       *os.File
	note    *os.File // set while the ring is in use
	n       int64    // bytes written by the attempt
	err     error    // why the log stopped
	over    bool
	readers int
	changed chan struct{} // closed at the next byte or the end; nil: no reader waits
}

// ring describes a log's file: head bytes, then a ring of size bytes; the attempt wrote n bytes in all.
type ring struct{ n, head, size int64 }

func ringOf(n, limit int64) ring { return ring{n, limit / 2, limit - limit/2} }

// oldest returns the first byte after the head that the ring still has.
func (r ring) oldest() int64 { return max(r.head, r.n-r.size) }

// at returns the position of a byte in the file, and how many bytes follow it without a break.
func (r ring) at(i int64) (offset, piece int64) {
	if i < r.head {
		return i, r.head - i
	}
	k := (i - r.head) % r.size
	return r.head + k, r.size - k
}

// gap returns the line that replaces missing bytes.
func (r ring) gap(missing int64) []byte {
	return fmt.Appendf(nil, "\n[bezoar: %d bytes are left out here: a log keeps its first %d and its last %d bytes]\n", missing, r.head, r.size)
}

// Write never fails: a log that cannot be written is not a failure of the attempt.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil && l.f == nil && len(p) > 0 {
		l.f, l.err = os.OpenFile(l.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	for rest := p; l.err == nil && len(rest) > 0; {
		offset, piece := ringOf(l.n, l.limit).at(l.n)
		k := min(piece, int64(len(rest)))
		if _, l.err = l.f.WriteAt(rest[:k], offset); l.err == nil {
			l.n, rest = l.n+k, rest[k:]
		}
	}
	if l.err == nil && l.n > l.limit {
		l.err = l.writeNote()
	}
	l.wake()
	return len(p), nil
}

// writeNote stores the ring's position, for a process that finds the file after a kill.
func (l *logFile) writeNote() (err error) {
	if l.note == nil {
		if l.note, err = os.OpenFile(l.mark, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
			return err
		}
	}
	r := ringOf(l.n, l.limit)
	_, err = fmt.Fprintf(&atStart{l.note}, noteForm, r.n, r.head, r.size)
	return err
}

const noteForm = "%019d %019d %019d\n"

// atStart overwrites the start of a file.
type atStart struct{ f *os.File }

func (a *atStart) Write(p []byte) (int, error) { return a.f.WriteAt(p, 0) }

func (l *logFile) wake() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// finish puts the file in order and syncs it. It returns how many bytes the attempt wrote.
func (l *logFile) finish() (n int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.wake()
	if l.f == nil {
		return 0, l.err
	}
	switch {
	case l.n > l.limit:
		err = straighten(l.path, l.mark, ringOf(l.n, l.limit))
	default:
		err = l.f.Sync()
	}
	if l.note != nil {
		err = errors.Join(err, l.note.Close())
	}
	if l.readers == 0 {
		err = errors.Join(err, l.f.Close())
	}
	return l.n, errors.Join(l.err, err)
}

// straighten replaces a log with a ring by one without.
func straighten(path, mark string, r ring) (err error) {
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(mark+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	oldest, _ := r.at(r.oldest())
	_, err = io.Copy(to, io.NewSectionReader(from, 0, r.head))
	if missing := r.oldest() - r.head; err == nil && missing > 0 {
		_, err = to.Write(r.gap(missing))
	}
	if err == nil {
		_, err = io.Copy(to, io.NewSectionReader(from, oldest, r.head+r.size-oldest))
	}
	if err == nil && oldest > r.head {
		_, err = io.Copy(to, io.NewSectionReader(from, r.head, oldest-r.head))
	}
	if err == nil {
		err = to.Sync()
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return errors.Join(err, os.Remove(to.Name()))
	}
	if err := os.Rename(to.Name(), path); err != nil {
		return err
	}
	return os.Remove(mark)
}

// straightenLeft is straighten for a file that a killed process left.
func straightenLeft(path, mark string) error {
	f, err := os.Open(mark)
	if err != nil {
		return err
	}
	defer f.Close()
	var r ring
	if _, err := fmt.Fscanf(f, "%d %d %d\n", &r.n, &r.head, &r.size); err != nil || r.head < 0 || r.size <= 0 || r.n < r.head {
		return os.Remove(mark) // a torn note: the log stays as it is
	}
	if err := straighten(path, mark, r); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Remove(mark)
}
