package gateway

import (
	"time"

	"github.com/bezoar-dev/bezoar/dispatch"
)

// Trace is the identity of a span in a distributed trace, as in the traceparent
// field of W3C Trace Context. The zero value is none.
type Trace struct {
	ID    [16]byte
	Span  [8]byte
	Flags byte // bit 0: sampled
}

// IsZero reports whether t is no trace.
func (t Trace) IsZero() bool { return t == Trace{} }

// Tracer makes spans. The gateway calls Start and End in pairs: once around the
// request, and within it once around every attempt. Calls for one request come
// one after another, those for different requests at once.
type Tracer interface {
	// Start returns the new span, whose parent is a.Parent if that is not zero.
	// A span of an attempt is told to the worker in traceparent.
	Start(a *Span) Trace
	// End ends the span that Start has returned, which is in a.Self.
	End(a *Span)
}

// Span is one request or attempt on its way. It and its strings are only valid
// during the call.
type Span struct {
	Parent    Trace // of the caller for a request, of the request for an attempt
	Self      Trace // what Start has returned
	State     any   // the tracer's own, kept from Start to End
	Began     time.Time
	Route     string
	Method    string
	Path      string // without the query
	RequestID string

	Attempt int    // from 1; 0 for the request as a whole
	Worker  string // of an attempt
	Lane    bool   // of an attempt

	// Known at the End.
	Status int
	Fault  dispatch.Fault // of an attempt
	Err    error          // of an attempt
}
