package adminapi

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/bezoar-dev/bezoar/internal/control/config"
)

// ProblemType is the media type of every refusal.
const ProblemType = "application/problem+json"

// The codes of a [Problem]. They are stable and say more than the status.
const (
	CodeInvalid       = "invalid"        // 400: the request makes no sense
	CodeUnauthorized  = "unauthorized"   // 401: no token, or a wrong one
	CodeForbidden     = "forbidden"      // 403: not from there, or not with that Origin or Host
	CodeNotFound      = "not-found"      // 404
	CodeConflict      = "conflict"       // 409: the state has moved on
	CodeTooLarge      = "too-large"      // 413
	CodeNotReplayable = "not-replayable" // 422: the letter's body was not kept whole
	CodeUnavailable   = "unavailable"    // 503: no worker, or draining
	CodeTimeout       = "timeout"        // 504
	CodeInternal      = "internal"       // 500
)

// Problem is the application/problem+json document (RFC 9457) that every
// refusal carries, and the error that a [Client] returns for it.
type Problem struct {
	Type   string `json:"type"` // "about:blank"
	Title  string `json:"title"`
	Status int    `json:"status"`
	Code   string `json:"code"`             // one of the codes above
	Detail string `json:"detail,omitempty"` // what was wrong with this request, for people

	Faults []config.Fault `json:"faults,omitempty"` // of settings that are invalid
	More   int            `json:"more,omitempty"`   // faults beyond those listed
}

// NewProblem makes a Problem with the title that belongs to status.
func NewProblem(status int, code, detail string) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Detail: detail}
}

// Error says why the server refused.
func (p *Problem) Error() string {
	if p.Detail != "" {
		return p.Detail
	}
	return fmt.Sprintf("the admin API answers %d %s", p.Status, p.Code)
}

// Write sends p as the whole answer.
func (p *Problem) Write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", ProblemType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	// The caller may be gone; there is nobody left to tell.
	_ = json.NewEncoder(w).Encode(p)
}

// problemFrom reads the refusal in a failed answer. What a proxy says of a Bezoar that
// it cannot reach becomes one as well. ok is false for the answer of another server.
func problemFrom(status int, contentType string, body []byte) (p *Problem, ok bool) {
	p = &Problem{}
	if contentType == ProblemType && json.Unmarshal(body, p) == nil && p.Status == status {
		return p, true
	}
	switch status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return NewProblem(status, codeOf(status), fmt.Sprintf("a proxy in between answers %d %s", status, http.StatusText(status))), true
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge:
		return NewProblem(status, codeOf(status), fmt.Sprintf("what is in between refuses it: %d %s", status, http.StatusText(status))), true
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
