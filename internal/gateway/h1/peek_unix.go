//go:build unix

package h1

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// liveness is the state of a connection, as seen without waiting.
type liveness int

const (
	quiet   liveness = iota // open, nothing to read
	talking                 // open, something to read
	ended                   // the peer has finished sending, or has closed
	dead                    // reset by the peer, or closed by us
)

// peeker checks a connection without waiting and without consuming bytes.
type peeker struct {
	fn    func(fd uintptr) // made once, so that a check allocates nothing
	found liveness
	b     [1]byte
}

func (s *sock) peek() liveness {
	if s.base == nil {
		return quiet
	}
	p := &s.probe
	if p.fn == nil {
		p.fn = p.look
	}
	p.found = dead
	if err := s.base.Control(p.fn); err != nil {
		return dead
	}
	return p.found
}

func (p *peeker) look(fd uintptr) {
	n, e := rawPeek(fd, p.b[:])
	switch {
	case e == syscall.EAGAIN || e == syscall.EINTR:
		p.found = quiet
	case e == 0 && n > 0:
		p.found = talking
	case e == 0:
		p.found = ended
	default:
		p.found = dead
	}
}

// beyond checks a connection with unread bytes: whether it ends after them.
func (s *sock) beyond() liveness {
	seen := dead
	if err := s.base.Control(func(fd uintptr) { seen = beyond(int(fd)) }); err != nil {
		return dead
	}
	return seen
}

const canRest = true

// rest waits until there is something to read, without a buffer.
func (s *sock) rest() error {
	readable := func(fd uintptr) bool {
		s.probe.look(fd)
		return s.probe.found != quiet
	}
	since := time.Now()
	for now := since; ; now = time.Now() {
		if err := s.arm(since, now); err != nil {
			return err
		}
		err := s.base.Read(readable)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		s.armed = time.Time{}
	}
}
