package flowlocal

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
)

const (
	socketName = "flow.sock"
	maxSocket  = 100 // bytes of a path that every system supports
)

// socket returns a path to a directory's socket that is short enough for the kernel. The caller must call done when the
// path is no longer used.
func socket(dir string) (path string, done func(), err error) {
	path = filepath.Join(dir, socketName)
	if len(path) <= maxSocket {
		return path, func() {}, nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", f.Fd(), socketName), func() { _ = f.Close() }, nil
}

// listen opens the socket of a directory that this process has locked. It replaces a socket that a killed process left.
func listen(dir string) (l net.Listener, close func(), err error) {
	if err := os.Remove(filepath.Join(dir, socketName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("open the socket: %w", err)
	}
	path, done, err := socket(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("open the socket: %w", err)
	}
	l, err = net.Listen("unix", path)
	if err != nil {
		done()
		return nil, nil, fmt.Errorf("open the socket: %w", err)
	}
	return l, func() { _ = l.Close(); done() }, nil
}
