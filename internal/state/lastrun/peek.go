package lastrun

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Present describes the run that uses a folder, or used it last.
type Present struct {
	Running bool      // a process has it now
	PID     int       // of the run; 0: there was none, or its record cannot be read
	Began   time.Time // when it began
	Orderly bool      // it has stopped in order
}

// Peek tells which process uses a folder, and changes nothing.
func Peek(dir string) (Present, error) {
	path := filepath.Join(dir, fileName)
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return Present{}, nil
	}
	if err != nil {
		return Present{}, err
	}
	defer f.Close()
	var p Present
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		p.Running = true
	case err != nil:
		return p, fmt.Errorf("look at the lock of %s: %w", path, err)
	}
	content, err := io.ReadAll(io.LimitReader(f, headSize))
	if err != nil {
		return p, err
	}
	if h, ok := decode(content); ok {
		p.PID, p.Began, p.Orderly = h.pid, h.began, h.orderly
	}
	return p, nil
}
