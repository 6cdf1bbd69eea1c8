package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
)

// ErrLost means that the open files are no longer those under their names: they were
// deleted, replaced or emptied, and writes would be lost.
var ErrLost = errors.New("was deleted, replaced or emptied while it is in use")

// watch checks whether the database and its log are still the opened files. Without it,
// writes to a deleted file would succeed and be lost at the next start.
type watch struct {
	files [2]watched // the database and its log
	lost  atomic.Pointer[error]
}

// watched is a file and its name.
type watched struct {
	path string
	was  os.FileInfo
}

// newWatch returns a watch for open files.
func newWatch(path string) (*watch, error) {
	w := new(watch)
	for i, end := range []string{"", "-wal"} {
		info, err := os.Stat(path + end)
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", path+end, err)
		}
		w.files[i] = watched{path + end, info}
	}
	return w, nil
}

// look returns the reason why no write may be acknowledged any more. A lost file stays
// lost.
func (w *watch) look() error {
	if w == nil {
		return nil
	}
	if err := w.lost.Load(); err != nil {
		return *err
	}
	for i, f := range w.files {
		is, err := os.Stat(f.path)
		if err == nil && os.SameFile(f.was, is) && (i > 0 || is.Size() > 0) || err != nil && !errors.Is(err, os.ErrNotExist) {
			continue // also if the file cannot be examined now
		}
		lost := fmt.Errorf("%s %w: writes are no longer acknowledged. Stop Bezoar and put the file back, or restore a backup; "+
			"until it stops, /proc/%d/fd still has what was deleted", f.path, ErrLost, os.Getpid())
		w.lost.CompareAndSwap(nil, &lost)
		return *w.lost.Load()
	}
	return nil
}

// realPath resolves symbolic links, so that all names of a file have the same lock and log.
func realPath(path string) (string, error) {
	at, err := filepath.EvalSymlinks(path)
	if err == nil {
		return at, nil
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
		return "", fmt.Errorf("%s is a symbolic link to a missing file: create that file, or remove the link", path)
	}
	return path, nil // the file does not exist, or opening it will report the error
}
