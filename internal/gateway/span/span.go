package span

import (
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
)

// Tracer makes spans. The gateway calls Start and End in pairs: once around the request, and within it once around every
// attempt. Calls for one request are sequential; calls for different requests are concurrent.
type Tracer interface {
	// Start returns the new span, whose parent is s.Parent if that is not zero. The worker gets an attempt's span in
	// traceparent. Zero means that there is no span: the worker gets the parent.
	Start(s *Span) Trace
	// End ends the span that Start returned, which is in s.Self.
	End(s *Span)
}

// Span is a request or an attempt. It and its strings are only valid during the call.
type Span struct {
	Parent    Trace // of the caller for a request, of the request for an attempt
	Self      Trace // what Start returned
	State     any   // the tracer's own data, kept from Start to End
	Began     time.Time
	Route     string // of an attempt, and of a request at its End
	Method    string
	Path      string // without the query
	RequestID string

	Attempt int    // from 1; 0 for the request as a whole
	Worker  string // of an attempt
	Lane    bool   // of an attempt

	// Known at End.
	Status int
	Fault  dispatch.Fault // of an attempt
	Err    error          // of an attempt
}
