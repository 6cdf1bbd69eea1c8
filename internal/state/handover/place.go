package handover

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/bezoar-dev/bezoar/internal/state/statefile"
)

// fileName is the Unix socket in the state directory. lockName is the file that a process locks from when it looks for its
// predecessor until it offers its own sockets.
const (
	fileName = "takeover.sock"
	lockName = "takeover.lock"
)

// maxPath is the longest path of a Unix socket that works on all systems.
const maxPath = 103

// place returns a path to the socket in dir that is short enough for a socket address. Use it before you call done.
func place(dir string) (path string, done func(), err error) {
	path = filepath.Join(dir, fileName)
	if len(path) <= maxPath {
		return path, func() {}, nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	short := fmt.Sprintf("/proc/self/fd/%d", d.Fd())
	if _, err := os.Stat(short); err != nil {
		return "", nil, errors.Join(fmt.Errorf("%s has %d bytes, more than the %d that a Unix socket's path may have: choose a shorter state_dir", path, len(path), maxPath), d.Close())
	}
	return filepath.Join(short, fileName), func() { _ = d.Close() }, nil
}

// ErrUnderWay says that another process is about to take over.
var ErrUnderWay = errors.New("another process is taking over: start this one when the other one serves")

// claim makes this process the only one that may take over in dir, until the result is closed.
func claim(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	taken, err := statefile.TryLock(f)
	if err == nil && !taken {
		err = ErrUnderWay
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
