package adminapi

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/bezoar-dev/bezoar/internal/control/config"
)

// ProblemType is the media type of all error responses.
const ProblemType = "application/problem+json"

// Codes of a [Problem]. They are stable and more specific than the status.
const (
	CodeInvalid       = "invalid"        // 400: the request is invalid
	CodeUnauthorized  = "unauthorized"   // 401: no token, or a wrong one
	CodeForbidden     = "forbidden"      // 403: the address, Origin or Host is not allowed
	CodeNotFound      = "not-found"      // 404
	CodeConflict      = "conflict"       // 409: the state has changed in the meantime
	CodeTooLarge      = "too-large"      // 413
	CodeNotReplayable = "not-replayable" // 422: the letter's body was not kept completely
	CodeUnavailable   = "unavailable"    // 503: no worker is available, or the process is shutting down
	CodeTimeout       = "timeout"        // 504
	CodeInternal      = "internal"       // 500
)

// Problem is the application/problem+json document (RFC 9457) of all error responses, and
// the error that a [Client] returns for it.
type Problem struct {
	Type   string `json:"type"` // "about:blank"
	Title  string `json:"title"`
	Status int    `json:"status"`
	Code   string `json:"code"`             // a stable code
	Detail string `json:"detail,omitempty"` // description of the error, for display

	Faults []config.Fault `json:"faults,omitempty"` // faults of invalid settings
	More   int            `json:"more,omitempty"`   // number of further faults
}

// NewProblem returns a Problem with the title of the status.
func NewProblem(status int, code, detail string) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Detail: detail}
}

// Error returns the server's reason.
func (p *Problem) Error() string {
	if p.Detail != "" {
		return p.Detail
	}
	return fmt.Sprintf("the admin API answers %d %s", p.Status, p.Code)
}

// Write sends p as the response.
func (p *Problem) Write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", ProblemType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	// The client may have disconnected; the error can be ignored.
	_ = json.NewEncoder(w).Encode(p)
}

// problemFrom parses the problem document of a failed response. A proxy's response about an
// unreachable Bezoar is converted to a problem too. ok is false for a response of another
// server.
func problemFrom(status int, contentType string, body []byte) (p *Problem, ok bool) {
	p = &Problem{}
	if contentType == ProblemType && json.Unmarshal(body, p) == nil && p.Status == status {
		return p, true
	}
	switch status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return NewProblem(status, codeOf(status), fmt.Sprintf("a proxy in between answers %d %s", status, http.StatusText(status))), true
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge:
		return NewProblem(status, codeOf(status), fmt.Sprintf("a proxy in between refuses the request: %d %s", status, http.StatusText(status))), true
	}
	return nil, false
}

func codeOf(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return CodeUnauthorized
	case http.StatusForbidden:
		return CodeForbidden
	case http.StatusRequestEntityTooLarge:
		return CodeTooLarge
	case http.StatusGatewayTimeout:
		return CodeTimeout
	}
	return CodeUnavailable
}
