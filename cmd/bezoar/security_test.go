package main

import (
	"slices"
	"strings"
	"testing"
)

// Each promise of the threat model names tests, and those exist.
func TestTheThreatModelNamesTests(t *testing.T) {
	page, all, promises := read(t, "docs/security.md"), allTests(t), 0
	for _, name := range testName.FindAllString(page, -1) {
		if !slices.Contains(all, name) {
			t.Errorf("docs/security.md names %s, which is not there", name)
		}
	}
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "| to ") {
			continue
		}
		if promises++; !testName.MatchString(line) {
			t.Errorf("no test holds what is promised here: %s", line)
		}
	}
	if promises < 20 {
		t.Errorf("docs/security.md has %d promises", promises)
	}
}
