package facts

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/bezoar-dev/bezoar/internal/state/statefile"
)

// catchUp reads what has been written since the last read. With the lock it may cut off a torn line, because nobody is
// still writing it.
func (s *Store) catchUp(locked bool) error {
	if s.path == "" {
		return nil
	}
	info, err := os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if !locked {
			return nil // the process with the lock makes it
		}
		return s.rewrite()
	case err != nil:
		return err
	}
	if s.file == nil || !os.SameFile(info, s.is) || info.Size() < s.read {
		if err := s.reopen(); err != nil {
			return err
		}
	}
	if info.Size() == s.read {
		return nil
	}
	return s.readOn(locked)
}

func (s *Store) reopen() error {
	if err := s.adopt(); err != nil {
		return err
	}
	s.read, s.lines = 0, 0
	clear(s.facts)
	return nil
}

// adopt uses the file that is at the path now.
func (s *Store) adopt() error {
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if s.file != nil {
		_ = s.file.Close() // nothing in it is needed
	}
	s.file, s.is = f, info
	return nil
}

// readOn reads the lines after what has been read.
func (s *Store) readOn(locked bool) error {
	r := bufio.NewReaderSize(io.NewSectionReader(s.file, s.read, 1<<62), 64<<10)
	for {
		text, err := r.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) { // not one of our lines
			s.read += int64(len(text))
			text, err = r.ReadSlice('\n')
		}
		if errors.Is(err, io.EOF) {
			if len(text) > 0 && locked {
				return s.file.Truncate(s.read)
			}
			return nil
		}
		if err != nil {
			return err
		}
		s.read += int64(len(text))
		s.lines++
		s.take(text)
	}
}

func (s *Store) take(text []byte) {
	var l line
	switch err := json.Unmarshal(text, &l); {
	case err != nil || l.Key == "" || len(text) > maxLine:
		s.damaged++
	case l.Fact == nil:
		delete(s.facts, l.Key)
	default:
		if _, known := s.facts[l.Key]; known || len(s.facts) < MaxFacts {
			s.facts[l.Key] = bytes.Clone(l.Fact)
		}
	}
}

// write appends changes. The caller holds the lock of the file.
func (s *Store) write(changed map[string]json.RawMessage) error {
	out, err := encode(changed)
	if err != nil {
		return err
	}
	if _, err := s.file.Write(out); err != nil {
		return errors.Join(err, s.file.Truncate(s.read))
	}
	if err := statefile.Datasync(s.file); err != nil {
		return err
	}
	s.read += int64(len(out))
	s.lines += len(changed)
	s.apply(changed)
	if s.lines > 2*len(s.facts)+slack {
		return s.rewrite()
	}
	return nil
}

func (s *Store) apply(changed map[string]json.RawMessage) {
	for key, fact := range changed {
		if fact == nil {
			delete(s.facts, key)
		} else {
			s.facts[key] = fact
		}
	}
}

// rewrite writes the current facts into a new file, atomically.
func (s *Store) rewrite() error {
	text, err := encode(s.facts)
	if err != nil {
		return err
	}
	if err := statefile.Replace(s.path, text); err != nil {
		return err
	}
	if err := s.adopt(); err != nil {
		return err
	}
	s.read, s.lines = s.is.Size(), len(s.facts)
	return nil
}

// encode returns a line for each fact.
func encode(all map[string]json.RawMessage) ([]byte, error) {
	var out []byte
	for key, fact := range all {
		text, err := json.Marshal(line{key, fact})
		if err != nil {
			return nil, err
		}
		out = append(append(out, text...), '\n')
	}
	return out, nil
}
