package gateway

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/overload"
)

// The rules that end a stream, as in [accesslog.Record].
const (
	RuleStreamIdle  = "stream_idle"
	RuleStreamTotal = "stream_total"
)

// errStreamOver ends a stream that has used up its time. Nobody is to blame, as when its caller leaves.
var errStreamOver = fmt.Errorf("%w: the time of the stream is over", errGone)

// begin records that the head has come.
func (w *wait) begin(now time.Time) {
	w.begun, w.head, w.long = true, now, now.Add(overload.DefaultLong)
}

// ends returns when a stream must end if nothing moves, and by which rule; zero for never.
func (r *Route) ends(began, moved time.Time) (at time.Time, rule string) {
	if r.StreamIdle > 0 {
		at, rule = moved.Add(r.StreamIdle), RuleStreamIdle
	}
	if end := began.Add(r.StreamTotal); r.StreamTotal > 0 && (at.IsZero() || end.Before(at)) {
		at, rule = end, RuleStreamTotal
	}
	return at, rule
}

// streamEnds is the last part of Wait: it returns next, or an earlier time, or the end of the stream.
func (j *job) streamEnds(since, now, next time.Time) (time.Time, error) {
	if u := j.up; u != nil {
		if t := time.Unix(0, u.moved.Load()); t.After(since) {
			since = t // of the other direction
		}
	}
	switch at, rule := j.route.ends(j.wait.head, since); {
	case at.IsZero():
	case !now.Before(at):
		j.rec.Rule = rule
		return time.Time{}, errStreamOver
	case at.Before(next):
		next = at
	}
	return next, nil
}

// tunnelEnd ends a tunnel in which nothing has moved for too long, or that has gone on for too long.
type tunnelEnd struct {
	route *Route
	began time.Time
	moved atomic.Int64           // Unix nanoseconds
	rule  atomic.Pointer[string] // the rule that has ended it; nil: none
	end   func()

	mu    sync.Mutex  // guards timer
	timer *time.Timer // nil: no bounds
}

// watch starts to watch a tunnel. It calls end at its end.
func (t *tunnelEnd) watch(r *Route, end func()) {
	now := time.Now()
	t.route, t.began, t.end = r, now, end
	t.move(now)
	if at, _ := r.ends(now, now); !at.IsZero() {
		t.mu.Lock() // look may run before there is a timer
		defer t.mu.Unlock()
		t.timer = time.AfterFunc(time.Until(at), t.look)
	}
}

func (t *tunnelEnd) move(now time.Time) { t.moved.Store(now.UnixNano()) }

func (t *tunnelEnd) look() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer == nil {
		return // stopped
	}
	now := time.Now()
	at, rule := t.route.ends(t.began, time.Unix(0, t.moved.Load()))
	if now.Before(at) {
		t.timer.Reset(at.Sub(now))
		return
	}
	t.rule.Store(&rule)
	t.end()
}

// stop ends the watch and returns the rule that has ended the tunnel, or "".
func (t *tunnelEnd) stop() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	if rule := t.rule.Load(); rule != nil {
		return *rule
	}
	return ""
}
