package elastic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/elastic"
)

func TestWhatCannotBeReadIsRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		q    cost.Query
		want cost.Predictor
	}{
		{"no JSON", cost.Query{Path: "/x/_search", Body: []byte(`{"size":1`)}, cost.Unparsable},
		{"a second value", cost.Query{Path: "/x/_search", Body: []byte(`{"size":1}{"size":99999}`)}, cost.Unparsable},
		{"a name twice", cost.Query{Path: "/x/_search", Body: []byte(`{"size":1,"size":99999}`)}, cost.Unparsable},
		{"too deep", cost.Query{Path: "/x/_search", Body: []byte(strings.Repeat(`{"a":`, 2000))}, cost.BodyDepth},
		{"YAML by type", cost.Query{Path: "/x/_search", ContentType: "application/yaml; charset=utf-8", Body: []byte("size: 99999")}, cost.Encoding},
		{"YAML by its mark", cost.Query{Path: "/x/_search", Body: []byte("---\nsize: 99999")}, cost.Encoding},
		{"SMILE", cost.Query{Path: "/x/_search", Body: []byte(":)\n\x00\xfa")}, cost.Encoding},
		{"CBOR", cost.Query{Path: "/x/_search", Body: []byte("\xbf\x64size\x19\xff\xff\xff")}, cost.Encoding},
		{"CBOR in the URL", cost.Query{Path: "/x/_search", RawQuery: "source_content_type=application/cbor&source=%BFa"}, cost.Encoding},
		{"gzip that is none", cost.Query{Path: "/x/_search", ContentEncoding: "gzip", Body: []byte("{}")}, cost.Encoding},
		{"gzip without a word", cost.Query{Path: "/x/_search", Body: []byte("\x1f\x8b\x08\x00")}, cost.Encoding},
		{"brotli", cost.Query{Path: "/x/_search", ContentEncoding: "br", Body: []byte("{}")}, cost.Encoding},
		{"a wrapper of nothing", cost.Query{Path: "/x/_search", Body: []byte(`{"query":{"wrapper":{"query":"%%%"}}}`)}, cost.Encoding},
		{"a wrapper of SMILE", cost.Query{Path: "/x/_search", Body: []byte(`{"query":{"wrapper":{"query":"OikKAPo="}}}`)}, cost.Encoding},
		{"a batch without its last body", cost.Query{Path: "/_msearch", Body: []byte("{}\n{}\n{}\n")}, cost.Unparsable},
		{"a template that changes its tags", cost.Query{Path: "/_search/template", Body: []byte(`{"source":"{{=<% %>=}}{\"size\": <% s %>}","params":{"s":99999}}`)}, cost.Unparsable},
		{"a template that includes another", cost.Query{Path: "/_search/template", Body: []byte(`{"source":"{\"size\": 1 {{> more}}}"}`)}, cost.Unparsable},
		{"UTF-16", cost.Query{Path: "/x/_search", Body: []byte("{\x00\"\x00s\x00i\x00z\x00e\x00\"\x00:\x009\x00}\x00")}, cost.Unparsable},
		{"YAML in the URL", cost.Query{Path: "/x/_search", RawQuery: "source=size:%2099999&source_content_type=application/yaml"}, cost.Encoding},
		{"packed twice", cost.Query{Path: "/x/_search", ContentEncoding: "gzip, gzip", Body: []byte("{}")}, cost.Encoding},
		{"a template without an end", cost.Query{Path: "/_search/template", Body: []byte(`{"source":"{\"size\": {{#a}}1}"}`)}, cost.Unparsable},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r elastic.Reader
			_, err := r.Read(nil, c.q, cost.Options{})
			var u *cost.Unreadable
			if !errors.As(err, &u) {
				t.Fatalf("was read: %v", err)
			}
			if got := max(u.Predictor, cost.None); got != c.want && (got != cost.None || c.want != cost.Unparsable) {
				t.Errorf("%v (%v), want %v", got, err, c.want)
			}
			if u.Offset >= 0 && u.Offset > len(c.q.Body) {
				t.Errorf("at %d of %d bytes", u.Offset, len(c.q.Body))
			}
		})
	}
}

// A name that comes twice is refused, and both values are measured.
func TestBothValuesOfANameAreMeasured(t *testing.T) {
	ms, err := read(t, "POST /x/_search", `{"query":{"wildcard":{"a":"*b"},"wildcard":{"a":"c"}}}`, cost.Options{})
	if err == nil || strings.Join(over(ms), " ") != "leading_wildcard" {
		t.Errorf("over %v, %v", over(ms), err)
	}
}

func TestBytesAreBounded(t *testing.T) {
	body := `{"query":{"terms":{"a":[` + strings.Repeat("1,", 600) + `1]}}}`
	for name, q := range map[string]cost.Query{"body": {Path: "/x/_search", Body: []byte(body)}} {
		var r elastic.Reader
		_, err := r.Read(nil, q, cost.Options{MaxBytes: 1000})
		var u *cost.Unreadable
		if !errors.As(err, &u) || u.Predictor != cost.BodyBytes {
			t.Errorf("%s: %v", name, err)
		}
		if _, err = r.Read(nil, q, cost.Options{MaxTokens: 100}); err == nil {
			t.Errorf("%s: more values than allowed were read", name)
		}
	}
}

