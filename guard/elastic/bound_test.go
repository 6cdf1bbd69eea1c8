package elastic_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/elastic"
)

// A list of indices is one target, whichever comes last.
func TestListsOfIndicesAreTargetsWhole(t *testing.T) {
	for _, s := range []struct{ name, request, body, want string }{
		{"a batch", "POST /_msearch", "{\"index\":[\"big\",\"sm\\u0061ll\"]}\n{\"size\":20000}\n", "big,small"},
		{"a batch, one", "POST /_msearch", "{\"index\":\"big\"}\n{\"size\":20000}\n", "big"},
		{"a copy", "POST /_reindex", `{"source":{"index":["big","small"],"size":20000},"dest":{"index":"x"}}`, "big,small"},
		{"ES|QL", "POST /_query", `{"query":"FROM big , small | WHERE a LIKE \"*b\""}`, "big,small"},
		{"a join", "POST /_query", `{"query":"FROM big | LOOKUP JOIN small ON a | WHERE a LIKE \"*b\""}`, "big,small"},
		{"two statements", "POST /_query", `{"query":"FROM big | WHERE a LIKE \"*b\" | EVAL b = (FROM small)"}`, "big"},
	} {
		ms, err := read(t, s.request, s.body, cost.Options{})
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		found := false
		for _, m := range ms {
			found = found || m.Target == s.want && (m.Predictor == cost.ResultWindow || m.Predictor == cost.LeadingWildcard)
		}
		if !found {
			t.Errorf("%s: nothing is about %s: %+v", s.name, s.want, ms)
		}
	}
}

// Where not all values are known that could be lowered, none is.
func TestManyValuesAreNotLoweredInPart(t *testing.T) {
	var b strings.Builder
	for i := range 6000 {
		fmt.Fprintf(&b, `,"a%d":{"terms":{"field":"f","size":5000}}`, i)
	}
	ms, err := read(t, "POST /x/_search", `{"size":0,"aggs":{`+b.String()[1:]+`}}`, cost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sizes := 0
	for _, m := range ms {
		if m.Predictor != cost.AggSize {
			continue
		}
		if sizes++; m.Cap.Place != cost.CapNone {
			t.Fatalf("%d measures of 6000 sizes, and they would be lowered: %+v", len(ms), m)
		}
	}
	if sizes == 0 || sizes >= 6000 {
		t.Errorf("%d sizes were kept", sizes)
	}
	// The next request is not held responsible.
	var r elastic.Reader
	for _, body := range []string{`{"size":0,"aggs":{` + b.String()[1:] + `}}`, `{"aggs":{"a":{"terms":{"field":"f","size":5000}}}}`} {
		if ms, err = r.Read(nil, cost.Query{Path: "/x/_search", Body: []byte(body)}, cost.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range ms {
		if m.Predictor == cost.AggSize && m.Cap.Place == cost.CapNone {
			t.Errorf("a single size is not lowered: %+v", m)
		}
	}
}

// Paths of what lies within a long name cost no copy of it.
func TestLongNamesAreToldShortly(t *testing.T) {
	name := strings.Repeat(`\u006b`, 20_000)
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, `,"a%d":{"terms":{"field":"f","size":20000}}`, i)
	}
	body := `{"aggs":{"` + name + `":{"terms":{"field":"a"},"aggs":{` + b.String()[1:] + `}}}}`
	var r elastic.Reader
	q := cost.Query{Path: "/x/_search", Body: []byte(body)}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	ms, err := r.Read(nil, q, cost.Options{Explain: true})
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if each := (after.TotalAlloc - before.TotalAlloc) / uint64(len(ms)); each > 10_000 { // the name decoded has 20,000
		t.Errorf("%d bytes for each of %d measures", each, len(ms))
	}
	for _, m := range ms {
		if len(m.Path) > 4096 {
			t.Fatalf("a path of %d bytes", len(m.Path))
		}
	}
}

// Comments cost nothing: neither in what is measured, nor, however many are in one
// line, by being looked at more than once.
func TestCommentsOfScriptsAreReadOnce(t *testing.T) {
	values := func(between string) (all []float64) {
		ms, err := read(t, "POST /x/_search", `{"script_fields":{"a":{"script":"for(x:y){`+between+`for(x:y){`+between+`b++}}"}}}`, cost.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range ms {
			if m.Predictor != cost.BodyBytes {
				all = append(all, m.Value)
			}
		}
		return all
	}
	want := fmt.Sprint(values(""))
	for _, comment := range []string{"/*for*/", "/*\\n*/", "/**/", "/*/*/"} {
		if got := fmt.Sprint(values(strings.Repeat(comment, (2<<20)/len(comment)))); got != want {
			t.Errorf("with %s: %s, want %s", comment, got, want)
		}
	}
	if got := fmt.Sprint(values("//for\\n")); got != want {
		t.Errorf("with a line: %s, want %s", got, want)
	}
}
