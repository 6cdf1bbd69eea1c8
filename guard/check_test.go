package guard

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

func TestARefusalShowsItsArithmetic(t *testing.T) {
	g, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	body := "{\"aggs\": {\n  \"é\": {\"terms\": {\"field\": \"a\", \"size\": 1000},\n    \"aggs\": {\"y\": {\"terms\": {\"field\": \"b\", \"size\": 1000}}}}}}"
	v := check(g, Query{Kind: Elasticsearch, Method: "POST", Path: "/orders/_search", Body: []byte(body)})
	if v.Verdict != Rejected || len(v.Findings) == 0 || v.Body != nil {
		t.Fatalf("%+v", v)
	}
	f := v.Findings[0]
	if f.Predictor != "agg_product" || f.Value < 1e6 || f.Limit != 65_536 || f.Action != Reject || f.Rule != "default" {
		t.Errorf("%+v", f)
	}
	if f.Line < 1 || f.Line > 3 || !strings.HasPrefix(f.Path, "$.aggs") || !strings.Contains(f.Fix, "65536") || !strings.Contains(f.Detail, "1000") {
		t.Errorf("%+v", f)
	}
	if s := f.String(); !strings.Contains(s, "agg_product is 1000000, limit 65536 (reject)") {
		t.Errorf("%s", s)
	}
}

// A range that begins at a date and does not end is as long as it is by now.
func TestVerdictsKnowTheTime(t *testing.T) {
	g, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	since := func(days int) string {
		from := time.Now().AddDate(0, 0, -days).UTC().Format(time.RFC3339)
		return `{"size":0,"query":{"range":{"at":{"gte":"` + from + `"}}},"aggs":{"h":{"date_histogram":{"field":"at","fixed_interval":"1m"}}}}`
	}
	for days, want := range map[int]Outcome{7: Accepted, 700: Rejected} {
		if v := check(g, Query{Kind: Elasticsearch, Method: "POST", Path: "/logs/_search", Body: []byte(since(days))}); v.Verdict != want {
			t.Errorf("minutes of %d days: %v, want %v; %+v", days, v.Verdict, want, v.Findings)
		}
	}
}

// A pattern that is only reported is mended as one that is refused.
func TestFixesAreForWhatIsWritten(t *testing.T) {
	g, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"SELECT * FROM t WHERE name NOT LIKE '%x'": "begin the pattern with plain text",
		"SELECT * FROM t WHERE lower(name) = 'x'":  "compare the bare column",
		"DELETE FROM t":      "selects the rows to delete",
		"UPDATE t SET a = 1": "add a WHERE",
	} {
		if v := check(g, Query{Kind: SQL, Body: []byte(text)}); len(v.Findings) != 1 || !strings.Contains(v.Findings[0].Fix, want) {
			t.Errorf("%s: %+v, want %q", text, v.Findings, want)
		}
	}
}

func TestPlacesAreInLinesAndCharacters(t *testing.T) {
	text := []byte("ab\ncé\n\nx")
	for _, c := range []struct{ offset, line, column int }{{0, 1, 1}, {2, 1, 3}, {3, 2, 1}, {6, 2, 3}, {7, 3, 1}, {8, 4, 1}, {9, 4, 2}, {99, 4, 2}} {
		if l, col := place(text, c.offset); l != c.line || col != c.column {
			t.Errorf("%d is at %d:%d, want %d:%d", c.offset, l, col, c.line, c.column)
		}
	}
}

func TestCapsLowerTheQueryInPlace(t *testing.T) {
	g, err := New(Config{Limits: limits(t, `
rules:
  - {predictor: result_window, limit: 100, action: cap}
  - {predictor: timeout, limit: 5s, action: cap}
  - {predictor: terminate_after, limit: 1e5, action: cap}
`)})
	if err != nil {
		t.Fatal(err)
	}
	sent := `{"from": 20, "size": 5000, "query": {"term": {"a": "b"}}}`
	q := Query{Kind: Elasticsearch, Method: "POST", Path: "/orders/_search", Body: []byte(sent)}
	v := check(g, q)
	if v.Verdict != Capped || string(q.Body) != sent {
		t.Fatalf("%+v", v)
	}
	var got struct {
		From, Size      int
		Timeout         string
		TerminateAfter  int            `json:"terminate_after"`
		Query           map[string]any `json:"query"`
		TrackTotalHits_ any            `json:"track_total_hits"`
	}
	if err := json.Unmarshal(v.Body, &got); err != nil {
		t.Fatalf("%s: %v", v.Body, err)
	}
	if got.From != 20 || got.Size != 80 || got.Timeout != "5s" || got.TerminateAfter != 100_000 || len(got.Query) != 1 || got.TrackTotalHits_ != nil {
		t.Errorf("%s", v.Body)
	}
	if want := "result_window 5020→100"; !strings.Contains(strings.Join(v.Caps, ", "), want) {
		t.Errorf("%v lacks %s", v.Caps, want)
	}
	again := check(g, Query{Kind: Elasticsearch, Method: "POST", Path: "/orders/_search", Body: v.Body})
	if again.Verdict != Accepted {
		t.Errorf("what was capped is not accepted: %+v", again.Findings)
	}
	q.RawQuery, q.Body = "size=900&pretty", []byte(`{"timeout":"1s","terminate_after":10}`)
	if v := check(g, q); v.Verdict != Capped || v.RawQuery != "size=100&pretty" || v.Body != nil {
		t.Errorf("%q %s %+v", v.RawQuery, v.Body, v.Findings)
	}
	q.RawQuery = "from=300&size=10"
	if v := check(g, q); v.Verdict != Rejected || v.Body != nil {
		t.Errorf("what no size can lower: %+v", v)
	}
}

