package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// heldByte is the byte of the database file that its owner locks. It is far beyond the
// bytes that SQLite locks, and beyond any file size.
const heldByte = 1<<62 - 1

// hold locks the database file itself, because the lock file may have been deleted; the
// next process would then create its own.
func hold(path string, f *os.File) error {
	switch err := setHeld(f, unix.F_WRLCK); {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
		return fmt.Errorf("%s is %w, whose lock file was deleted: stop that process, or use another file", path, ErrInUse)
	case err != nil:
		return fmt.Errorf("lock %s: %w", path, err)
	}
	return nil
}

// release removes the lock that hold took.
func release(f *os.File) error { return setHeld(f, unix.F_UNLCK) }

// setHeld locks or unlocks heldByte. It does nothing on a file system without byte-range
// locks.
func setHeld(f *os.File, how int16) error {
	held := unix.Flock_t{Type: how, Whence: io.SeekStart, Start: heldByte, Len: 1}
	for {
		err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &held)
		if errors.Is(err, unix.EINVAL) {
			return nil
		}
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
