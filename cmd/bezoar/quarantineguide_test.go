package main

import (
	"strings"
	"testing"
)

// Every command of the guide to quarantine is run, in order: the pill is refused by
// its variant, everybody else is served, and the verdict is explained.
func TestQuarantineGuide(t *testing.T) {
	t.Parallel()
	r := newBuilt(t, "docs/quarantine.md")
	r.read(map[string][]string{
		"mallory": {
			`"scope":"variant"`, `"rule":"quarantine"`, "variant of GET /basket", "for only this variant", "with nothing else answered there shortly before",
			"segfault in the theme engine", "Nothing wider is refused", "runs alone as a probe",
		},
		"quarantine add": {"quarantined", "GET /export?all=1", "operator"},
	})
	if n := strings.Count(r.printed, "ok\n"); n != 6 {
		t.Errorf("%d innocents were answered, want 6", n)
	}
}
