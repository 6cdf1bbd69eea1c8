package graphql_test

import (
	"fmt"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/graphql"
)

// A reader measures; package guard holds the measures against limits.
func ExampleReader_Read() {
	q := cost.Query{Body: []byte(`{
		"query": "query($n: Int = 10) { search(first: $n) { edges { node { ...Repo } } } } fragment Repo on Repository { name issues(last: 50) { nodes { title } } }",
		"variables": {"n": 100}
	}`)}
	var r graphql.Reader
	measures, err := r.Read(nil, q, cost.Options{Explain: true})
	if err != nil {
		fmt.Println(err)
	}
	for _, m := range measures {
		fmt.Printf("%s = %.0f at %s\n", m.Predictor, m.Value, m.Path)
	}
	// Output:
	// gql_tokens = 47 at document
	// gql_depth = 6 at query.search.edges.node.issues.nodes.title
	// gql_cost = 185449 at query.search.edges.node.issues
	// gql_nodes = 5100 at query.search.edges.node.issues
	// gql_list = 100 at query.search
	// gql_root_fields = 1 at query
}
