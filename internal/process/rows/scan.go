package rows

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

type record struct {
	off   int64 // its first byte
	n     int64 // bytes, including its line end
	line  int   // its first line, from 1
	blank bool  // only white space
}

// scanner finds the records in order.
type scanner struct {
	cfg  Config
	in   *bufio.Reader
	off  int64 // of the next read
	line int   // of the next read, from 1
	keep func([]byte)
}

func newScanner(in io.Reader, cfg Config, off int64, line int) *scanner {
	return &scanner{cfg: cfg, in: bufio.NewReaderSize(in, 64<<10), off: off, line: line}
}

// skipBOM skips a byte order mark.
func (s *scanner) skipBOM() error {
	const bom = "\xef\xbb\xbf"
	if b, err := s.in.Peek(len(bom)); string(b) != bom {
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		return nil
	}
	n, err := s.in.Discard(len(bom))
	s.off += int64(n)
	return err
}

// next returns the next record, and io.EOF after the last.
func (s *scanner) next() (record, error) {
	r := record{off: s.off, line: s.line, blank: true}
	quotes := quoting{delimiter: s.cfg.Delimiter}
	for {
		part, err := s.in.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF) {
			return r, err
		}
		ended := errors.Is(err, io.EOF)
		if ended && len(part) == 0 && r.n == 0 {
			return r, io.EOF
		}
		r.n += int64(len(part))
		s.off += int64(len(part))
		if r.n > s.cfg.MaxRow {
			return r, &LineError{r.line, s.tooLong(quotes, r.line)}
		}
		r.blank = r.blank && len(bytes.TrimSpace(part)) == 0
		if s.keep != nil {
			s.keep(part)
		}
		if s.cfg.Format == CSV {
			if reason := quotes.read(part, s.line); reason != "" {
				return r, &LineError{s.line, reason}
			}
		}
		whole := bytes.HasSuffix(part, []byte("\n"))
		if whole {
			s.line++
		}
		switch {
		case ended && quotes.state == quoted:
			return r, &LineError{quotes.opened, "the quote that opens here is never closed, so the rows cannot be separated"}
		case ended, whole && quotes.state != quoted:
			return r, nil
		}
	}
}

func (s *scanner) tooLong(q quoting, line int) string {
	text := fmt.Sprintf("the row that begins here is longer than %d bytes", s.cfg.MaxRow)
	if q.state == quoted && q.opened >= line {
		text += fmt.Sprintf("; is the quote of line %d never closed?", q.opened)
	}
	return text
}

// quoting tracks the quotes of one CSV record.
type quoting struct {
	delimiter byte
	state     state
	opened    int // line of the open quote
}

type state uint8

const (
	fieldStart state = iota
	unquoted
	quoted
	closing // after a quote in a quoted field: its end, or the first half of ""
	ended   // after that, a carriage return
)

// read reads one line of a record, and returns what is wrong with it, or "".
func (q *quoting) read(part []byte, line int) string {
	for i := 0; i < len(part); i++ {
		c := part[i]
		switch q.state {
		case quoted:
			j := bytes.IndexByte(part[i:], '"')
			if j < 0 {
				return ""
			}
			i += j
			q.state = closing
		case fieldStart, unquoted:
			switch {
			case c == '"' && q.state == fieldStart:
				q.state, q.opened = quoted, line
			case c == q.delimiter, c == '\n':
				q.state = fieldStart
			default:
				q.state = unquoted
			}
		case closing, ended:
			switch {
			case c == '"' && q.state == closing:
				q.state = quoted
			case c == q.delimiter, c == '\n':
				q.state = fieldStart
			case c == '\r':
				q.state = ended
			default:
				return "text follows a closing quote, so the rows cannot be separated"
			}
		}
	}
	return ""
}
