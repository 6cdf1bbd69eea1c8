package guardfront

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/problem"
)

// document is the body of the answer to a rejected query.
type document struct {
	problem.Document
	Rule     string          `json:"rule"`
	Findings []guard.Finding `json:"findings"`
	Class    string          `json:"class,omitempty"`
	Version  int64           `json:"version"`            // of the limits
	Override string          `json:"override,omitempty"` // ids of what operators changed for a while
	Hints    string          `json:"hints_age,omitempty"`
	Error    *elasticError   `json:"error,omitempty"`
	Errors   []graphqlError  `json:"errors,omitempty"`
}

// elasticError is the form of error that clients of Elasticsearch expect.
type elasticError struct {
	RootCause []elasticCause `json:"root_cause"`
	elasticCause
}

type elasticCause struct {
	Type   string `json:"type"`
	Reason string `json:"reason"`
}

// graphqlError is the form of error that clients of GraphQL expect.
type graphqlError struct {
	Message string `json:"message"`
}

// Rejection is the answer to a rejected query.
type Rejection struct {
	Rule   string // for the record of the request
	Status int
	Type   string // of Body
	Body   []byte // nil: none
	Fields []h1.Field
	Close  bool // the caller may still be sending
}

// rejected answers a query that costs too much.
func (g *Guard) rejected(r *Request, v *guard.Verdict) *Rejection {
	rule, detail := "", "The query exceeds the limits."
	if len(v.Findings) > 0 {
		f := v.Findings[0]
		rule = "guard:" + f.Predictor
		if detail = f.String(); f.Detail != "" {
			detail += " (" + f.Detail + ")"
		}
	}
	return g.reject(r, rule, problem.Document{Type: "query-rejected", Status: http.StatusBadRequest, Detail: detail}, v)
}

// unseen answers a query that is too long to be checked.
func (g *Guard) unseen(r *Request, status int, detail string) *Rejection {
	return g.reject(r, "guard:body_bytes", problem.Document{Type: "query-rejected", Status: status, Detail: detail}, &guard.Verdict{})
}

func (g *Guard) reject(r *Request, rule string, p problem.Document, v *guard.Verdict) *Rejection {
	p.Type, p.Title, p.Instance = problem.Prefix+p.Type, http.StatusText(p.Status), r.ID
	doc := document{Document: p, Rule: rule, Findings: v.Findings, Class: v.Class, Version: v.Version, Override: v.Override}
	if v.HintsAge > 0 {
		doc.Hints = v.HintsAge.Round(time.Second).String()
	}
	if doc.Findings == nil {
		doc.Findings = []guard.Finding{}
	}
	out := &Rejection{Rule: rule, Status: p.Status, Type: rejectionType(g.Kind, r.Head.Get("Accept")), Fields: []h1.Field{{Name: Field, Value: "reject"}}}
	if p.Status == http.StatusServiceUnavailable {
		out.Fields = append(out.Fields, h1.Field{Name: "Retry-After", Value: "1"})
	}
	switch g.Kind {
	case guard.Elasticsearch, guard.OpenSearch:
		cause := elasticCause{Type: "bezoar_query_rejected_exception", Reason: p.Detail}
		doc.Error = &elasticError{RootCause: []elasticCause{cause}, elasticCause: cause}
		if g.Kind == guard.Elasticsearch {
			out.Fields = append(out.Fields, h1.Field{Name: "X-Elastic-Product", Value: "Elasticsearch"})
		}
	case guard.GraphQL:
		doc.Errors = []graphqlError{{Message: p.Detail}}
	case guard.SQL, guard.Regex: // these have no special clients
	}
	if body, err := json.Marshal(doc); err == nil { // strings and numbers always encode
		out.Body = append(body, '\n')
	}
	return out
}

// rejectionType returns the media type of a rejection. Clients of some backends look for errors only in these types.
func rejectionType(kind guard.Kind, accept string) string {
	const usual, elastic, graphql = "application/problem+json", "application/vnd.elasticsearch+json", "application/graphql-response+json"
	backend := kind == guard.Elasticsearch || kind == guard.OpenSearch
	switch {
	case backend && strings.HasPrefix(accept, elastic):
		if _, version, ok := strings.Cut(accept, "compatible-with="); ok && len(version) == 1 && version[0] >= '0' && version[0] <= '9' {
			return elastic + ";compatible-with=" + version
		}
		return elastic + ";compatible-with=8"
	case kind == guard.GraphQL && strings.Contains(accept, graphql):
		return graphql
	case (backend || kind == guard.GraphQL) && !strings.Contains(accept, usual):
		return "application/json"
	}
	return usual
}