func TestWhatCannotBeReadIsNotWavedThrough(t *testing.T) {
	for _, c := range []struct {
		q         Query
		predictor cost.Predictor
	}{
		{Query{Kind: Elasticsearch, Method: "POST", Path: "/a/_search", Body: []byte(`{"size": 1`)}, cost.Unparsable},
		{Query{Kind: Elasticsearch, Method: "POST", Path: "/a/_search", ContentEncoding: "br", Body: []byte(`xx`)}, cost.Encoding},
		{Query{Kind: "lisp"}, cost.Unparsable},
		{Query{Kind: Elasticsearch, Method: "POST", Path: "/a/_search", Body: []byte(strings.Repeat(`{"a":`, 100_000))}, cost.BodyDepth},
		{Query{Kind: Elasticsearch, Method: "POST", Path: "/a/_search", Body: []byte(strings.Repeat(` `, 17<<20))}, cost.BodyBytes},
	} {
		g := benchGuard(t)
		v := check(g, c.q)
		found := false
		for _, f := range v.Findings {
			found = found || f.Predictor == c.predictor.String()
		}
		if v.Verdict != Rejected || !found {
			t.Errorf("%s: %+v", c.predictor, v)
		}
	}
}

func TestExpressionsAreClassified(t *testing.T) {
	g, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		pattern, dialect, word string
		want                   Outcome
	}{
		{`^\d{4}-\d\d$`, "js", "safe", Accepted},
		{`^(a+)+$`, "", "exponential", Rejected},
		{`^(.|\n)*!`, "js/s", "exponential", Rejected},
		{`^a*a*$`, "python", "polynomial", Rejected},
		{`\s+$`, "js", "polynomial", Reported},
		{`(a+)+$`, "re2", "safe", Accepted},
		{`((a{100}){100}){100}`, "lucene", "safe", Rejected},
		{`(a`, "js", "unknown", Reported},
		{`a`, "cobol", "unknown", Reported},
	} {
		v := check(g, Query{Kind: Regex, Body: []byte(c.pattern), Dialect: c.dialect})
		if v.Regex != c.word && c.dialect != "lucene" || v.Verdict != c.want {
			t.Errorf("%s (%s): %s %s %v", c.pattern, c.dialect, v.Regex, v.Verdict, v.Findings)
		}
	}
}

func TestFindingsAreBoundedAndTheGravestComeFirst(t *testing.T) {
	var many []cost.Measure
	for i := range 500 {
		many = append(many, cost.Measure{Predictor: cost.ExpensiveClass, Value: 1, Offset: i, Part: i})
	}
	many = append(many, product(inf(), "i"))
	g := withMeasures(t, Limits{}, many...)
	v := check(g, Query{Kind: Elasticsearch, Body: []byte(strings.Repeat(" ", 600))})
	if v.Verdict != Rejected || v.Findings[0].Predictor != "agg_product" || len(v.Findings) != MaxFindings || v.More != 501-MaxFindings {
		t.Errorf("%s, %d findings and %d more, first %v", v.Verdict, len(v.Findings), v.More, v.Findings[0])
	}
	out, err := json.Marshal(v.Findings[0])
	if err != nil || !strings.Contains(string(out), `"value":1e+308,"limit":65536`) {
		t.Errorf("%s, %v", out, err)
	}
	var back Finding
	if err := json.Unmarshal(out, &back); err != nil || back != v.Findings[0] {
		t.Errorf("%+v, %v", back, err)
	}
}

func TestVerdictsDoNotMixUnderConcurrency(t *testing.T) {
	g := benchGuard(t)
	good, bad := dashboardQuery(), dashboardQuery()
	bad.Body = []byte(`{"from": 20000}`)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			var v Verdict
			for range 200 {
				q, want := good, Accepted
				if w%2 == 0 {
					q, want = bad, Rejected
				}
				if g.Check(q, &v); v.Verdict != want {
					t.Errorf("%s, want %s", v.Verdict, want)
					return
				}
				if w == 7 {
					if _, err := g.Update(Limits{}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if n := g.Total(); n.Checked != 1600 || n.Rejected != 800 || n.Accepted != 800 {
		t.Errorf("%+v", n)
	}
}
