package guard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// labelled is a line of index.tsv: a query, and what is to become of it.
type labelled struct {
	id, label, why, predictor, tier string
	query                           Query
}

// TestExamples judges the labelled queries of a folder: those that are ok by the
// default profile, harmful ones by the strict one, with hints.json: testdata/queries, or the one that BEZOAR_QUERIES names. It
// prints precision and recall of each kind. A query in index.tsv is ok and must
// go on, or harmful; then its tier is hard or hint and it must be rejected, or
// strict and it need not be. An expression's why begins with its class.
func TestExamples(t *testing.T) {
	dir := os.Getenv("BEZOAR_QUERIES")
	if dir == "" {
		dir = "testdata/queries"
	}
	set, warnings, err := ParseHints("hints.json", readFile(t, dir, "hints.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range warnings {
		t.Log(w)
	}
	store := &HintStore{}
	if err := store.Set(Static, set, time.Now()); err != nil {
		t.Fatal(err)
	}
	lets, refuses := withProfile(t, ProfileDefault, store), withProfile(t, ProfileStrict, store)
	s := scores{}
	for _, l := range readLabelled(t, dir) {
		g := refuses
		if l.label == "ok" {
			g = lets
		}
		v := check(g, l.query)
		if complaint := s.count(l, &v); complaint != "" {
			t.Errorf("%s (%s): %s: %s %s %v", l.id, l.why, complaint, v.Verdict, v.Regex, v.Findings)
		}
	}
	t.Logf("\n%s", s.table())
}

func withProfile(t *testing.T, p Profile, hints *HintStore) *Guard {
	t.Helper()
	g, err := New(Config{Limits: Limits{Profile: p}, Hints: hints})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func readFile(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func readLabelled(t *testing.T, dir string) []labelled {
	t.Helper()
	expressions := map[string]recordLine{}
	for line := range bytes.Lines(readFile(t, dir, "regex/regexes.jsonl")) {
		var e struct {
			ID string `json:"id"`
			recordLine
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		expressions[e.ID] = e.recordLine
	}
	var list []labelled
	var head []string
	for line := range strings.Lines(string(readFile(t, dir, "index.tsv"))) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if head == nil {
			head = cells
			continue
		}
		cell := func(name string) string { return cells[slices.Index(head, name)] }
		l := labelled{id: cell("file_or_id"), label: cell("label"), why: cell("why"), predictor: cell("predictor"), tier: cell("tier")}
		kind, err := ParseKind(cell("kind"))
		if err != nil {
			t.Fatal(err)
		}
		l.query.Kind = kind
		switch file, id, _ := strings.Cut(l.id, "#"); kind {
		case Regex:
			e := expressions[id]
			l.query.Body, l.query.Dialect = []byte(*e.Pattern), e.Flavor+"/"+e.Flags
		case SQL:
			l.query.Body, l.query.Dialect = readFile(t, dir, file), cell("request_or_dialect")
		case Elasticsearch, OpenSearch, GraphQL:
			l.query.Body = readFile(t, dir, file)
			if err := l.query.SetRequest(cell("request_or_dialect")); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, l)
	}
	return list
}

// scores counts by kind, and classes of expressions.
type scores map[string]*score

type score struct{ ok, wrong, harmful, found, strict, strictFound int }

func (s scores) of(name string) *score {
	if s[name] == nil {
		s[name] = &score{}
	}
	return s[name]
}

// count returns what is wrong with a verdict, or "".
func (s scores) count(l labelled, v *Verdict) string {
	sc, rejected, complaint := s.of(string(l.query.Kind)), v.Verdict == Rejected, ""
	switch {
	case l.label == "ok":
		if sc.ok++; rejected {
			sc.wrong++
			complaint = "is ok, but rejected"
		}
	case l.tier == "strict":
		if sc.strict++; rejected {
			sc.strictFound++
		}
	default:
		if sc.harmful++; rejected {
			sc.found++
		} else {
			complaint = "is harmful (" + l.predictor + "), but not rejected"
		}
	}
	if class, _, _ := strings.Cut(l.why, ":"); l.query.Kind == Regex {
		c := s.of("regex " + class)
		if c.harmful++; v.Regex == class {
			c.found++
		} else {
			s.of("regex "+v.Regex).wrong++
			complaint = "is " + class
		}
	}
	return complaint
}

func (s scores) table() string {
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "kind\tok\trejected of these\tharmful\trejected\tprecision\trecall\tstrict\trejected\t")
	names := make([]string, 0, len(s))
	for name := range s {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		c := s[name]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%s\t%s\t%d\t%d\t\n", name, c.ok, c.wrong, c.harmful, c.found,
			share(c.found, c.found+c.wrong), share(c.found, c.harmful), c.strict, c.strictFound)
	}
	_ = w.Flush() // to a buffer
	return out.String()
}

func share(a, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", float64(a)/float64(of))
}
