package worker

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/queue"
)

// lease keeps a delivery its worker's own. It is extended while the message runs
// and is reported; when that fails for too long, what runs is stopped, as
// somebody else may have the message by then.
type lease struct {
	w       *Worker
	m       Message
	began   time.Time    // before the receive was sent
	until   atomic.Int64 // Unix nanoseconds
	lose    context.CancelCauseFunc
	stop    context.CancelFunc
	ended   chan struct{}
	closing atomic.Bool // it is being reported: that the queue knows it no more is good news

	extending sync.Mutex // guards all below; held while it is extended
	span      time.Duration
}

// hold begins to keep the lease of a message. lose is called when it is lost. Of
// a receive that waited nobody knows when the lease began: for certain it is only
// what would be left if that had been at once, and that is at least half of it.
func (w *Worker) hold(ctx context.Context, m Message, began time.Time, lose context.CancelCauseFunc) *lease {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	l := &lease{w: w, m: m, began: began, lose: lose, stop: stop, ended: make(chan struct{}), span: w.cfg.Visibility}
	l.until.Store(began.Add(w.cfg.Visibility).UnixNano())
	go l.keep(ctx)
	return l
}

// end is when it ends, as far as our clock knows.
func (l *lease) end() time.Time { return time.Unix(0, l.until.Load()) }

// release ends it. No call of it is under way afterwards.
func (l *lease) release() {
	l.stop()
	<-l.ended
}

func (l *lease) keep(ctx context.Context) {
	defer close(l.ended)
	beat := time.NewTimer(min(l.w.cfg.Heartbeat, time.Until(l.end())/2))
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.m.Lost:
			l.gone(ErrLost)
			return
		case <-beat.C:
		}
		next, ok := l.extend(ctx)
		if !ok {
			return
		}
		beat.Reset(next)
	}
}

// lengthen makes each extension so long, and extends it now: so long the message
// stays away if this process dies.
func (l *lease) lengthen(ctx context.Context, span time.Duration) {
	l.extending.Lock()
	l.span = max(l.span, span)
	l.extending.Unlock()
	l.extend(ctx)
}

// extend makes the lease longer. It returns when to do so again, and false when
// there is nothing to be done any more.
func (l *lease) extend(ctx context.Context) (next time.Duration, ok bool) {
	l.extending.Lock()
	defer l.extending.Unlock()
	now := time.Now()
	most := l.began.Add(queue.MaxVisibility - time.Second).Sub(now) // in all, since the receive
	want := min(l.span, most).Truncate(time.Second)
	if now.Add(want).Before(l.end()) {
		return max(l.end().Sub(now), time.Second), l.check(now, errors.New("it has been held for 12 hours, which is the most"))
	}
	call, cancel := context.WithDeadline(ctx, l.end())
	err := l.w.cfg.Source.Extend(call, l.m, want)
	cancel()
	switch {
	case err == nil:
		l.until.Store(now.Add(want).UnixNano())
		return l.w.cfg.Heartbeat, true
	case ctx.Err() != nil:
		return 0, false
	case errors.Is(err, ErrLost):
		return 0, l.gone(err)
	}
	l.w.cfg.Log.Warn("cannot extend a lease", "message", l.m.ID, "left", time.Until(l.end()).Round(time.Millisecond), "err", err)
	return min(l.w.cfg.Heartbeat/4, max(time.Until(l.end()), time.Millisecond)), l.check(time.Now(), err)
}

// check reports whether the lease still holds, as far as our clock knows.
func (l *lease) check(now time.Time, why error) bool {
	if now.Before(l.end()) {
		return true
	}
	return l.gone(why)
}

func (l *lease) gone(why error) bool {
	if l.closing.Load() {
		return false
	}
	l.w.cfg.Log.Warn("a lease is lost: its message is stopped", "queue", l.w.about.Queue, "message", l.m.ID, "err", why)
	l.lose(errLost)
	return false
}
