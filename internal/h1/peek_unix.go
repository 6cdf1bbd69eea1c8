//go:build unix

package h1

import "syscall"

// liveness is what a look at a connection without waiting shows.
type liveness int

const (
	quiet   liveness = iota // open, nothing to read
	talking                 // open, something to read
	dead                    // closed or reset by the peer
)

// peeker looks at a connection without waiting and without taking bytes.
type peeker struct {
	fn    func(fd uintptr) // made once, so that a look allocates nothing
	found liveness
	b     [1]byte
}

func (s *sock) peek() liveness {
	if s.raw == nil {
		return quiet
	}
	p := &s.probe
	if p.fn == nil {
		p.fn = p.look
	}
	p.found = dead
	if err := s.raw.Control(p.fn); err != nil {
		return dead
	}
	return p.found
}

func (p *peeker) look(fd uintptr) {
	n, _, err := syscall.Recvfrom(int(fd), p.b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	switch {
	case err == syscall.EAGAIN || err == syscall.EINTR:
		p.found = quiet
	case err == nil && n > 0:
		p.found = talking
	default:
		p.found = dead
	}
}
