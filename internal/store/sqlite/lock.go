package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bezoar-dev/bezoar/internal/state/statefile"
)

// lockPoll is the interval of attempts to get the lock.
const lockPoll = 20 * time.Millisecond

// lock acquires the lock file beside the database, and waits up to wait for a predecessor.
// The lock also serializes migrations, because goose has no lock for SQLite.
func lock(ctx context.Context, path string, wait time.Duration) (*os.File, error) {
	f, err := os.OpenFile(path+"-lock", os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, explainLockFile(path, err)
	}
	if err := onlyName(f); err != nil { // a file with another name would be overwritten
		return nil, errors.Join(err, f.Close())
	}
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		taken, err := statefile.TryLock(f)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
		}
		if taken {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("wait for the lock of %s: %w", path, ctx.Err()), f.Close())
		case <-deadline.C:
			return nil, errors.Join(heldError(path, f), f.Close())
		}
	}
	if err := errors.Join(f.Truncate(0), writePID(f)); err != nil && !isFull(err) { // without room, the owner stays unknown
		return nil, errors.Join(fmt.Errorf("write %s: %w", f.Name(), err), f.Close())
	}
	return f, nil
}

// onlyName rejects a file that is not regular, or that has several names.
func onlyName(f *os.File) error {
	var st unix.Stat_t
	switch err := unix.Fstat(int(f.Fd()), &st); {
	case err != nil:
		return fmt.Errorf("look at %s: %w", f.Name(), err)
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return fmt.Errorf("%s is not a regular file: move it away", f.Name())
	case st.Nlink > 1:
		return fmt.Errorf("%s has %d names (hard links): another process could use the file by another name at the same time, and damage it; "+
			"remove the others (find them with: find -samefile %s), or copy the file", f.Name(), st.Nlink, f.Name())
	}
	return nil
}

func writePID(f *os.File) error {
	_, err := fmt.Fprintf(f, "%d\n", os.Getpid())
	return err
}

// ErrInUse is wrapped by errors about a file that another process owns.
var ErrInUse = errors.New("in use by another process")

func heldError(path string, f *os.File) error {
	var holder [20]byte
	n, _ := f.ReadAt(holder[:], 0) // the owner may be writing it
	who := ""
	if pid := strings.TrimSpace(string(holder[:n])); pid != "" {
		who = " (pid " + pid + ")"
	}
	return fmt.Errorf("%s is %w%s: stop that process, or use another file; several processes can share a postgres:// store",
		path, ErrInUse, who)
}

func explainLockFile(path string, err error) error {
	dir := filepath.Dir(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: its directory %s does not exist; create it first: %w", path, dir, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EROFS):
		return fmt.Errorf("%s: user %d may not write in %s; make that directory writable or use another file: %w",
			path, os.Geteuid(), dir, err)
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENXIO):
		return fmt.Errorf("%s-lock is a symbolic link or not a file: remove it: %w", path, err)
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return fmt.Errorf("%s: no space left in %s; free some space: %w", path, dir, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}
