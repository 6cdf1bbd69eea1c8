package gateway

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/accesslog"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/span"
)

// spans are the spans of one request. They are not part of the job, because without a Tracer there are none.
type spans struct {
	request, attempt span.Span
}

// tracing is the state of a request's distributed tracing.
type tracing struct {
	valid bool   // the caller has a valid traceparent
	spans *spans // nil: no Tracer
}

// begin reads the caller's traceparent, and begins the request's span. A nil tracer makes no span.
func (t *tracing) begin(now time.Time, tracer span.Tracer, x *exchange, rec *accesslog.Record) {
	text, parent := traceparent(x.req.Fields)
	t.valid = text != ""
	if t.valid {
		rec.TraceID, rec.SpanID = text[3:35], text[36:52]
	}
	if tracer == nil {
		return
	}
	s := &spans{request: span.Span{
		Parent: parent, Began: now, Method: x.req.Method, Path: x.req.Path, RequestID: x.id,
	}}
	s.request.Self = tracer.Start(&s.request)
	if s.request.Self.IsZero() {
		s.request.Self = parent
	}
	if self := s.request.Self; !self.IsZero() {
		rec.TraceID, rec.SpanID = hex.EncodeToString(self.ID[:]), hex.EncodeToString(self.Span[:])
	}
	t.spans = s
}

// traceparent returns the caller's traceparent, also as text; "" if there is none, an invalid one, or two.
func traceparent(fields []h1.Field) (text string, t span.Trace) {
	n := 0
	for i := range fields {
		if f := &fields[i]; f.Key == h1.TraceParent {
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

// end ends the request's span.
func (t *tracing) end(tracer span.Tracer, rec *accesslog.Record) {
	s := &t.spans.request
	s.Route, s.Status = rec.Route, rec.Status
	tracer.End(s)
}

// Send delivers the request once, over the connection from Connect.
func (j *job) Send(ctx context.Context, t *dispatch.Target) dispatch.Result {
	j.rec.Worker, j.rec.Lane = t.Worker.Name(), t.Lane
	var res dispatch.Result
	if j.tracing.spans == nil {
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
	r, tracer := &j.tracing.spans.request, j.s.cfg.Trace
	s := &j.tracing.spans.attempt
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
