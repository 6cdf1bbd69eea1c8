package supervise

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Stream is a worker's output stream.
type Stream int

// The streams.
const (
	Stdout Stream = iota
	Stderr
)

func (s Stream) String() string {
	if s == Stderr {
		return "stderr"
	}
	return "stdout"
}

// MaxLine is the most bytes of a line of output. The rest of a longer line is dropped.
const MaxLine = 8 << 10

var cutMark = []byte(" …[cut]")

// pump reads r to its end and calls emit for each line, without its line end. The line is valid only during the call.
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
