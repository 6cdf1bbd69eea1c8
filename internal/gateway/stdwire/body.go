package stdwire

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// Next reads more of the body. A pump reads bodies of unknown length, because a read over net/http cannot be interrupted
// and continued.
func (s *Exchange) Next() ([]byte, error) {
	if s.done {
		return nil, io.EOF
	}
	if s.buf == nil {
		if p, ok := s.reads.Get().(*[ReadSize]byte); ok {
			s.buf = p
		} else {
			s.buf = new([ReadSize]byte)
		}
	}
	s.deadline()
	if s.stop.Load() { // no later Interrupt can come before the deadline now
		return nil, h1.ErrInterrupted
	}
	var n int
	var err error
	if s.pump == nil && s.patience == 0 && s.halt == nil {
		n, err = s.r.Body.Read(s.buf[:])
	} else {
		n, err = s.pumped()
	}
	if errors.Is(err, io.EOF) {
		s.done = true
		_ = s.rc.SetReadDeadline(time.Time{}) // net/http goes on reading
	}
	switch {
	case n > 0:
		return s.buf[:n], nil
	case err == nil:
		return s.Next()
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = h1.ErrTooSlow
	}
	return nil, err
}

// deadline bounds the next read.
func (s *Exchange) deadline() {
	by := time.Now().Add(s.send)
	if !s.by.IsZero() && s.by.Before(by) {
		by = s.by
	}
	_ = s.rc.SetReadDeadline(by) // a writer without deadlines has its own bounds
}

// pump is a goroutine that reads one piece of the body at a time, on demand.
type pump struct {
	want chan []byte
	got  chan piece
	busy bool // a read is under way
	wg   sync.WaitGroup
}

type piece struct {
	n   int
	err error
}

func (s *Exchange) pumped() (int, error) {
	p := s.pump
	if p == nil {
		p = &pump{want: make(chan []byte), got: make(chan piece, 1)}
		s.pump = p
		body := s.r.Body
		p.wg.Go(func() {
			for b := range p.want {
				n, err := body.Read(b)
				p.got <- piece{n, err}
			}
		})
	}
	if !p.busy {
		p.busy = true
		p.want <- s.buf[:]
	}
	var stalled <-chan time.Time
	if s.patience > 0 {
		timer := time.NewTimer(s.patience)
		defer timer.Stop()
		stalled = timer.C
	}
	select {
	case got := <-p.got:
		p.busy = false
		return got.n, got.err
	case <-s.halt:
		return 0, h1.ErrInterrupted
	case <-stalled:
		return 0, h1.ErrStalled
	}
}

// These bound what is read of a body after the answer.
const (
	maxLinger  = 256 << 20
	lingerFor  = 10 * time.Second
	lingerIdle = time.Second // without a byte
)

// Linger reads on after an answer over HTTP/2 that came before the end of the body. net/http would reset the stream, with
// NO_ERROR, but curl and httpx lose the answer then. The answer is complete for the caller if its length is known. Calls of
// gRPC and answers with trailers end at once, because their last frame holds the status.
func (s *Exchange) Linger() {
	if s.halt == nil || s.done || s.aborted || s.err != nil || !s.sent || s.trailers || s.Gone() {
		return
	}
	if s.Flush() != nil {
		return
	}
	s.stop.Store(false)
	select {
	case <-s.halt: // of an earlier Interrupt
	default:
	}
	s.patience, s.send, s.by = 0, lingerIdle, time.Now().Add(lingerFor)
	for n := 0; n <= maxLinger; {
		p, err := s.Next()
		if err != nil {
			return
		}
		n += len(p)
	}
}
