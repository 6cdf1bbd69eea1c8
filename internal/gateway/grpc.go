package gateway

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/problem"
)

// Callers of gRPC look at a status in the trailers and at nothing else. What the
// gateway answers itself they get in this form: a head alone, which says all.

// isGRPC reports whether the request is a call of gRPC.
func (j *job) isGRPC() bool {
	const kind = "application/grpc"
	got := j.first(h1.ContentType)
	return len(got) >= len(kind) && strings.EqualFold(got[:len(kind)], kind) &&
		(len(got) == len(kind) || got[len(kind)] == '+' || got[len(kind)] == ';')
}

// The status codes of gRPC that the gateway answers with.
const (
	grpcUnknown          = 2
	grpcInvalid          = 3
	grpcDeadlineExceeded = 4
	grpcPermissionDenied = 7
	grpcExhausted        = 8
	grpcUnimplemented    = 12
	grpcInternal         = 13
	grpcUnavailable      = 14
	grpcUnauthenticated  = 16
)

// grpcStatus returns the code for a status of HTTP.
func grpcStatus(status int, kind string) int {
	if kind == problem.Prefix+"deadline" {
		return grpcDeadlineExceeded
	}
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return grpcUnavailable
	case http.StatusBadRequest:
		return grpcInvalid
	case http.StatusUnauthorized:
		return grpcUnauthenticated
	case http.StatusForbidden:
		return grpcPermissionDenied
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return grpcUnimplemented
	case http.StatusRequestEntityTooLarge, http.StatusRequestHeaderFieldsTooLarge:
		return grpcExhausted
	}
	if status >= http.StatusInternalServerError {
		return grpcInternal
	}
	return grpcUnknown
}

// grpcDocument answers a call of gRPC with what would be a document: its code, and
// its text as the message.
func (j *job) grpcDocument(status int, body []byte, extra []h1.Field) {
	var p problem.Document // and its like
	message := strings.TrimSpace(string(body))
	if json.Unmarshal(body, &p) == nil && p.Detail != "" {
		message = p.Detail
		for _, more := range [...]string{p.Reason, p.Rule} {
			if more != "" {
				message += " (" + more + ")"
			}
		}
	}
	fields := append(j.resp.Fields[:0],
		h1.Field{Name: "Content-Type", Value: "application/grpc", Key: h1.ContentType},
		h1.Field{Name: "Grpc-Status", Value: strconv.Itoa(grpcStatus(status, p.Type))},
		h1.Field{Name: "Grpc-Message", Value: grpcMessage(message)},
		h1.Field{Name: "X-Request-Id", Value: j.id, Key: h1.RequestID},
	)
	j.resp = h1.Head{Status: http.StatusOK, Reason: http.StatusText(http.StatusOK), Fields: append(fields, extra...), Length: 0}
	if j.from.Begin(&j.resp) != nil || j.from.End(nil) != nil {
		j.from.Abort()
	}
}

// grpcMessage encodes a message for its field: printable ASCII stays, apart from %.
func grpcMessage(s string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c < 0x7f && c != '%' {
			b.WriteByte(c)
			continue
		}
		b.Write([]byte{'%', digits[c>>4], digits[c&15]})
	}
	return b.String()
}
