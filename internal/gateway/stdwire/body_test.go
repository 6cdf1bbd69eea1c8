package stdwire

import (
	"errors"
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
