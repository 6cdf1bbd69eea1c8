package gateway

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
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

// grpcDetails returns a google.rpc.Status for its field, with the same code and message, an ErrorInfo that names the rule, and
// a RetryInfo if a field says when to try again. Clients of gRPC read these messages by their types.
func grpcDetails(code int, message string, p *problem.Document, id string, fields []h1.Field) string {
	reason := p.Rule
	if reason == "" {
		reason = strings.TrimPrefix(p.Type, problem.Prefix)
	}
	var info []byte // reason = 1, domain = 2, metadata = 3
	info = appendText(info, 1, strings.ToUpper(strings.NewReplacer("-", "_", " ", "_").Replace(reason)))
	info = appendText(info, 2, "bezoar")
	for _, m := range [...][2]string{{"request", id}, {"quarantine", p.ID}, {"scope", p.Scope}, {"cause", p.Cause}, {"until", p.Until}} {
		if m[1] != "" {
			info = appendText(info, 3, string(appendText(appendText(nil, 1, m[0]), 2, m[1])))
		}
	}
	status := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(code)) //nolint:gosec // one of the codes above
	status = appendText(status, 2, message)
	status = appendText(status, 3, string(anyOf("google.rpc.ErrorInfo", info)))
	for i := range fields {
		if seconds, err := strconv.ParseUint(fields[i].Value, 10, 32); err == nil && h1.Fold(fields[i].Name, "retry-after") {
			delay := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), seconds)
			status = appendText(status, 3, string(anyOf("google.rpc.RetryInfo", appendText(nil, 1, string(delay)))))
		}
	}
	return base64.RawStdEncoding.EncodeToString(status)
}

// anyOf returns a google.protobuf.Any.
func anyOf(kind string, message []byte) []byte {
	return appendText(appendText(nil, 1, "type.googleapis.com/"+kind), 2, string(message))
}

// appendText appends a field of text, bytes or a message.
func appendText(b []byte, number protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), text)
}
