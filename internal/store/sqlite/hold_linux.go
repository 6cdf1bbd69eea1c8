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
	whole := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: heldByte, Len: 1}
	for {
		switch err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &whole); {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
			return fmt.Errorf("%s is %w, whose lock file was deleted: stop that process, or use another file", path, ErrInUse)
		case err == nil, errors.Is(err, unix.EINVAL): // the file system has no such locks
			return nil
		default:
			return fmt.Errorf("lock %s: %w", path, err)
		}
	}
}
