package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/problem"
)

// rejection is the document of a query that is not passed on.
type rejection struct {
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

// elasticError is what clients of Elasticsearch look for in an answer.
type elasticError struct {
	RootCause []elasticCause `json:"root_cause"`
	elasticCause
}

type elasticCause struct {
	Type   string `json:"type"`
	Reason string `json:"reason"`
}

// graphqlError is what clients of GraphQL look for.
type graphqlError struct {
	Message string `json:"message"`
}

// rejected answers a query that costs too much.
func (j *job) rejected(v *guard.Verdict) {
	detail := "The query is beyond the limits."
	if len(v.Findings) > 0 {
		f := v.Findings[0]
		j.rec.Rule = "guard:" + f.Predictor
		if detail = f.String(); f.Detail != "" {
			detail += " (" + f.Detail + ")"
		}
	}
	j.reject(problem.Document{Type: "query-rejected", Status: http.StatusBadRequest, Detail: detail}, v)
}

// unseen answers a query that is too long to be looked at.
func (j *job) unseen(status int, detail string) {
	j.rec.Rule = "guard:body_bytes"
	j.reject(problem.Document{Type: "query-rejected", Status: status, Detail: detail}, &guard.Verdict{})
}

func (j *job) reject(p problem.Document, v *guard.Verdict) {
	p.Type, p.Title, p.Instance = problem.Prefix+p.Type, http.StatusText(p.Status), j.id
	doc := rejection{Document: p, Rule: j.rec.Rule, Findings: v.Findings, Class: v.Class, Version: v.Version, Override: v.Override}
	if v.HintsAge > 0 {
		doc.Hints = v.HintsAge.Round(time.Second).String()
	}
	if doc.Findings == nil {
		doc.Findings = []guard.Finding{}
	}
	extra := []h1.Field{{Name: GuardField, Value: "reject"}}
	if p.Status == http.StatusServiceUnavailable {
		extra = append(extra, retryAfter(time.Second))
	}
	switch k := j.route.Guard.Kind; k {
	case guard.Elasticsearch, guard.OpenSearch:
		cause := elasticCause{Type: "bezoar_query_rejected_exception", Reason: p.Detail}
		doc.Error = &elasticError{RootCause: []elasticCause{cause}, elasticCause: cause}
		if k == guard.Elasticsearch {
			extra = append(extra, h1.Field{Name: "X-Elastic-Product", Value: "Elasticsearch"})
		}
	case guard.GraphQL:
		doc.Errors = []graphqlError{{Message: p.Detail}}
	case guard.SQL, guard.Regex: // have no clients of their own
	}
	body, err := json.Marshal(doc)
	if err != nil { // strings and numbers always encode
		j.from.Abort()
		return
	}
	j.document(p.Status, rejectionType(j.route.Guard.Kind, j.req.Get("Accept")), append(body, '\n'), j.admission.QuotaFields(extra))
}

// rejectionType is the type of a rejection. Clients of backends that have such
// look for an error in the types of those only.
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
