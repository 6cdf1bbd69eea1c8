package rowfeed

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/crash"
	"github.com/bezoar-dev/bezoar/sift"
)

// Letter is a row that was set aside, in the form of a line in a file of letters.
type Letter struct {
	ID          string       `json:"id"`  // of the sifting and the row: no two letters have the same
	Row         int          `json:"row"` // counted from 1
	Line        int          `json:"line"`
	Text        *string      `json:"text,omitempty"`
	Base64      []byte       `json:"base64,omitempty"` // instead of Text when that is no UTF-8
	Class       bezoar.Class `json:"class"`
	Type        string       `json:"type"`
	Frame       sift.Frame   `json:"frame"`
	Reason      string       `json:"reason"`
	Fingerprint string       `json:"fingerprint"`
	Group       string       `json:"group"`
	Quality     string       `json:"quality"`
	Detail      string       `json:"detail"`
	Stderr      string       `json:"stderr,omitempty"`
	Runs        int          `json:"runs"`
	Reported    bool         `json:"reported"`
	Time        time.Time    `json:"time"`
	Header      []byte       `json:"-"` // of the input, for those who send the row on
}

// Body returns the row as the command would get it.
func (l Letter) Body() []byte {
	text := l.Base64
	if l.Text != nil {
		text = []byte(*l.Text)
	}
	if len(l.Header) == 0 {
		return text
	}
	return append(append(bytes.Clone(l.Header), text...), '\n')
}

// Sink stores letters.
type Sink interface {
	// Put stores letters durably. It skips letters whose ID it has already.
	Put(letters []Letter) error
	Close() error
}

// letter adds the row itself to the engine's letter.
func (in *input) letter(id string, l sift.Letter, now time.Time) (Letter, error) {
	row, err := in.Row(in.file, l.Row)
	if err != nil {
		return Letter{}, err
	}
	out := Letter{
		ID: fmt.Sprintf("%s-%d", id, l.Row+1), Row: l.Row + 1, Line: row.Line, Class: l.Class,
		Type: l.Failure.Type, Frame: l.Failure.Frame, Reason: l.Failure.Reason,
		Fingerprint: l.Failure.Fingerprint, Group: l.Failure.Group, Quality: l.Failure.Quality,
		Detail: l.Failure.Detail, Stderr: l.Failure.Stderr, Runs: l.Runs, Reported: l.Reported,
		Time: now.UTC().Truncate(time.Millisecond), Header: in.Header,
	}
	if out.Fingerprint == "" { // the command named it: its reason is all there is
		c := crash.OfRun([]byte(out.Reason), crash.Ending{Code: 1})
		out.Fingerprint, out.Group, out.Quality = c.Fingerprint, c.Group, string(c.Quality)
	}
	if utf8.Valid(row.Text) {
		text := string(row.Text)
		out.Text = &text
	} else {
		out.Base64 = row.Text
	}
	return out, nil
}

type file struct {
	f   *os.File
	id  string
	has map[string]bool // nil until look was called
}

// File returns a sink that appends to a file, one JSON document per line. The file may contain letters of other runs.
func File(path string) func(id string) (Sink, error) {
	return func(id string) (Sink, error) {
		f, err := openLetters(path)
		if err != nil {
			return nil, fmt.Errorf("open the dead letters: %w", err)
		}
		return &file{f: f, id: id}, nil
	}
}

// openLetters opens a file for reading and appending. A pipe, a terminal and the like are only written to.
func openLetters(path string) (*os.File, error) {
	how := os.O_RDWR
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		how = os.O_WRONLY
	}
	return os.OpenFile(path, how|os.O_CREATE|os.O_APPEND, 0o600)
}

// look finds the letters of this run, and drops an incomplete one after a crash.
func (s *file) look() error {
	s.has = map[string]bool{}
	if st, err := s.f.Stat(); err != nil || !st.Mode().IsRegular() {
		return err
	}
	in := bufio.NewReader(s.f)
	mine := fmt.Appendf(nil, `{"id":"%s-`, s.id)
	var off int64
	for {
		line, err := in.ReadBytes('\n')
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case err != nil && len(line) == 0:
			return nil
		case err != nil && bytes.HasPrefix(line, mine): // of this run, and incomplete
			return s.f.Truncate(off)
		case err != nil:
			_, err := s.f.Write([]byte("\n"))
			return err
		}
		off += int64(len(line))
		if bytes.HasPrefix(line, mine) {
			rest := line[len(`{"id":"`):]
			if end := bytes.IndexByte(rest, '"'); end > 0 {
				s.has[string(rest[:end])] = true
			}
		}
	}
}

func (s *file) Put(letters []Letter) error {
	if s.has == nil {
		if err := s.look(); err != nil {
			return fmt.Errorf("read the dead letters: %w", err)
		}
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	for _, l := range letters {
		if s.has[l.ID] {
			continue
		}
		s.has[l.ID] = true
		if err := e.Encode(l); err != nil {
			return fmt.Errorf("write a dead letter: %w", err)
		}
	}
	if out.Len() == 0 {
		return nil
	}
	if _, err := s.f.Write(out.Bytes()); err != nil {
		return fmt.Errorf("write a dead letter: %w", err)
	}
	if err := s.f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("write a dead letter: %w", err)
	}
	return nil
}

func (s *file) Close() error { return s.f.Close() }
