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
	whole := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: heldByte, Len: 1}
	for {
		switch err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &whole); {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
			return fmt.Errorf("%s is %w, whose lock file was deleted: stop that one, or give this one another file", path, ErrInUse)
		case err == nil, errors.Is(err, unix.EINVAL): // a file system without such locks
			return nil
		default:
			return fmt.Errorf("lock %s: %w", path, err)
		}
	}
}
