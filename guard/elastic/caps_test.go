package elastic_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/elastic"
)

// edited applies caps as package cost says it is done.
func edited(text []byte, caps []cost.Cap, limit float64) []byte {
	slices.SortStableFunc(caps, func(a, b cost.Cap) int { return a.Start - b.Start })
	var out []byte
	from := 0
	for _, c := range caps {
		factor := c.Factor
		if factor == 0 {
			factor = 1
		}
		n := max(c.Least, math.Floor((limit-c.Base)/factor))
		out = append(out, text[from:c.Start]...)
		out = append(out, c.Prefix...)
		out = strconv.AppendFloat(out, n, 'f', -1, 64)
		out = append(out, c.Suffix...)
		from = c.End
	}
	return append(out, text[from:]...)
}

func capsOf(ms []cost.Measure, place cost.CapPlace, part int) []cost.Cap {
	var caps []cost.Cap
	for _, m := range ms {
		if m.Cap.Place == place && m.Part == part {
			caps = append(caps, m.Cap)
		}
	}
	return caps
}

// lowered are the names that a cap may change or add.
func lowered(name string) bool {
	switch name {
	case "size", "timeout", "terminate_after", "track_total_hits", "window_size", "shard_size", "num_candidates":
		return true
	}
	return false
}

// without drops what caps are about.
func without(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for name, x := range v {
			if !lowered(name) {
				m[name] = without(x)
			}
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = without(v[i])
		}
		return list
	}
	return v
}

func drawBody(t *rapid.T) map[string]any {
	body := map[string]any{}
	maybe := func(name string, g *rapid.Generator[any]) {
		if rapid.Bool().Draw(t, "has "+name) {
			body[name] = g.Draw(t, name)
		}
	}
	number := rapid.Custom(func(t *rapid.T) any {
		if rapid.Bool().Draw(t, "quoted") {
			return strconv.Itoa(rapid.IntRange(0, 1<<30).Draw(t, "n"))
		}
		return rapid.IntRange(0, 1<<30).Draw(t, "n")
	})
	maybe("size", number)
	maybe("from", number)
	maybe("terminate_after", number)
	maybe("timeout", rapid.SampledFrom([]any{"1m", "30s", "100ms", "nonsense", "-1"}))
	maybe("track_total_hits", rapid.SampledFrom([]any{true, false, 5, "true"}))
	maybe("query", rapid.SampledFrom([]any{
		map[string]any{"match": map[string]any{"a\"b\\é": "x"}},
		map[string]any{"nested": map[string]any{"path": "p", "query": map[string]any{"match_all": map[string]any{}}, "inner_hits": map[string]any{"size": 500}}},
	}))
	maybe("aggs", rapid.SampledFrom([]any{
		map[string]any{"a": map[string]any{"terms": map[string]any{"field": "f", "size": 20000, "shard_size": 90000}}},
		map[string]any{"a": map[string]any{"composite": map[string]any{"size": "70000"}, "aggs": map[string]any{"t": map[string]any{"top_hits": map[string]any{"size": 300}}}}},
	}))
	maybe("rescore", rapid.SampledFrom([]any{map[string]any{"window_size": 99999}}))
	maybe("knn", rapid.SampledFrom([]any{map[string]any{"field": "f", "num_candidates": 99999}}))
	return body
}

// All the caps of a body together leave JSON that says the same but for what
// they lower, and that is not over any limit that they lower to.
func TestCapsEditInPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawBody(t)
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "indented") {
			var b bytes.Buffer
			if err := json.Indent(&b, text, " ", "  "); err != nil {
				t.Fatal(err)
			}
			text = b.Bytes()
		}
		batch := rapid.Bool().Draw(t, "batch") && !bytes.Contains(text, []byte("\n"))
		path, line, at := "/x/_search", text, 0
		if batch {
			path = "/x/_msearch"
			line = slices.Concat([]byte("{}\n{\"size\":1}\n{}\n"), text, []byte("\n{}\n{}\n"))
			at = 1
		}
		var r elastic.Reader
		ms, err := r.Read(nil, cost.Query{Path: path, Body: line}, cost.Options{})
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		limit := float64(rapid.IntRange(1, 50).Draw(t, "limit"))
		out := edited(line, capsOf(ms, cost.CapBody, at), limit)
		lines := [][]byte{out}
		if batch {
			lines = bytes.Split(out, []byte("\n"))[3:4]
		}
		var got map[string]any
		if err := json.Unmarshal(lines[0], &got); err != nil {
			t.Fatalf("%s became %s: %v", text, lines[0], err)
		}
		var clean any
		if err := json.Unmarshal(text, &clean); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(without(clean), without(got)) {
			t.Fatalf("%s became %s", text, lines[0])
		}
		again, err := r.Read(nil, cost.Query{Path: path, Body: out}, cost.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range ms {
			if c := m.Cap; c.Place == cost.CapBody && m.Part == at && limit-c.Base >= c.Least && again[i].Value > limit {
				t.Fatalf("%v is %v after a cap to %v: %s", again[i].Predictor, again[i].Value, limit, out)
			}
		}
	})
}

// Where a body has nothing to hold on to, the URL takes what is added.
func TestCapsOfAnEmptyBodyGoToTheURL(t *testing.T) {
	for _, request := range []string{"GET /x/_search", "GET /x/_search?q=a", "GET /x/_search?size=500&timeout=5h&terminate_after=90&track_total_hits=true"} {
		for _, body := range []string{"", "{}", " { } "} {
			method, path, raw := split(request)
			ms, err := read(t, request, body, cost.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if n := len(capsOf(ms, cost.CapBody, 0)); n > 0 {
				t.Errorf("%s %q: %d edits of the body", request, body, n)
			}
			raw = string(edited([]byte(raw), capsOf(ms, cost.CapURL, 0), 7))
			again, err := read(t, method+" "+path+"?"+raw, body, cost.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range []cost.Predictor{cost.ResultWindow, cost.Timeout, cost.TerminateAfter, cost.TotalHits} {
				if v, ok := valueOf(again, p); !ok || v != 7 {
					t.Errorf("%s became %s: %v is %v, want 7", request, raw, p, v)
				}
			}
		}
	}
}
