package gateway

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/span"
)

// spans are those of one request. They are not kept with the job: without a
// Tracer there are none.
type spans struct {
	request, attempt span.Span
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
	s := &spans{request: span.Span{
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
func (j *job) traceparent() (text string, t span.Trace) {
	n := 0
	for i := range j.req.Fields {
		if f := &j.req.Fields[i]; f.Key == h1.TraceParent {
			text = f.Value
			n++
		}
	}
	t, ok := span.ParseTrace(text)
	if !ok || n > 1 {
		return "", span.Trace{}
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
		res = j.deliver(ctx, t, span.Trace{})
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
	*s = span.Span{
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
