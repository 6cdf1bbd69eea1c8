package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// heldByte of the database is locked by its owner. It is far beyond the bytes that
// SQLite locks, and beyond any file.
const heldByte = 1<<62 - 1

// hold locks the database itself: somebody may have deleted the lock file, and then
// the next process has one of its own.
func hold(path string, f *os.File) error {
	switch err := setHeld(f, unix.F_WRLCK); {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
		return fmt.Errorf("%s is %w, whose lock file was deleted: stop that one, or give this one another file", path, ErrInUse)
	case err != nil:
		return fmt.Errorf("lock %s: %w", path, err)
	}
	return nil
}

// release undoes hold.
func release(f *os.File) error { return setHeld(f, unix.F_UNLCK) }

// setHeld locks or unlocks heldByte. It does nothing on a file system without such
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
