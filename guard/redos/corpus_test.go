package redos

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
	"time"
)

// TestCorpus prints a confusion table for a labelled corpus that is not part of
// the project: lines of {"id","pattern","flags","flavor","label","search_only"}.
func TestCorpus(t *testing.T) {
	name := os.Getenv("BEZOAR_REDOS_CORPUS")
	if name == "" {
		return
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table := map[[2]string]int{}
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var rec struct {
			ID, Pattern, Flags, Flavor, Label string
			SearchOnly                        bool `json:"search_only"`
		}
		if err := json.Unmarshal(in.Bytes(), &rec); err != nil {
			t.Fatal(err)
		}
		d, err := ParseDialect(rec.Flavor)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		r := Analyze(rec.Pattern, Options{Dialect: d, Flags: rec.Flags})
		took := time.Since(began)
		want, got := rec.Label, r.Class.String()
		if rec.SearchOnly {
			want += " (search)"
		}
		if r.SearchOnly {
			got += " (search)"
		}
		table[[2]string{want, got}]++
		if want != got {
			t.Logf("%s: %s %q %q: %s, want %s: %+v", rec.ID, rec.Flavor, rec.Pattern, rec.Flags, got, want, r)
		}
		if took > 5*time.Millisecond {
			t.Logf("%s: %v, %d steps: %q", rec.ID, took, r.Steps, rec.Pattern)
		}
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	for _, want := range classNames() {
		for _, got := range classNames() {
			if n := table[[2]string{want, got}]; n > 0 {
				t.Logf("%-20s → %-20s %4d", want, got, n)
			}
		}
	}
}

func classNames() []string {
	return []string{"safe", "polynomial (search)", "polynomial", "exponential", "unknown"}
}
