package main

import "testing"

// Every command of the guides that take no test of their own is run, in order.
func TestShortGuides(t *testing.T) {
	t.Parallel()
	for page, wants := range map[string]map[string][]string{
		"docs/guard-graphql.md": {"dashboard.graphql": {"reject  gql_nodes 1010100, limit 500000", "refused", "accept  body.json"}},
		"docs/guard-replay.md":  {"guard replay": {"this would have rejected 2 of 3 queries", "which took 2.06s of the 2.06s", "leading_wildcard  1: SELECT id FROM products"}},
		"docs/pool.md":          {"--mode pool": {"2 done"}},
	} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			newBuilt(t, page).read(wants)
		})
	}
}
