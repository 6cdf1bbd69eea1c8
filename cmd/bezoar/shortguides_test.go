package main

import (
	"regexp"
	"strings"
	"testing"
)

// shortGuides are the pages that take no test of their own, with what some of
// their commands print.
func shortGuides() map[string]map[string][]string {
	return map[string]map[string][]string{
		"docs/guard-graphql.md": {"dashboard.graphql": {"reject  gql_nodes 1010100, limit 500000", "refused", "accept  body.json"}},
		"docs/guard-replay.md":  {"guard replay": {"this would have rejected 2 of 3 queries", "which took 2.06s of the 2.06s", "leading_wildcard  1: SELECT id FROM products"}},
		"docs/deploy.md":        {"fleet restart": {"app replaced 2 workers", "2 of 2 workers ready"}},
		"examples/README.md":    {"/crash": {"quarantine", "/crash"}},
		"docs/gateway.md":       {"/reports/nothing": {"200\n200\n404\n"}},
		"docs/pool.md":          {"--mode pool": {"2 done"}},
	}
}

// Every command of the short guides is run, in order.
func TestShortGuides(t *testing.T) {
	t.Parallel()
	for page, wants := range shortGuides() {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			newBuilt(t, page).read(wants)
		})
	}
}

var readPage = regexp.MustCompile(`\bnew(?:Built|Reader)\(t, "([^"]+)"`)

// A page with commands of a shell has a test that runs them.
func TestCommandsOfPagesAreRun(t *testing.T) {
	others := map[string]string{
		"docs/install.md":  "make release-test installs the files of a release in chroots",
		"docs/security.md": "govulncheck needs the network",
	}
	run := map[string]bool{}
	for _, name := range files(t, "_test.go") {
		if strings.HasPrefix(name, "cmd/bezoar/") {
			for _, m := range readPage.FindAllStringSubmatch(read(t, name), -1) {
				run[m[1]] = true
			}
		}
	}
	for name := range shortGuides() {
		run[name] = true
	}
	for name := range pages(t) {
		for _, b := range blocks(t, "../../"+name) {
			if b.lang == "sh" && !run[name] && others[name] == "" {
				t.Errorf("%s:%d: no test runs this: write plain ``` for what cannot be run", name, b.line)
			}
		}
	}
}
