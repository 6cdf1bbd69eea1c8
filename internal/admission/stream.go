package admission

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

// EventStream is the media type of what a browser's EventSource reads.
const EventStream = "text/event-stream"

// AsksForStream reports whether the caller wants a stream and nothing else, as far
// as a request says so.
func AsksForStream(upgrade, accept string) bool {
	return upgrade != "" || mediaType(accept) == EventStream
}

// IsStream reports whether the answer is a stream, as far as its head says so.
func IsStream(status int, contentType string) bool {
	return status == 101 || status >= 200 && status < 300 && mediaType(contentType) == EventStream
}

// mediaType returns what a field says before its parameters.
func mediaType(field string) string {
	if len(field) < len(EventStream) {
		return "" // no other type matters
	}
	name, _, _ := strings.Cut(field, ";")
	return strings.ToLower(strings.TrimSpace(name))
}

// Stream takes note that the answer is a stream.
func (s *Admission) Stream(now time.Time) {
	if s.Policy == nil || s.streaming {
		return
	}
	s.streaming = true
	if s.entered {
		s.Policy.pool.Stream(now, s.pass)
	}
	if s.allowed {
		s.Policy.breaker.Done(now, s.ticket, breaker.Result{Ignored: true})
		s.allowed = false
	}
}

// Continues takes note that the answer has begun and is not at its end. It counts
// as a stream if it is not for long.
func (s *Admission) Continues() {
	if s.continuing || s.Policy == nil || s.streaming || s.Head.IsZero() {
		return
	}
	s.continuing = true
	if s.entered {
		s.Policy.pool.Begun(s.Head, s.pass)
	}
	if s.allowed && s.ticket.IsProbe() {
		s.probe = watchProbe(s.Policy.breaker, s.ticket, s.Policy.long)
	}
}

// wentOn reports whether the answer was a stream in the end.
func (s *Admission) wentOn(now time.Time) bool {
	return s.streaming || s.continuing && now.Sub(s.Head) >= s.Policy.long
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
