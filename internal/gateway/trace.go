package gateway

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// Tracer makes spans. The gateway calls Start and End in pairs: once around the
// request, and within it once around every attempt. Calls for one request come
// one after another, those for different requests at once.
type Tracer interface {
	// Start returns the new span, whose parent is s.Parent if that is not zero.
	// A span of an attempt is told to the worker in traceparent. Zero means
	// that there is none: the parent is told.
	Start(s *Span) Trace
	// End ends the span that Start has returned, which is in s.Self.
	End(s *Span)
}

// Span is one request or attempt on its way. It and its strings are only valid
// during the call.
type Span struct {
	Parent    Trace // of the caller for a request, of the request for an attempt
	Self      Trace // what Start has returned
	State     any   // the tracer's own, kept from Start to End
	Began     time.Time
	Route     string // of an attempt, and of a request at its End
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

// spans are those of one request. They are not kept with the job: without a
// Tracer there are none.
type spans struct {
	request, attempt Span
}

// trace reads the caller's traceparent, and begins the request's span.
func (j *job) trace(now time.Time) {
	text, parent := j.traceparent()
	j.traced = text != ""
	if j.traced {
		j.rec.TraceID, j.rec.SpanID = text[3:35], text[36:52]
	}
	tracer := j.s.cfg.Trace
	if tracer == nil {
		return
	}
	s := &spans{request: Span{
		Parent: parent, Began: now, Method: j.req.Method, Path: j.req.Path, RequestID: j.id,
	}}
	s.request.Self = tracer.Start(&s.request)
	if s.request.Self.IsZero() {
		s.request.Self = parent
	}
	if t := s.request.Self; !t.IsZero() {
		j.rec.TraceID, j.rec.SpanID = hex.EncodeToString(t.ID[:]), hex.EncodeToString(t.Span[:])
	}
	j.spans = s
}

// traceparent returns the caller's, as text too; "" when it has none, an invalid
// one, or two.
func (j *job) traceparent() (text string, t Trace) {
	n := 0
	for i := range j.req.Fields {
		if f := &j.req.Fields[i]; f.Key == h1.TraceParent {
			text = f.Value
			n++
		}
	}
	t, ok := ParseTrace(text)
	if !ok || n > 1 {
		return "", Trace{}
	}
	return text, t
}

// endTrace ends the request's span.
func (j *job) endTrace() {
	s := &j.spans.request
	s.Route, s.Status = j.rec.Route, j.rec.Status
	j.s.cfg.Trace.End(s)
}

// Send delivers the request once, over what Connect readied.
func (j *job) Send(ctx context.Context, t *dispatch.Target) dispatch.Result {
	j.rec.Worker, j.rec.Lane = t.Worker.Name(), t.Lane
	var res dispatch.Result
	if j.spans == nil {
		res = j.deliver(ctx, t, Trace{})
	} else {
		res = j.deliverTraced(ctx, t)
	}
	if res.Fault != dispatch.Unsent && res.Fault != dispatch.Unfit {
		j.rec.Attempts++
	}
	return res
}

func (j *job) deliverTraced(ctx context.Context, t *dispatch.Target) dispatch.Result {
	r, tracer := &j.spans.request, j.s.cfg.Trace
	s := &j.spans.attempt
	*s = Span{
		Parent: r.Self, Began: time.Now(), Route: j.route.Name, Method: r.Method, Path: r.Path, RequestID: r.RequestID,
		Attempt: max(t.Attempt, 1), Worker: t.Worker.Name(), Lane: t.Lane,
	}
	s.Self = tracer.Start(s)
	if s.Self.IsZero() {
		s.Self = s.Parent
	}
	res := j.deliver(ctx, t, s.Self)
	s.Status, s.Fault, s.Err = res.Status, res.Fault, res.Err
	tracer.End(s)
	return res
}
