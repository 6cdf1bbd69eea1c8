package facts

import (
	"errors"
	"math/rand/v2"
	"os"
	"time"

	"github.com/bezoar-dev/bezoar/internal/state/statefile"
)

const (
	firstPoll = 50 * time.Microsecond // about, between two tries, and twice as much
	lastPoll  = 2 * time.Millisecond  // each time, up to this
	briefWait = 20 * time.Millisecond // for the lock, once a wait was in vain
)

// lock is what transactions of several processes are one after another by. The
// kernel frees it when its owner ends, however it ends.
//
// Nobody waits in the kernel, which would have no bound, so nobody queues there
// either: of those that try again and again whoever has just let go would come
// first, and others might never. Therefore one of the waiters holds the file next
// while it waits for the file held, and nobody may ask for held without next.
type lock struct {
	next, held *os.File
	turn       chan struct{} // held by the one of this process that has the lock, or waits for it
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

// acquire takes the lock, and waits for it only as long as patience says, which
// it asks each time. It reports whether the lock is held.
func (l *lock) acquire(patience func() time.Duration) (bool, error) {
	began := time.Now()
	over := time.NewTimer(patience())
	defer over.Stop()
	select {
	case l.turn <- struct{}{}:
	case <-over.C:
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

// patience is how long to wait for the lock: not long again and again for a
// process that stands still.
func (s *Store) patience() time.Duration {
	if s.behind() {
		return min(briefWait, s.wait)
	}
	return s.wait
}
