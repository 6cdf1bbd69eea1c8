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
)

// lockPoll is how often a held lock is tried again.
const lockPoll = 20 * time.Millisecond

// lock takes the file beside the database that says who owns it, waiting up
// to wait for a predecessor. It also serialises migrations, for which goose
// has no lock on SQLite.
func lock(ctx context.Context, path string, wait time.Duration) (*os.File, error) {
	f, err := os.OpenFile(path+"-lock", os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, explainLockFile(path, err)
	}
	if err := onlyName(f); err != nil { // another name's file would be overwritten
		return nil, errors.Join(err, f.Close())
	}
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("wait for the lock of %s: %w", path, ctx.Err()), f.Close())
		case <-deadline.C:
			return nil, errors.Join(heldError(path, f), f.Close())
		}
	}
	if err := errors.Join(f.Truncate(0), writePID(f)); err != nil && !isFull(err) { // then nobody learns who holds it
		return nil, errors.Join(fmt.Errorf("write %s: %w", f.Name(), err), f.Close())
	}
	return f, nil
}

// onlyName refuses what is no regular file, and a file that has another name, too.
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

// ErrInUse is wrapped when another process owns the file.
var ErrInUse = errors.New("in use by another process")

func heldError(path string, f *os.File) error {
	var holder [20]byte
	n, _ := f.ReadAt(holder[:], 0) // best effort: the owner may be writing it
	who := ""
	if pid := strings.TrimSpace(string(holder[:n])); pid != "" {
		who = " (pid " + pid + ")"
	}
	return fmt.Errorf("%s is %w%s: stop that one, or give this one another file; many processes share a postgres:// store",
		path, ErrInUse, who)
}

func explainLockFile(path string, err error) error {
	dir := filepath.Dir(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: its folder %s does not exist; create it first: %w", path, dir, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EROFS):
		return fmt.Errorf("%s: user %d may not write in %s; make that folder writable or name another file: %w",
			path, os.Geteuid(), dir, err)
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENXIO):
		return fmt.Errorf("%s-lock is a symbolic link or no file: remove it: %w", path, err)
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return fmt.Errorf("%s: no space left in %s; free some: %w", path, dir, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}
