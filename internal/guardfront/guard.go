package guardfront

import (
	"fmt"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/faults"
)

// The fields by which an answer says what the guard made of its query.
const (
	Field     = "X-Bezoar-Guard"      // "report; predictor=agg_product" or "cap" or "reject"
	CapsField = "X-Bezoar-Guard-Caps" // what was lowered: "result_window 50000→10000"
)

// Guard judges the queries of a route when their bodies are there, and before a
// worker sees them. A body that is not held whole is refused: what cannot be
// looked at may be anything. Rejected ones get 400 with a problem document,
// which for the kinds Elasticsearch, OpenSearch and GraphQL has the form of their
// errors too.
type Guard struct {
	Guard   *guard.Guard
	Kind    guard.Kind
	Dialect string // of SQL and of expressions
	// Expressions says for the kind Regex where in a request they are:
	// "query:NAME", "header:NAME", "form:NAME" or "json:$.a.b", where [*] is
	// every item of a list.
	Expressions []string
	// Statement says the same for SQL that is not the whole body.
	Statement []string
	// Prefix is what paths begin with before those of Elasticsearch or OpenSearch:
	// /es. Of a query it is left out. What does not begin with it cannot be read.
	Prefix string
	// Name labels callers that do not identify themselves, as they are labelled
	// elsewhere. Nil means a hash.
	Name func(caller string) string
	// Record says which queries are kept in a file; zero: none.
	Record Record
}

// Faults returns every fault, each with its field.
func (g *Guard) Faults() []error {
	if g == nil {
		return nil
	}
	var errs faults.List
	errs.If(g.Guard == nil, "Guard.Guard is nil")
	if _, err := guard.ParseKind(string(g.Kind)); err != nil {
		errs = append(errs, fmt.Errorf("Guard.Kind: %w", err))
	}
	errs.If(g.Kind == guard.Regex && len(g.Expressions) == 0, "Guard.Expressions is empty")
	if err := g.checkPrefix(); err != nil {
		errs = append(errs, err)
	}
	for _, place := range append(append([]string(nil), g.Expressions...), g.Statement...) {
		errs.In(checkPlace(place), "Guard")
	}
	return errs
}
