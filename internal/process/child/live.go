package child

import (
	"errors"
	"io"
	"sync"
	"syscall"
)

// live passes an output on, and can be asked to have passed on all that was
// written up to now: who owns a process for many messages wants to know where
// in its stderr one of them ends.
type live struct {
	o   *outlet
	raw syscall.RawConn // nil where a pipe cannot be read without waiting

	mu  sync.Mutex // guards what follows, and reading from raw
	to  io.Writer
	buf [4 << 10]byte
}

func newLive(o *outlet, to io.Writer) *live {
	l := &live{o: o, to: to}
	if canReadNow {
		l.raw, _ = o.f.SyscallConn()
	}
	return l
}

// drain passes everything on, to its end.
func (l *live) drain(c *chunks) {
	if l.raw != nil {
		_ = l.raw.Read(func(fd uintptr) bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.empty(fd)
		})
	}
	// What is left when the pipe expires; all of it where it cannot be asked.
	drain(l.o, writerFunc(func(b []byte) (int, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.to.Write(b)
	}), c)
}

// catchUp passes on what has been written up to now.
func (l *live) catchUp() {
	if l.raw == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.raw.Control(func(fd uintptr) { l.empty(fd) }) // closed: it has been
}

// empty passes on what is in the pipe. It reports whether no more can come.
func (l *live) empty(fd uintptr) (ended bool) {
	for {
		n, err := readNow(fd, l.buf[:])
		switch {
		case errors.Is(err, syscall.EAGAIN):
			return false
		case n <= 0:
			return true
		}
		_, _ = l.to.Write(l.buf[:n])
		if n < len(l.buf) {
			return false // empty as far as is known; a pipe that is at its end is readable again
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
