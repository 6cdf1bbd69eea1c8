package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each promise of the threat model names tests, and those exist.
func TestTheThreatModelNamesTests(t *testing.T) {
	known := map[string]bool{}
	root := filepath.Join("..", "..")
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(text, -1) {
			known[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	page := read(t, "docs/security.md")
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(page, -1)
	if len(named) < 40 {
		t.Errorf("the page names %d tests", len(named))
	}
	for _, m := range named {
		if !known[m[1]] {
			t.Errorf("%s is no test", m[1])
		}
	}
	promises := 0
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "| to ") {
			if promises++; !strings.Contains(line, "`Test") {
				t.Errorf("no test holds what is promised here: %s", line)
			}
		}
	}
	if promises < 20 {
		t.Errorf("the page has %d promises", promises)
	}
}
