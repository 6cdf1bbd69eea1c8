package tracing

import (
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/span"
)

// begun returns the attributes that are known at the start.
func begun(s *span.Span) []attribute.KeyValue {
	if s.Attempt == 0 {
		return []attribute.KeyValue{attrRequest.String(s.RequestID)}
	}
	out := []attribute.KeyValue{attrRequest.String(s.RequestID), attrWorker.String(s.Worker)}
	if s.Attempt > 1 {
		out = append(out, semconv.HTTPRequestResendCount(s.Attempt-1))
	}
	if s.Lane {
		out = append(out, attrLane.Bool(true))
	}
	return out
}

// ended returns the attributes that are known at the end.
func ended(s *span.Span) []attribute.KeyValue {
	var out []attribute.KeyValue
	if s.Status != 0 {
		out = append(out, semconv.HTTPResponseStatusCode(s.Status))
	}
	switch {
	case s.Fault != dispatch.NoFault:
		out = append(out, semconv.ErrorTypeKey.String(faultName(s.Fault)))
	case failed(s):
		out = append(out, semconv.ErrorTypeKey.String(strconv.Itoa(s.Status)))
	}
	return out
}

// failed reports whether the status is an error for this side of the span: an error of the
// caller is not an error of the server.
func failed(s *span.Span) bool {
	if s.Attempt > 0 {
		return s.Status >= 400
	}
	return s.Status >= 500
}

func status(s *span.Span) (codes.Code, string) {
	switch {
	case s.Fault != dispatch.NoFault && s.Fault != dispatch.CallerGone:
		text := ""
		if s.Err != nil {
			text = s.Err.Error()
		}
		return codes.Error, text[:min(len(text), maxText)]
	case failed(s):
		return codes.Error, "" // the status code is enough
	}
	return codes.Unset, ""
}

func faultName(f dispatch.Fault) string {
	switch f {
	case dispatch.NoFault:
		return ""
	case dispatch.Unsent:
		return "unsent"
	case dispatch.Unfit:
		return "unfit"
	case dispatch.BrokenConn:
		return "broken_connection"
	case dispatch.BadAnswer:
		return "bad_answer"
	case dispatch.OverdueHead:
		return "overdue"
	case dispatch.CallerGone:
		return "caller_gone"
	}
	return "_OTHER"
}
