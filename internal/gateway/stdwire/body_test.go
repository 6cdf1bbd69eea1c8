package stdwire

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// slowDeadline is a writer and a body of net/http. Whoever sets a deadline is overtaken
// by what between does; a read with time left goes on until it is given up.
type slowDeadline struct {
	http.ResponseWriter
	between func()
	by      time.Time
	reads   int
}

func (d *slowDeadline) SetReadDeadline(by time.Time) error {
	if f := d.between; f != nil {
		d.between = nil
		f()
	}
	d.by = by
	return nil
}

func (d *slowDeadline) Read([]byte) (int, error) {
	d.reads++
	if time.Now().Before(d.by) {
		return 0, errors.New("a read goes on that was interrupted")
	}
	return 0, os.ErrDeadlineExceeded
}

func (d *slowDeadline) Close() error { return nil }

// A read that is about to begin when it is interrupted does not begin: its own deadline
// would undo the interruption, and the answer would wait for the caller's body.
func TestInterruptBeforeARead(t *testing.T) {
	d := &slowDeadline{}
	s := &Exchange{reads: new(sync.Pool), r: &http.Request{Body: d}, rc: http.NewResponseController(d), send: time.Minute}
	d.between = s.Interrupt
	for range 2 { // and no later one
		if _, err := s.Next(); !errors.Is(err, h1.ErrInterrupted) {
			t.Errorf("got %v, want %v", err, h1.ErrInterrupted)
		}
	}
	if d.reads > 0 {
		t.Errorf("%d reads", d.reads)
	}
}

// rest is the rest of a body, which is read until it ends.
type rest struct {
	http.ResponseWriter
	left, reads int
}

func (r *rest) SetReadDeadline(time.Time) error  { return nil }
func (r *rest) SetWriteDeadline(time.Time) error { return nil }
func (r *rest) FlushError() error                { return nil }
func (r *rest) Close() error                     { return nil }

func (r *rest) Read(p []byte) (int, error) {
	r.reads++
	if r.left--; r.left < 0 {
		return 0, io.EOF
	}
	return len(p), nil
}

// TestLinger: the rest of a body is read after an answer over HTTP/2, also if reading was interrupted, but not after an
// answer whose end holds the status.
func TestLinger(t *testing.T) {
	for _, trailers := range []bool{false, true} {
		r := &rest{left: 3}
		s := New(r, &http.Request{ProtoMajor: 2, ContentLength: -1, Body: r}, time.Minute, time.Minute, new(sync.Pool))
		s.sent, s.trailers = true, trailers
		s.Interrupt()
		s.Linger()
		s.Release()
		if read := r.reads > 0; read == trailers || s.done == trailers {
			t.Errorf("trailers %v: %d reads, done %v", trailers, r.reads, s.done)
		}
	}
}
