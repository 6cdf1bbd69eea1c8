// Package problem defines the documents in which Bezoar says over HTTP why it does not serve a request.
package problem

// Document is the body of an answer that the gateway makes (RFC 9457). [Prefix] is added to Type.
type Document struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail,omitempty"`
	Instance string `json:"instance,omitempty"` // the request's id
	ID       string `json:"id,omitempty"`       // of the quarantine
	Scope    string `json:"scope,omitempty"`    // what it covers
	Cause    string `json:"cause,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Until    string `json:"until,omitempty"`
	Rule     string `json:"rule,omitempty"` // that refuses
}

// Prefix begins the type of every problem document of the gateway.
const Prefix = "urn:bezoar:problem:"
