package statefile

import (
	"os"
	"time"
)

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
