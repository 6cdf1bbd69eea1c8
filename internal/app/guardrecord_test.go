package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Queries are kept in a file while the settings say so, over reloads.
func TestQueriesAreRecorded(t *testing.T) {
	e := newElastic(t)
	file := filepath.Join(t.TempDir(), "queries.ndjson")
	text := func(record string) string { return guardSettings(e.worker(), "", "report_only: false"+record) }
	r := follow(t, text(fmt.Sprintf(", record: {file: %q}", file)))
	lines := func() []string {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil
		}
		return strings.Split(strings.TrimSpace(string(b)), "\n")
	}
	r.searchFor(`{"size": 11}`, "/shop/_search", "ann")
	r.until("it is in the file", func() bool { return len(lines()) == 1 })
	r.reload(text(fmt.Sprintf(", slow: 3s, record: {file: %q, max_bytes: 1MiB}", file)))
	r.searchFor(`{"size": 50000}`, "/shop/_search", "bob")
	r.until("the other is behind it", func() bool { return len(lines()) == 2 })
	for i, want := range []string{`"body":"{\"size\": 11}"`, `"caller":"bob"`} {
		if line := lines()[i]; !strings.Contains(line, want) {
			t.Errorf("%s has no %s", line, want)
		}
	}
	if rec := r.guard().Record; rec == nil || rec.File != file || rec.Dropped != 0 {
		t.Errorf("%+v", rec)
	}
	r.until("it is counted", func() bool { return value(r.scrape()["bezoar_guard_recorded_queries_total"]) > 0 })
	r.reload(text(""))
	r.searchFor(`{"size": 13}`, "/shop/_search", "ann")
	r.until("the log says that it ends", func() bool { return strings.Contains(r.log.String(), "queries are no longer recorded") })
	if n := len(lines()); n != 2 {
		t.Errorf("%d lines", n)
	}
}
