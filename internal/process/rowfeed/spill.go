package rowfeed

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// spillAt is the most bytes of one run's output kept in memory.
const spillAt = 1 << 20

// spill keeps a run's output: in memory, and in an unnamed file if it is long. Its writes never fail, so the command does
// not notice an error.
type spill struct {
	dir  string
	most int64
	mem  bytes.Buffer
	file *os.File
	n    int64
	err  error // of the file, or too much output
}

func (s *spill) Write(p []byte) (int, error) {
	if s.err != nil {
		return len(p), nil
	}
	if s.n += int64(len(p)); s.n > s.most {
		s.err = fmt.Errorf("it wrote more than %d bytes", s.most)
		return len(p), nil
	}
	if s.file == nil && s.n > spillAt {
		s.err = s.toFile()
	}
	if s.err == nil && s.file != nil {
		_, s.err = s.file.Write(p)
	} else {
		s.mem.Write(p)
	}
	return len(p), nil
}

func (s *spill) toFile() error {
	f, err := unnamed(s.dir)
	if err != nil {
		return err
	}
	if _, err := f.Write(s.mem.Bytes()); err != nil {
		f.Close()
		return fmt.Errorf("keep output: %w", err)
	}
	s.mem = bytes.Buffer{}
	s.file = f
	return nil
}

func (s *spill) WriteTo(w io.Writer) (int64, error) {
	if s.file == nil {
		return bytes.NewReader(s.mem.Bytes()).WriteTo(w)
	}
	return io.Copy(w, io.NewSectionReader(s.file, 0, s.n))
}

// Read completes io.ReadCloser; only WriteTo is used.
func (s *spill) Read(p []byte) (int, error) {
	if s.file == nil {
		return s.mem.Read(p)
	}
	return 0, io.EOF
}

func (s *spill) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// unnamed creates a file that disappears when it is closed or this process ends.
func unnamed(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, ".bezoar-sift-*")
	if err != nil {
		return nil, fmt.Errorf("make a temporary file: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, fmt.Errorf("make a temporary file: %w", err)
	}
	return f, nil
}
