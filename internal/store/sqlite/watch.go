package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
)

// ErrLost says that the files that are written are not those under their names any
// more: somebody deleted, replaced or emptied them. What is written goes nowhere.
var ErrLost = errors.New("was deleted, replaced or emptied while it is in use")

// watch looks whether the database and its log are still where they were opened.
// Without it writes to a file that has no name any more succeed, and nothing of
// them is there after a restart.
type watch struct {
	files [2]watched // the database, its log
	lost  atomic.Pointer[error]
}

// watched is a file under its name.
type watched struct {
	path string
	was  os.FileInfo
}

// newWatch is for files that are open.
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

// look returns why nothing may be acknowledged any more: once lost, always lost.
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
			continue // also when it cannot be looked at now
		}
		lost := fmt.Errorf("%s %w: nothing is acknowledged any more. Stop Bezoar and put the file back, or restore a backup; "+
			"until it stops, /proc/%d/fd still has what was deleted", f.path, ErrLost, os.Getpid())
		w.lost.CompareAndSwap(nil, &lost)
		return *w.lost.Load()
	}
	return nil
}

// realPath follows symbolic links to the file, so that all names of it have one
// lock and one log.
func realPath(path string) (string, error) {
	at, err := filepath.EvalSymlinks(path)
	if err == nil {
		return at, nil
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
		return "", fmt.Errorf("%s is a symbolic link to nothing: make the file that it names, or remove it", path)
	}
	return path, nil // it is not there, or whoever opens it says what is wrong
}
