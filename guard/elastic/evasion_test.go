package elastic_test

import (
	"bytes"
	"compress/gzip"
	"net/url"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/elastic"
)

// What a backend reads in another way than it looks at first is seen, or
// refused.
func TestTwoReadingsHideNothing(t *testing.T) {
	const wild = `{"query":{"wildcard":{"a":"*b"}}}`
	for _, s := range []struct{ name, request, body string }{
		{"a comment that a carriage return ends", "POST /x/_search", "{\"size\":1 // a\r,\"from\":20000\n}"},
		{"a name in overlong UTF-8", "POST /x/_search", "{\"\xc1\xb3ize\":20000}"},
		{"a pattern in overlong UTF-8", "POST /x/_search", "{\"query\":{\"wildcard\":{\"a\":\"\xc0\xaab\"}}}"},
		{"a batch that begins with an empty line", "POST /_msearch", "\n{}\n" + wild + "\n{}\n"},
		{"a batch that begins with two empty lines", "POST /_msearch", "\n\n" + wild + "\n{}\n"},
		{"an empty line in the middle of a batch", "POST /_msearch", "{}\n{}\n\n" + wild + "\n{}\n{}\n"},
		{"two empty lines in the middle of a batch", "POST /_msearch", "{}\n{}\n\n\n" + wild + "\n{}\n{}\n"},
		{"_all among other indices", "POST /_all,x/_search", wild},
		{"a cluster that begins with an underscore", "POST /_origin:x/_search", wild},
		{"a document that is explained, to version 7", "POST /x/_doc/1/_explain", wild},
		{"a search of a plugin", "POST /_plugins/_anomaly_detection/detectors/results/_search", wild},
		{"a larger size before a semicolon", "GET /x/_search?size=20000&a=b;size=1", ""},
		{"a query behind a semicolon", "GET /x/_search?q=abcdefghijklmnopqrst;q=*z", ""},
		{"a size behind a semicolon", "GET /x/_search?pretty;size=20000", ""},
		{"a last max_docs that is none", "POST /x/_delete_by_query?max_docs=5&max_docs=-1", `{"query":{"match_all":{}}}`},
		{"a size in other digits", "GET /x/_search?size=%D9%A9%D9%A9%D9%A9%D9%A9%D9%A9", ""},
		{"a size with a sign", "GET /x/_search?size=%2B20000", ""},
		{"a size and more", "GET /x/_search?size=20000;pretty", ""},
		{"a body twice", "POST /x/_search", "{}" + wild},
		{"UTF-16", "POST /x/_search", "\xff\xfe{\x00}\x00"},
		{"UTF-16 without a mark", "POST /x/_search", "\x00{\x00}"},
		{"UTF-32", "POST /x/_search", "{\x00\x00\x00}\x00\x00\x00"},
		{"nothing but a mark and a body", "POST /x/_search", "\xef\xbb\xbf" + wild},
		{"half a mark", "POST /x/_search", "\xef\xbb" + wild},
		{"a suggestion in the URL", "GET /x/_search?suggest_field=a&suggest_text=b&suggest_size=50000", ""},
		{"scroll of a search with a type", "GET /x/y/_search?scroll=3d", ""},
		{"terminate_after and a large size", "GET /x/_search?size=20000&terminate_after=1", ""},
		{"an unquoted name", "POST /x/_search", "{size:20000}"},
		{"single quotes", "POST /x/_search", "{'size':20000}"},
		{"a comment with a number sign", "POST /x/_search", "{\"size\":1 #,\n}"},
		{"NaN", "POST /x/_search", `{"size":NaN}`},
		{"an index in a batch as text", "POST /_msearch", "{\"index\":\"*\"}\n" + wild + "\n"},
		{"a batch without the last line end", "POST /_msearch", "{}\n" + wild},
		{"a batch with carriage returns", "POST /_msearch", "{}\r\n" + wild + "\r\n"},
		{"a batch parted by carriage returns", "POST /_msearch", "{}\r" + wild + "\r"},
	} {
		method, path, raw := split(s.request)
		var r elastic.Reader
		ms, err := r.Read(nil, cost.Query{Method: method, Path: path, RawQuery: raw, Body: []byte(s.body)}, cost.Options{Explain: true})
		if err == nil && len(over(ms)) == 0 {
			t.Errorf("%s: is accepted: %q", s.name, s.body)
		}
		if !elastic.Judges(path) {
			t.Errorf("%s: %s is not looked at", s.name, path)
		}
	}
}

// Nothing of this is refused for how it is written.
func TestOrdinaryFormsAreRead(t *testing.T) {
	for _, s := range []struct{ name, request, body string }{
		{"letters beyond ASCII", "POST /x/_search", `{"query":{"match":{"título":"größe 石 🪨"}}}`},
		{"half of a pair of surrogates", "POST /x/_search", `{"query":{"match":{"a":"\ud83d"}}}`},
		{"a semicolon in a query string", "GET /x/_search?q=a%3Bb;c&size=5", ""},
		{"empty lines at the end of a batch", "POST /_msearch", "{}\n{\"size\":5}\n\n"},
		{"empty headers of a batch", "POST /_msearch", "\n{\"size\":5}\n\n{\"size\":6}\n"},
		{"a comment", "POST /x/_search", "{\"size\":1 // a\n}"},
		{"a document of a plugin", "POST /_plugins/_ml/models/a/_predict", `{"size":[]}`},
	} {
		method, path, raw := split(s.request)
		var r elastic.Reader
		ms, err := r.Read(nil, cost.Query{Method: method, Path: path, RawQuery: raw, Body: []byte(s.body)}, cost.Options{})
		if err != nil || len(over(ms)) > 0 {
			t.Errorf("%s: %v, over %s", s.name, err, strings.Join(over(ms), " "))
		}
	}
}

