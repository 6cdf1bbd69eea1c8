package guardfront

import (
	"testing"

	"github.com/bezoar-dev/bezoar/guard"
)

// Who is refused gets it in a type that its client reads.
func TestTypesOfRejections(t *testing.T) {
	for _, tc := range []struct {
		kind         guard.Kind
		accept, want string
	}{
		{guard.Elasticsearch, "", "application/json"},
		{guard.OpenSearch, "*/*", "application/json"},
		{guard.Elasticsearch, "application/json", "application/json"},
		{guard.Elasticsearch, "application/problem+json, */*", "application/problem+json"},
		{guard.Elasticsearch, "application/vnd.elasticsearch+json; compatible-with=9", "application/vnd.elasticsearch+json;compatible-with=9"},
		{guard.Elasticsearch, "application/vnd.elasticsearch+json; compatible-with=x", "application/vnd.elasticsearch+json;compatible-with=8"},
		{guard.GraphQL, "application/graphql-response+json, application/json;q=0.9", "application/graphql-response+json"},
		{guard.GraphQL, "application/json", "application/json"},
		{guard.SQL, "application/json", "application/problem+json"},
		{guard.Regex, "", "application/problem+json"},
	} {
		if got := rejectionType(tc.kind, tc.accept); got != tc.want {
			t.Errorf("%s that accepts %q: %s, want %s", tc.kind, tc.accept, got, tc.want)
		}
	}
}
