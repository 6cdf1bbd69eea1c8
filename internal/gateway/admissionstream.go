package gateway

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/policy/breaker"
)

// A stream is an answer that goes on after its worker has done what was asked:
// another protocol, events, or whatever goes on for long. It says nothing about
// how busy or how well the workers are, so it leaves the pool's count, and the
// breaker takes it for no result.

// eventStream is the media type of what a browser's EventSource reads.
const eventStream = "text/event-stream"

// asksForStream reports whether the caller wants a stream and nothing else, as far
// as a request says so.
func asksForStream(upgrade, accept string) bool {
	return upgrade != "" || mediaType(accept) == eventStream
}

// isStream reports whether the answer is a stream, as far as its head says so.
func isStream(status int, contentType string) bool {
	return status == 101 || status >= 200 && status < 300 && mediaType(contentType) == eventStream
}

// mediaType returns what a field says before its parameters.
func mediaType(field string) string {
	if len(field) < len(eventStream) {
		return "" // no other type matters
	}
	name, _, _ := strings.Cut(field, ";")
	return strings.ToLower(strings.TrimSpace(name))
}

// stream takes note that the answer is a stream.
func (s *admission) stream(now time.Time) {
	if s.policy == nil || s.streaming {
		return
	}
	s.streaming = true
	if s.entered {
		s.policy.pool.Stream(now, s.pass)
	}
	if s.allowed {
		s.policy.breaker.Done(now, s.ticket, breaker.Result{Ignored: true})
		s.allowed = false
	}
}

// continues takes note that the answer has begun and is not at its end. It counts
// as a stream if it is not for long.
func (s *admission) continues() {
	if s.continuing || s.policy == nil || s.streaming || s.head.IsZero() {
		return
	}
	s.continuing = true
	if s.entered {
		s.policy.pool.Begun(s.head, s.pass)
	}
	if s.allowed && s.ticket.IsProbe() {
		s.probe = watchProbe(s.policy.breaker, s.ticket, s.policy.long)
	}
}

// wentOn reports whether the answer was a stream in the end.
func (s *admission) wentOn(now time.Time) bool {
	return s.streaming || s.continuing && now.Sub(s.head) >= s.policy.long
}

// probeWatch takes a probe back whose answer goes on for long. Others wait for it.
type probeWatch struct {
	timer *time.Timer
	told  atomic.Bool // somebody has told the breaker
}

func watchProbe(b *circuit.Breaker, t breaker.Ticket, long time.Duration) *probeWatch {
	w := &probeWatch{}
	w.timer = time.AfterFunc(long, func() {
		if w.claim() {
			b.Done(time.Now(), t, breaker.Result{Ignored: true})
		}
	})
	return w
}

// claim reports whether the caller is the one to tell the breaker. A nil watch
// has nobody else.
func (w *probeWatch) claim() bool { return w == nil || w.told.CompareAndSwap(false, true) }

// stop ends the watch.
func (w *probeWatch) stop() {
	if w != nil {
		w.timer.Stop()
	}
}
