//go:build unix

package facts

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile waits for its turn among the processes that have the file open.
func lockFile(f *os.File) error {
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != unix.EINTR {
			return err
		}
	}
}

func unlockFile(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }
