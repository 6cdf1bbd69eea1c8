package pool

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// hearLines calls f with every line of a child's stdout, until its end. raw includes the line end and is valid only during
// the call. A line that is longer than an answer comes in pieces; one without an end is output. quiet is called after all
// lines of one read: an answer is judged together with the output that follows it.
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

// tail keeps the end of a child's output for one message.
type tail struct {
	kept proc.Tail
	also io.Writer // nil: none, or it has failed
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

// shared is a tail that one goroutine writes and others read.
type shared struct {
	mu sync.Mutex // guards the fields below
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
