package pool

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// hearLines tells f of every line of a child's stdout and what it is, until
// there are no more. raw is valid during the call and has the line's end. A line
// that is longer than an answer comes in pieces; one without an end is output. quiet
// is called when all lines have been told that came together: an answer counts only
// with what came behind it.
func hearLines(r io.Reader, f func(s said, raw []byte), quiet func()) {
	in := bufio.NewReaderSize(r, MaxAnswer+len("\r\n"))
	long := false // these are pieces of one line
	for {
		raw, err := in.ReadSlice('\n')
		full := errors.Is(err, bufio.ErrBufferFull)
		switch {
		case long || err != nil && !full:
			f(said{}, raw)
		case full:
			f(tooLong(raw), raw)
		default:
			f(parseLine(raw), raw)
		}
		long = full
		if behind, _ := in.Peek(in.Buffered()); bytes.IndexByte(behind, '\n') < 0 {
			quiet()
		}
		if err != nil && !full {
			return
		}
	}
}

// tail keeps the end of what a child writes for one message.
type tail struct {
	kept proc.Tail
	also io.Writer // nil: nobody, or it has failed
}

func (t *tail) begin(also io.Writer) {
	t.kept.Reset()
	t.also = also
}

func (t *tail) end() []byte {
	t.also = nil
	return t.kept.Bytes()
}

func (t *tail) Write(b []byte) (int, error) {
	_, _ = t.kept.Write(b)
	if t.also != nil {
		if _, err := t.also.Write(b); err != nil {
			t.also = nil
		}
	}
	return len(b), nil
}

// shared is a tail that one goroutine writes and others take.
type shared struct {
	mu sync.Mutex // guards what follows
	tail
}

func (s *shared) begin(also io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tail.begin(also)
}

func (s *shared) end() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tail.end()
}

func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tail.Write(b)
}