// A body is read as the backend reads it by its media type and packing, or refused.
func TestMediaTypesAndPackingsHideNothing(t *testing.T) {
	query := `{"query":{"wildcard":{"a":"*x"}}}`
	lines := "{}\n" + query + "\r\n"
	packed := func(text string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write([]byte(text)) // to a buffer
		_ = w.Close()
		return b.String()
	}
	wide := func(text string) string { return "\x00" + strings.Join(strings.Split(text, ""), "\x00") } // UTF-16
	inURL := func(media string) string {
		return "GET /a/_search?source_content_type=" + media + "&source=" + url.QueryEscape(query)
	}
	for _, c := range []struct {
		request, media, packing, body string
		refused                       bool
	}{
		{"POST /_msearch", "application/x-ndjson", "", lines, false},
		{"POST /_msearch", "application/vnd.elasticsearch+x-ndjson;compatible-with=8", "", lines, false},
		{"POST /a/_search", "application/vnd.elasticsearch+json;compatible-with=8", "", query, false},
		{"POST /a/_search", "application/json; charset=iso-8859-1", "", query, false},
		{"POST /a/_search", "application/x-www-form-urlencoded", "", query, false},
		{"POST /a/_search", "", " GZip ", packed(query), false},
		{"POST /a/_search", "", "gzip", packed(query) + packed("  "), false},
		{inURL("application/vnd.elasticsearch%2Bjson"), "", "gzip", "", false},
		{inURL("application/yaml"), "", "", "", true},
		{"POST /a/_search", "application/vnd.elasticsearch+cbor;compatible-with=8", "", query, true},
		{"POST /a/_search", "application/json", "", "query:\n  wildcard:\n    a: '*x'\n", true},
		{"POST /a/_search", "application/json; charset=utf-16", "", wide(query), true},
		{"POST /a/_search", "", "gzip, gzip", packed(packed(query)), true},
		{"POST /a/_search", "", "br", packed(query), true},
		{"POST /a/_search", "", "", `{"size":1}` + query, true},
	} {
		method, path, raw := split(c.request)
		var r elastic.Reader
		ms, err := r.Read(nil, cost.Query{
			Method: method, Path: path, RawQuery: raw, Body: []byte(c.body), ContentType: c.media, ContentEncoding: c.packing,
		}, cost.Options{})
		if got := strings.Join(over(ms), " "); (err != nil) != c.refused || !c.refused && got != "leading_wildcard" {
			t.Errorf("%s, %q, %q, %.40q: over %q, %v", c.request, c.media, c.packing, c.body, got, err)
		}
	}
}

// A short range of time excuses a pattern that begins with a wildcard only where both
// are about the same documents.
func TestARangeExcusesNothingBesideIt(t *testing.T) {
	const wild, hour = `{"wildcard":{"m":"*x"}}`, `{"range":{"@timestamp":{"gte":"now-1h","lte":"now"}}}`
	both := `{"query":{"bool":{"filter":[` + hour + `,` + wild + `]}}}`
	for _, c := range []struct{ name, request, body, want string }{
		{"together", "POST /x/_search", both, "expensive_class"},
		{"in an aggregation", "POST /x/_search", `{"query":` + hour + `,"aggs":{"f":{"filter":` + wild + `}}}`, "expensive_class"},
		{"another member of a batch", "POST /x/_msearch", "{}\n{\"query\":" + wild + "}\n{}\n" + both + "\n", "leading_wildcard expensive_class"},
		{"over all documents", "POST /x/_search", `{"query":` + both[len(`{"query":`):len(both)-1] + `,"aggs":{"all":{"global":{},"aggs":{"f":{"filter":` + wild + `}}}}}`, "leading_wildcard"},
		{"in a background", "POST /x/_search", `{"query":` + hour + `,"aggs":{"a":{"significant_terms":{"field":"f","background_filter":` + wild + `}}}}`, "leading_wildcard"},
		{"of children", "POST /x/_search", `{"query":{"bool":{"filter":[` + hour + `,{"has_child":{"type":"c","query":` + wild + `}}]}}}`, "leading_wildcard"},
		{"beside neighbours", "POST /x/_search", `{"query":` + hour + `,"knn":{"field":"v","k":5,"num_candidates":10,"filter":` + wild + `}}`, "leading_wildcard"},
		{"of another search", "POST /x/_search", `{"query":` + hour + `,"sub_searches":[{"query":` + wild + `}]}`, "leading_wildcard"},
	} {
		ms, err := read(t, c.request, c.body, cost.Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		found := map[cost.Predictor]bool{}
		for _, m := range ms {
			found[m.Predictor] = true
		}
		if got := found[cost.LeadingWildcard]; got != strings.Contains(c.want, "leading_wildcard") {
			t.Errorf("%s: a leading wildcard is seen: %v", c.name, got)
		}
		if strings.Contains(c.want, "expensive_class") && !found[cost.ExpensiveClass] {
			t.Errorf("%s: it is not reported", c.name)
		}
	}
}