// A list in a list in a list would fill in a template for ever.
func TestTemplatesAreBounded(t *testing.T) {
	list := "[" + strings.Repeat("1,", 500) + "1]"
	source := strings.Repeat("{{#a}}", 20) + "x" + strings.Repeat("{{/a}}", 20)
	body, err := json.Marshal(map[string]any{"source": source, "params": map[string]any{"a": json.RawMessage(list)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read(t, "POST /_search/template", string(body), cost.Options{}); err == nil {
		t.Error("was filled in")
	}
}

func TestValuesAndPlaces(t *testing.T) {
	const body = `{
 "from": 5,
 "size": 100,
 "query": {"range": {"at": {"gte": "2024-01-01", "lt": "2024-01-03"}}},
 "aggs": {"by_url": {"terms": {"field": "url", "size": 100},
  "aggs": {"per hour": {"date_histogram": {"field": "at", "fixed_interval": "1h"},
   "aggs": {"types": {"terms": {"field": "status"}}}}}}}
}`
	ms, err := read(t, "POST /shop/_search", body, cost.Options{Explain: true, Hints: hints{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		p            cost.Predictor
		value        float64
		path, detail string
		at           string // what the text says there
	}{
		{cost.ResultWindow, 105, "$.size", "from 5 + size 100 = 105", "100"},
		{cost.HistogramSpan, 48, `$.aggs.by_url.aggs["per hour"].date_histogram.fixed_interval`, "span 48h0m0s / interval 1h0m0s = 48 buckets; the span is that of the filter on the field", `"1h"`},
		{cost.AggProduct, 48000, "$.aggs.by_url", "3 levels: by_url 100 × per hour 48 × types 10; 48000 buckets in all", `{"terms"`},
		{cost.AggDepth, 3, `$.aggs.by_url.aggs["per hour"].aggs`, "", `{"types"`},
		{cost.QueryDepth, 1, "$.query", "", `{"range"`},
		{cost.Shards, 6, "path", "", ""},
	} {
		found := false
		for _, m := range ms {
			if m.Predictor != want.p {
				continue
			}
			found = true
			if m.Value != want.value || m.Path != want.path || want.detail != "" && m.Detail != want.detail {
				t.Errorf("%v: %v at %s: %q; want %v at %s: %q", m.Predictor, m.Value, m.Path, m.Detail, want.value, want.path, want.detail)
			}
			if m.Offset >= 0 && !strings.HasPrefix(body[m.Offset:], want.at) {
				t.Errorf("%v: the text there is %.20q, want %q", m.Predictor, body[m.Offset:], want.at)
			}
			if m.Target != "shop" {
				t.Errorf("%v: target %q", m.Predictor, m.Target)
			}
		}
		if !found {
			t.Errorf("no %v", want.p)
		}
	}
}

func TestMembersOfABatchAreNumbered(t *testing.T) {
	body := "{\"index\":\"a\"}\n{\"size\":1}\n\n{\"size\":2}\n{\"index\":[\"b\"]}\n{\"size\":3}"
	ms, err := read(t, "POST /z/_msearch", body, cost.Options{Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range ms {
		if m.Predictor == cost.ResultWindow {
			got = append(got, fmt.Sprintf("%d %s %v %s", m.Part, m.Target, m.Value, body[m.Offset:m.Offset+1]))
		}
	}
	want := []string{"0 a 1 1", "1 z 2 2", "2 b 3 3"}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%v, want %v", got, want)
	}
	if n, _ := valueOf(ms, cost.Batch); n != 3 {
		t.Errorf("%v members", n)
	}
}

func TestWhatTheURLSaysIsSaidToBeThere(t *testing.T) {
	ms, err := read(t, "GET /a*/_search?q=name:*x&size=20000", "", cost.Options{Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	paths := map[cost.Predictor]string{}
	for _, m := range ms {
		if m.Offset != -1 && m.Predictor != cost.BodyBytes {
			t.Errorf("%v is at byte %d of no body", m.Predictor, m.Offset)
		}
		paths[m.Predictor] = m.Path
	}
	for p, want := range map[cost.Predictor]string{cost.ResultWindow: "url.size", cost.LeadingWildcard: "url.q", cost.Shards: "path"} {
		if paths[p] != want {
			t.Errorf("%v is at %q, want %q", p, paths[p], want)
		}
	}
}

// A million patterns are measured, and a few thousand of them told.
func TestMeasuresAndPathsAreBounded(t *testing.T) {
	const many = 20_000
	body := `{"query":{"bool":{"should":[` + strings.Repeat(`{"wildcard":{"a":"b*"}},`, many) + `{"wildcard":{"a":"*c*d*e"}}]}}}`
	for _, explain := range []bool{false, true} {
		ms, err := read(t, "POST /x/_search", body, cost.Options{Explain: explain})
		if err != nil {
			t.Fatal(err)
		}
		if len(ms) > 5000 {
			t.Errorf("%d measures", len(ms))
		}
		if v, _ := valueOf(ms, cost.WildcardStars); v != 3 {
			t.Errorf("the last pattern is lost: %v", v)
		}
		if v, _ := valueOf(ms, cost.ClauseCount); v != many+1 {
			t.Errorf("%v clauses", v)
		}
		for _, m := range ms {
			if explain && m.Predictor == cost.WildcardStars && m.Value == 3 && m.Path != fmt.Sprintf("$.query.bool.should[%d].wildcard.a", many) {
				t.Errorf("path %s", m.Path)
			}
		}
	}
}

func TestMembersAreBounded(t *testing.T) {
	_, err := read(t, "POST /_msearch", strings.Repeat("{}\n{}\n", 20_000), cost.Options{})
	if err == nil {
		t.Error("20 000 members were read")
	}
}
