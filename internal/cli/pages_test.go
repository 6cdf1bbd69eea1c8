package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/cli/cmdline"
)

var (
	codeSpan = regexp.MustCompile("`((?:bezoar [a-z -]*)?--[a-z][^`\n]*)`")
	flagName = regexp.MustCompile(`(?:^| )--([a-z][a-z0-9-]*)`)
)

// The flags that pages name in their text are flags of some command.
func TestPagesNameFlagsThatExist(t *testing.T) {
	parser, err := newParser(new(grammar))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"token": true} // of somebody's worker: docs/live-config.md
	var visit func(c *cmdline.Command)
	visit = func(c *cmdline.Command) {
		for _, f := range c.Flags {
			known[f.Name] = true
		}
		for _, child := range c.Children {
			visit(child)
		}
	}
	visit(parser.Root)
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 30 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	named := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, span := range codeSpan.FindAllStringSubmatch(string(text), -1) {
			own, _, _ := strings.Cut(span[1], " -- ") // what follows is a worker's
			for _, m := range flagName.FindAllStringSubmatch(own, -1) {
				if named++; !known[m[1]] {
					t.Errorf("%s: `%s` names --%s, which no command has", page, span[1], m[1])
				}
			}
		}
	}
	if named < 100 {
		t.Errorf("the pages name %d flags, want the 100 and more that there are", named)
	}
}
