package child

import (
	"errors"
	"io"
	"sync"
	"syscall"
)

// live passes on an output. On request it passes on everything written so far: the owner of a process that handles many
// messages needs to know where the stderr of one message ends.
type live struct {
	o   *outlet
	raw syscall.RawConn // nil if reading the pipe always blocks

	mu  sync.Mutex // guards the fields below and reading from raw
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

// drain passes on everything until the end of the output.
func (l *live) drain(c *chunks) {
	if l.raw != nil {
		_ = l.raw.Read(func(fd uintptr) bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.empty(fd)
		})
	}
	// The rest after the pipe has expired, or everything if non-blocking reads are not possible.
	drain(l.o, writerFunc(func(b []byte) (int, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.to.Write(b)
	}), c)
}

// catchUp passes on what has been written so far.
func (l *live) catchUp() {
	if l.raw == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.raw.Control(func(fd uintptr) { l.empty(fd) }) // closed: drain has passed on everything
}

// empty passes on what is in the pipe. It reports whether the output has ended.
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
			return false // empty for now; a pipe at its end is readable again
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
