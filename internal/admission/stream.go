package admission

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/policy/breaker"
)

// A stream is an answer that goes on after its worker has done its part: another protocol, events, or any long answer. It
// says nothing about the load or the health of the workers. So the pool does not count it, and the breaker ignores it.

// EventStream is the media type that a browser's EventSource reads.
const EventStream = "text/event-stream"

// AsksForStream reports whether the request's fields ask for a stream and nothing else.
func AsksForStream(upgrade, accept string) bool {
	return upgrade != "" || mediaType(accept) == EventStream
}

// IsStream reports whether the answer's head announces a stream.
func IsStream(status int, contentType string) bool {
	return status == 101 || status >= 200 && status < 300 && mediaType(contentType) == EventStream
}

// mediaType returns the part of a field before its parameters.
func mediaType(field string) string {
	if len(field) < len(EventStream) {
		return "" // no other type matters
	}
	name, _, _ := strings.Cut(field, ";")
	return strings.ToLower(strings.TrimSpace(name))
}

// Stream records that the answer is a stream.
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

// Continues records that the answer has begun and is not complete. It counts as a stream once it has taken long.
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

// wentOn reports whether the answer turned out to be a stream.
func (s *Admission) wentOn(now time.Time) bool {
	return s.streaming || s.continuing && now.Sub(s.Head) >= s.Policy.long
}

// probeWatch gives a probe back if its answer goes on for long, because other requests wait for the probe.
type probeWatch struct {
	timer *time.Timer
	told  atomic.Bool // the breaker has been told
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

// claim reports whether the caller must tell the breaker. A nil watch has no other caller.
func (w *probeWatch) claim() bool { return w == nil || w.told.CompareAndSwap(false, true) }

func (w *probeWatch) stop() {
	if w != nil {
		w.timer.Stop()
	}
}
