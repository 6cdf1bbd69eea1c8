//go:build unix

package statefile

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// TryLock takes the lock of a file if nobody has it. The lock ends with the process.
func TryLock(f *os.File) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		}
		return err == nil, err
	}
}

// lockPoll is the interval of attempts to get a lock.
const lockPoll = 10 * time.Millisecond

// Lock is TryLock that waits a while: if a child was just being forked when its parent was killed, the child has the lock
// until it begins or dies.
func Lock(f *os.File, wait time.Duration) (bool, error) {
	for end := time.Now().Add(wait); ; time.Sleep(lockPoll) {
		taken, err := TryLock(f)
		if taken || err != nil || time.Now().After(end) {
			return taken, err
		}
	}
}

// Unlock releases the lock of a file at once, even if a child process that is being started has the file, too.
func Unlock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }
