package main

import (
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestRun measures a little: both sides deliver everything, and the table has a
// figure for each.
func TestRun(t *testing.T) {
	if os.Getenv("BEZOAR_TEST_POSTGRES") == "" {
		t.Skip("BEZOAR_TEST_POSTGRES names no database; scripts/with-servers starts one")
	}
	var out strings.Builder
	if err := run(t.Context(), []string{"-events", "300", "-keys", "10", "-rounds", "1", "-idle", "3"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{`bezoar, polling +[1-9]\d*\n`, `watermill-sql's forwarder +[1-9]\d*\n`, `p50 \d.*, p99 \d`} {
		if !regexp.MustCompile(line).MatchString(out.String()) {
			t.Errorf("no line like %s in:\n%s", line, out.String())
		}
	}
}
