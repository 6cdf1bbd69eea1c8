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
		"docs/balancing.md":     nil,
		"docs/deploy.md":        nil, // the page shows it
		"docs/exit-codes.md":    nil,
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

// command is a line that a reader would type.
var command = regexp.MustCompile(`^(sudo |[A-Z_]+=\S+ )*(\./)?(bezoar|docker|kubectl|helm|go|curl|make|git|sqlite3|dpkg|apt-get|systemctl|sha256sum|pg_dump|pg_restore|scripts/\S+) `)

// A page with commands of a shell has a test that runs them, and a block that no test
// runs says so, with what it would need.
func TestCommandsOfPagesAreRun(t *testing.T) {
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
	unrun := 0
	for name := range pages(t) {
		for _, b := range blocks(t, "../../"+name) {
			why, marked := b.unrun()
			switch {
			case marked && why == "":
				t.Errorf("%s:%d: unrun= does not say what the block needs", name, b.line)
			case marked:
				unrun++
			case b.lang == "sh" && !run[name]:
				t.Errorf("%s:%d: no test runs this: write ```sh unrun=\"what it needs\"", name, b.line)
			case b.lang == "" && command.MatchString(b.text):
				t.Errorf("%s:%d: these are commands: write ```sh, with unrun=\"what it needs\" if no test can run them", name, b.line)
			}
		}
	}
	t.Logf("%d blocks are marked as not run", unrun)
}
