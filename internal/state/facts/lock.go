package facts

import (
	"errors"
	"math/rand/v2"
	"os"
	"time"

	"github.com/bezoar-dev/bezoar/internal/state/statefile"
)

const (
	firstPoll = 50 * time.Microsecond // about, between the first two tries; doubled
	lastPoll  = 2 * time.Millisecond  // each time, up to this
	briefWait = 20 * time.Millisecond // for the lock, after a wait in vain
)

// lock orders the transactions of several processes. The kernel frees it when its owner ends, however it ends.
//
// Nobody waits in the kernel, because that wait would have no bound. So the kernel keeps no queue either: among processes
// that try repeatedly, the one that has just released the lock would often win, and others might never get it. Therefore
// one of the waiters holds the file next while it waits for the file held, and nobody may try held without next.
type lock struct {
	next, held *os.File
	turn       chan struct{} // held by the goroutine of this process that has the lock, or waits for it
}

func openLock(path string) (l lock, err error) {
	l.turn = make(chan struct{}, 1)
	if l.held, err = os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return l, err
	}
	if l.next, err = os.OpenFile(path+".next", os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return l, errors.Join(err, l.held.Close())
	}
	return l, nil
}

func (l *lock) close() error { return errors.Join(l.next.Close(), l.held.Close()) }

// acquire takes the lock. It waits for it as long as patience says, which it asks each time. It reports whether the lock is
// held.
func (l *lock) acquire(patience func() time.Duration) (bool, error) {
	began := time.Now()
	select {
	case l.turn <- struct{}{}:
	case <-time.After(patience()):
		return false, nil
	}
	more := func() bool { return time.Since(began) < patience() }
	ok, err := poll(l.next, more)
	if ok {
		ok, err = poll(l.held, more)
		err = errors.Join(err, statefile.Unlock(l.next))
	}
	if err != nil && ok {
		err, ok = errors.Join(err, statefile.Unlock(l.held)), false
	}
	if !ok {
		<-l.turn
	}
	return ok, err
}

func poll(f *os.File, more func() bool) (bool, error) {
	for pause := firstPoll; ; pause = min(2*pause, lastPoll) {
		ok, err := statefile.TryLock(f)
		if ok || err != nil || !more() {
			return ok, err
		}
		time.Sleep(pause/2 + rand.N(pause))
	}
}

func (l *lock) release() error {
	err := statefile.Unlock(l.held)
	<-l.turn
	return err
}

// patience returns how long to wait for the lock. It does not wait long repeatedly for a process that is stopped.
func (s *Store) patience() time.Duration {
	if s.behind() {
		return min(briefWait, s.wait)
	}
	return s.wait
}
