package guard_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/guard"
)

// graphqlBody is a request in JSON.
func graphqlBody(t *testing.T, query string, variables any) []byte {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// times is n texts, each with its number.
func times(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// TestGraphQLByDefault holds what clients send, and what those send who want to
// do harm, against the default limits.
func TestGraphQLByDefault(t *testing.T) {
	g, err := guard.New(guard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	heavy := "{ a(first: 100) { b(first: 100) { c(first: 100) { d } } } }"
	tools := `query IntrospectionQuery { __schema { queryType { name } types { ...T } directives { name locations args { ...I } } } }
fragment T on __Type { kind name fields(includeDeprecated: true) { name args { ...I } type { ...R } } inputFields { ...I } interfaces { ...R } enumValues { name } possibleTypes { ...R } }
fragment I on __InputValue { name type { ...R } defaultValue }
fragment R on __Type { kind name ` + strings.Repeat("ofType { kind name ", 9) + strings.Repeat("}", 9) + " }"
	for _, c := range []struct {
		name, query string
		variables   any
		rejected    string // by this predictor; "" when it goes on
	}{
		{"a page with connections", `query($n: Int!) { viewer { repos(first: $n) { edges { node { name prs(first: 20) { nodes { title comments(first: 10) { nodes { body } } } } } } pageInfo { hasNextPage } } } }`, map[string]any{"n": 50}, ""},
		{"a lookup of thirty", "{" + times(30, "r%d: repo(id: 1) { name } ") + "}", nil, ""},
		{"what tools ask", tools, nil, ""},
		{"what GitHub's own client asks", `query($n: Int = 100) { repository { pullRequests(first: $n) { edges { node { title commits(last: 1) { nodes { commit { statusCheckRollup { contexts(first: 100) { nodes { name checkSuite { workflowRun { workflow { name } } } } } } } } } } } } } }`, nil, ""},
		{"connections that give no length", `{ project { pipeline { stages { nodes { name groups { nodes { name jobs { nodes { name needs { nodes { id name } } previous { nodes { id name } } status { id icon label group action { id icon path title } } } } } } } } } } }`, nil, ""},
		{"a quota that is written", `mutation { setQuota(limit: 100000000) { id } }`, nil, ""},
		{"a document of fragments", "{ u { ...F0 " + times(400, "f%d ") + "} } fragment F0 on T {" + times(700, "g%d ") + "}", nil, ""},
		{"two operations, and nobody says which", "query A { me { id } } query B " + heavy, nil, "gql_nodes"},

		{"aliases", "{" + times(60, "a%d: me ") + "}", nil, "gql_aliases"},
		{"aliases by fragments", "{ a: u { ...F } b: u { ...F } c: u { ...F } d: u { ...F } } fragment F on U {" + times(15, "a%d: x ") + "}", nil, "gql_aliases"},
		{"roots", "mutation {" + times(300, "login%d ") + "}", nil, "gql_root_fields"},
		{"depth", "{" + strings.Repeat("a { ", 20) + "b" + strings.Repeat("}", 20) + "}", nil, "gql_depth"},
		{"the same again and again", "{ u { " + strings.Repeat("name ", 5000) + "} }", nil, "gql_tokens"},
		{"directives", "{ a " + strings.Repeat("@b ", 60) + "}", nil, "gql_directives"},
		{"lists in lists", heavy, nil, "gql_nodes"},
		{"one long list", "{ a(first: 20000) { b } }", nil, "gql_list"},
		{"a length in a variable", "query($n: Int = 1) { a(first: $n) { b } }", map[string]any{"n": 5_000_000}, "gql_list"},
		{"a length by default", "query($n: Int = 5000000) { a(first: $n) { b } }", nil, "gql_list"},
		{"a length under another name", "{ a(itemsPerPage: 20000) { b } }", nil, "gql_list"},
		{"a length within", "query($p: P) { a(pagination: $p) { b } }", map[string]any{"p": map[string]any{"limit": 20000}}, "gql_list"},
		{"a bomb", "{ ...F0 } " + bomb(40), nil, "gql_cost"},
		{"a circle", "{ ...A } fragment A on T { ...B } fragment B on T { ...A }", nil, "unparsable"},
		{"an introspection in a circle", "{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }", nil, "gql_introspection"},
		{"brackets", "{ a(b: " + strings.Repeat("[", 600) + strings.Repeat("]", 600) + ") }", nil, "body_depth"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var v guard.Verdict
			g.Check(&guard.Query{Kind: guard.GraphQL, Body: graphqlBody(t, c.query, c.variables)}, &v)
			found := false
			for _, f := range v.Findings {
				found = found || f.Action == guard.Reject && f.Predictor == c.rejected
			}
			if c.rejected == "" && v.Verdict == guard.Rejected || c.rejected != "" && !found {
				t.Errorf("%s, want %q: %v", v.Verdict, c.rejected, v.Findings)
			}
		})
	}
}

// bomb is fragments that double with each.
func bomb(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "fragment F%d on T { ...F%d ...F%d } ", i, i+1, i+1)
	}
	fmt.Fprintf(&b, "fragment F%d on T { x }", n)
	return b.String()
}
