package regular

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// patience is the time limit for reading a file. Local files take milliseconds.
const patience = 10 * time.Second

// Read returns the content of a regular file of at most most bytes.
func Read(name string, most int64) ([]byte, error) {
	text, _, err := Stable(name, most)
	return text, err
}

// Stable is Read with the file's information from before the read. If that changed during
// the read, it returns [ErrChanging].
func Stable(name string, most int64) ([]byte, fs.FileInfo, error) {
	return within(patience, name, func() ([]byte, fs.FileInfo, error) { return read(name, most) })
}

// ErrChanging means that the file is being written.
var ErrChanging = fmt.Errorf("the file is being written")

type answer struct {
	text []byte
	info fs.FileInfo
	err  error
}

// within returns an error if read takes too long. It cannot stop read, which ends when the
// file system answers.
func within(patience time.Duration, name string, read func() ([]byte, fs.FileInfo, error)) ([]byte, fs.FileInfo, error) {
	done := make(chan answer, 1)
	go func() {
		var a answer
		a.text, a.info, a.err = read()
		done <- a
	}()
	select {
	case a := <-done:
		return a.text, a.info, a.err
	case <-time.After(patience):
		return nil, nil, fmt.Errorf("read %s: %w within %v", name, os.ErrDeadlineExceeded, patience)
	}
}

func read(name string, most int64) ([]byte, fs.FileInfo, error) {
	f, err := open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a regular file but %s", name, kind(info.Mode()))
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, nil, err
	}
	after, err := f.Stat()
	switch {
	case err != nil:
		return nil, nil, err
	case after.Size() != info.Size() || !after.ModTime().Equal(info.ModTime()):
		return nil, nil, fmt.Errorf("%w: %s", ErrChanging, name)
	case int64(len(text)) > most:
		return nil, nil, fmt.Errorf("%s has more than %d bytes", name, most)
	}
	return text, info, nil
}

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return m.Type().String()
}
