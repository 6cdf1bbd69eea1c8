package gateway

import (
	"net/http"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/gateway/problem"
)

// Callers of gRPC read the status only from the trailers. So the gateway's own answers to them are a head alone, with the
// status in it.

// These are the gRPC status codes of the gateway's answers.
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

// grpcStatus returns the code for an HTTP status.
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

// grpcMessage encodes a message for its field: printable ASCII stays, except %.
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
