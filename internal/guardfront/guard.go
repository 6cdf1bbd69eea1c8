package guardfront

import (
	"fmt"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/faults"
)

// These fields of an answer describe the guard's verdict on its query.
const (
	Field     = "X-Bezoar-Guard"      // "report; predictor=agg_product" or "cap" or "reject"
	CapsField = "X-Bezoar-Guard-Caps" // what was lowered: "result_window 50000→10000"
)

// Guard judges the queries of a route when their bodies have arrived, and before a worker gets them. A body that is not
// held completely is refused, because it cannot be checked. Rejected queries get 400 with a problem document. For
// Elasticsearch, OpenSearch and GraphQL, the document also has the form of their errors.
type Guard struct {
	Guard   *guard.Guard
	Kind    guard.Kind
	Dialect string // of SQL and of expressions
	// Expressions says, for the kind Regex, where in a request the expressions are: "query:NAME", "header:NAME",
	// "form:NAME" or "json:$.a.b", where [*] is every item of a list.
	Expressions []string
	// Statement does the same for SQL that is not the complete body.
	Statement []string
	// Prefix is what precedes the paths of Elasticsearch or OpenSearch, such as /es. It is removed before the path is read.
	// A path without it cannot be read.
	Prefix string
	// Name labels callers that do not identify themselves, as they are labelled
	// elsewhere. Nil means a hash.
	Name func(caller string) string
	// Record says which queries are recorded in a file; zero: none.
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
