package mask

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
)

// hinted is a guard that knows the data of the labelled queries.
func hinted(t *testing.T, dir string) *guard.Guard {
	t.Helper()
	set, _, err := guard.ParseHints("hints.json", read(t, dir, "hints.json"))
	if err != nil {
		t.Fatal(err)
	}
	store := &guard.HintStore{}
	if err := store.Set(guard.Static, set, time.Now()); err != nil {
		t.Fatal(err)
	}
	g, err := guard.New(guard.Config{Hints: store})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// labelled are the queries of index.tsv by their names.
func labelled(t *testing.T, dir string) map[string]guard.Query {
	t.Helper()
	type expression struct{ ID, Pattern, Flavor, Flags string }
	expressions := map[string]expression{}
	for line := range bytes.Lines(read(t, dir, "regex/regexes.jsonl")) {
		var e expression
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		expressions[e.ID] = e
	}
	list := map[string]guard.Query{}
	column := map[string]int{}
	for line := range strings.Lines(string(read(t, dir, "index.tsv"))) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(column) == 0 {
			for i, name := range cells {
				column[name] = i
			}
			continue
		}
		name, how := cells[column["file_or_id"]], cells[column["request_or_dialect"]]
		kind, err := guard.ParseKind(cells[column["kind"]])
		if err != nil {
			t.Fatal(err)
		}
		q := guard.Query{Kind: kind}
		switch file, id, _ := strings.Cut(name, "#"); kind {
		case guard.Regex:
			e := expressions[id]
			q.Body, q.Dialect = []byte(e.Pattern), e.Flavor+"/"+e.Flags
		case guard.SQL:
			q.Body, q.Dialect = read(t, dir, file), how
		case guard.Elasticsearch, guard.OpenSearch, guard.GraphQL:
			q.Body = read(t, dir, file)
			if err := q.SetRequest(how); err != nil {
				t.Fatal(err)
			}
		}
		list[name] = q
	}
	return list
}

// Masked queries get the verdicts that they got before.
func TestLabelledQueriesKeepTheirVerdicts(t *testing.T) {
	dir := os.Getenv("BEZOAR_QUERIES")
	if dir == "" {
		dir = "../testdata/queries"
	}
	g := hinted(t, dir)
	for name, q := range labelled(t, dir) {
		for key := range byte(3) {
			masked, ok := under(key, &q)
			if !ok {
				t.Errorf("%s is not masked", name)
				continue
			}
			var was, is guard.Verdict
			g.Check(&q, &was)
			g.Check(&masked, &is)
			if was.Verdict != is.Verdict || was.Regex != is.Regex || len(was.Findings) != len(is.Findings) || !g.Alike(&q, &masked) {
				t.Errorf("%s: %s %s %v, and masked %s %s %v\n%s\n%s", name, was.Verdict, was.Regex, was.Findings, is.Verdict, is.Regex, is.Findings, q.Body, masked.Body)
			}
		}
	}
}
