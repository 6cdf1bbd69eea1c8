package h1

import (
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// Watch bounds how long a read may wait.
type Watch interface {
	// Wait is called before a read may block, and again at each time that it returned. since is when this wait began. It
	// returns when to call it again, zero for never, or an error that ends the read.
	Wait(since, now time.Time) (time.Time, error)
}

// ErrInterrupted ends a read of a request's body after [Exchange.Interrupt].
var ErrInterrupted = errors.New("interrupted")

var errFull = errors.New("buffer is full")

// sock is a connection with a read buffer. One goroutine reads; another may write to nc at the same time.
type sock struct {
	nc    net.Conn
	raw   syscall.RawConn // nil if nc is not a file descriptor
	base  syscall.RawConn // what peek checks: raw, or the connection below TLS; nil: neither
	over  bool            // the peer has finished sending
	watch Watch
	who   uint8         // number for a Crowd
	stop  atomic.Bool   // ends reads with ErrInterrupted
	wakes atomic.Uint32 // counts wakes, to notice one that comes while arming

	pool  *buffers
	buf   []byte
	r, w  int       // unread bytes: buf[r:w]
	brim  bool      // the last read filled the buffer: the next deserves a larger one
	armed time.Time // nc's read deadline; not later than the wanted one
	at    time.Time // a recent time; zero: unknown

	probe peeker
	io    rawIO
}

func (s *sock) open(nc net.Conn, pool *buffers) {
	s.nc, s.pool, s.buf = nc, pool, pool.getSmall()
	s.r, s.w, s.brim = 0, 0, false
	s.armed, s.at = time.Time{}, time.Time{}
	s.who = uint8(rand.Uint32())
	s.stop.Store(false)
	s.wakes.Store(0)
	s.raw, s.over = rawOf(nc), false
	s.base = s.raw
	if t, ok := nc.(interface{ NetConn() net.Conn }); ok {
		s.base = rawOf(t.NetConn())
	}
}

func rawOf(nc net.Conn) syscall.RawConn {
	if sc, ok := nc.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			return raw
		}
	}
	return nil
}

// cut closes the connection without TLS's close message, which might have to wait.
func (s *sock) cut() {
	if t, ok := s.nc.(interface{ NetConn() net.Conn }); ok {
		t.NetConn().Close()
		return
	}
	s.nc.Close()
}

// free gives the buffer back. No slice of it may be in use.
func (s *sock) free() {
	s.pool.put(s.buf)
	s.buf, s.r, s.w = nil, 0, 0
}

// buffered returns the unread bytes.
func (s *sock) buffered() []byte { return s.buf[s.r:s.w] }

// fill reads once into the buffer, and waits as long as the watch allows.
func (s *sock) fill() error {
	if s.r == s.w {
		s.r, s.w = 0, 0
		if s.brim {
			s.brim = false
			s.widen()
		}
	}
	if s.w == len(s.buf) {
		if s.r == 0 {
			return errFull
		}
		s.w = copy(s.buf, s.buf[s.r:s.w])
		s.r = 0
	}
	n, err := s.read(s.buf[s.w:])
	s.w += n
	s.brim = s.w == len(s.buf)
	return err
}

// read reads at least one byte into p.
func (s *sock) read(p []byte) (int, error) {
	since := s.lately()
	if err := s.arm(since, since); err != nil {
		return 0, err
	}
	for {
		n, err := s.io.recv(s.raw, s.nc, p)
		switch {
		case n > 0:
			s.over = s.over || err != nil // TLS reports the end together with the last bytes
			return n, nil
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			s.armed = time.Time{}
			if err := s.arm(since, time.Now()); err != nil {
				return 0, err
			}
		default:
			return 0, err
		}
	}
}

// more reports whether TLS holds bytes that have come and were not read. A look at the connection below does not show them.
func (s *sock) more() bool {
	if s.raw != nil {
		return false
	}
	s.armed = time.Time{}
	if s.nc.SetReadDeadline(time.Unix(1, 0)) != nil {
		return true
	}
	n, err := s.nc.Read(s.probe.b[:]) // of what has been read from the connection below: it would have to wait for more
	return n > 0 || !errors.Is(err, os.ErrDeadlineExceeded)
}

// lately returns at, once, or else the current time.
func (s *sock) lately() time.Time {
	now := s.at
	if s.at = (time.Time{}); now.IsZero() {
		now = time.Now()
	}
	return now
}

// arm asks the watch and sets the read deadline if the current one is too late. A deadline that is too early only leads
// here again; keeping it saves the timer's work on every request.
func (s *sock) arm(since, now time.Time) error {
	for {
		wakes := s.wakes.Load()
		if s.stop.Load() {
			return ErrInterrupted
		}
		next, err := s.watch.Wait(since, now)
		if err != nil {
			return err
		}
		if !s.armed.IsZero() && s.armed.After(now) && (next.IsZero() || !s.armed.After(next)) {
			return nil
		}
		s.armed = next
		if err := s.nc.SetReadDeadline(next); err != nil {
			return err
		}
		if s.wakes.Load() == wakes {
			return nil
		}
		s.armed = time.Time{} // wake's deadline may have been overwritten: ask again
	}
}

// interrupt ends the current and all later reads, from any goroutine.
func (s *sock) interrupt() {
	s.stop.Store(true)
	s.wake()
}

// wake makes a blocked read ask its watch again, from any goroutine.
func (s *sock) wake() {
	s.wakes.Add(1)
	_ = s.nc.SetReadDeadline(time.Unix(1, 0)) // fails only on a closed connection
}

// head reads until a complete head is buffered and returns its length.
func (s *sock) head(limits Limits) (int, error) {
	line := 0
	for {
		if s.w > s.r {
			if line == 0 && !isToken(s.buf[s.r]) {
				return 0, bad("the first byte does not begin a message")
			}
			n, next, err := scan(s.buffered(), line)
			if n > 0 || err != nil {
				return n, err
			}
			line = next
			if line == 0 && s.w-s.r > limits.Target+len("HTTP/1.1\r\n")+32 {
				return 0, &Error{414, "the first line is too long"}
			}
			if s.w-s.r >= limits.Head || s.r == 0 && s.w == len(s.buf) && !s.widen() {
				return 0, &Error{431, "the head is too long"}
			}
		}
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
}
