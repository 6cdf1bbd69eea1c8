package supervise

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"
)

// Stream says where a worker wrote a line.
type Stream int

// The streams.
const (
	Stdout Stream = iota
	Stderr
)

// String returns the stream's name.
func (s Stream) String() string {
	if s == Stderr {
		return "stderr"
	}
	return "stdout"
}

// MaxLine bounds a line of output in bytes. The rest of a longer one is dropped.
const MaxLine = 8 << 10

var cutMark = []byte(" …[cut]")

// pump reads r to its end and calls emit for each line, without its end. What
// emit gets is valid during the call.
func pump(r io.Reader, emit func(line []byte)) {
	br := bufio.NewReaderSize(r, MaxLine)
	for {
		line, err := br.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			emit(append(bytes.Clone(line), cutMark...))
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = br.ReadSlice('\n')
			}
		} else if len(line) > 0 {
			emit(bytes.TrimRight(line, "\r\n"))
		}
		if err != nil {
			return
		}
	}
}

// Prefixed returns an Output that writes each line after its worker's name:
// "search-1 │ listening". Lines of different workers never mix.
func Prefixed(stdout, stderr io.Writer) func(worker string, stream Stream, line []byte) {
	var mu sync.Mutex // guards buf and the writers
	var buf []byte
	return func(worker string, stream Stream, line []byte) {
		mu.Lock()
		defer mu.Unlock()
		buf = append(buf[:0], worker...)
		buf = append(buf, " │ "...)
		buf = append(buf, line...)
		buf = append(buf, '\n')
		w := stdout
		if stream == Stderr {
			w = stderr
		}
		_, _ = w.Write(buf) // a terminal that is gone must not end a worker
	}
}
