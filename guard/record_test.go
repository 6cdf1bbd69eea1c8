package guard

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestRecordsOfEveryForm(t *testing.T) {
	for _, c := range []struct {
		line string
		want Query
		id   string
	}{
		{`{"id":7,"kind":"es","request":"GET /a%2Cb/_search?q=x%20y HTTP/1.1","body":{"size": 1}}`, Query{Kind: Elasticsearch, Method: "GET", Path: "/a,b/_search", RawQuery: "q=x%20y", Body: []byte(`{"size": 1}`)}, "7"},
		{`{"id":"x","kind":"opensearch","method":"post","path":"/_msearch","body":"{}\n{}\n","caller":"c","class":"k"}`, Query{Kind: OpenSearch, Method: "POST", Path: "/_msearch", Body: []byte("{}\n{}\n"), Caller: "c", Class: "k"}, `"x"`},
		{`{"sql":"SELECT 1","dialect":"mysql","user":"ann"}`, Query{Kind: SQL, Body: []byte("SELECT 1"), Dialect: "mysql", Caller: "ann"}, ""},
		{`{"pattern":"a+","flavor":"js","flags":"i"}`, Query{Kind: Regex, Body: []byte("a+"), Dialect: "js/i"}, ""},
		{`{"kind":"graphql","body":"{ me }","opaque_id":"o"}`, Query{Kind: GraphQL, Body: []byte("{ me }"), Caller: "o"}, ""},
		{`{"body":null}`, Query{Kind: Elasticsearch, Method: "POST", Path: "/_search"}, ""},
		{`{"request":"GET a/_count"}`, Query{Kind: Elasticsearch, Method: "GET", Path: "/a/_count"}, ""},
		{`{"request":"http://es:9200/a/_count"}`, Query{Kind: Elasticsearch, Method: "POST", Path: "/a/_count"}, ""},
		{`10.0.0.1 - ann [28/Nov/2026:10:00:00 +0000] "GET /a/_search?size=9 HTTP/1.1" 200 5`, Query{Kind: Elasticsearch, Method: "GET", Path: "/a/_search", RawQuery: "size=9", Caller: "ann"}, ""},
		{`10.0.0.1 - - [x] "DELETE /a HTTP/1.1" 200`, Query{Kind: Elasticsearch, Method: "DELETE", Path: "/a", Caller: "10.0.0.1"}, ""},
	} {
		r, err := ParseRecord([]byte(c.line))
		if err != nil {
			t.Errorf("%s: %v", c.line, err)
			continue
		}
		got, want := r.Query, c.want
		if string(got.Body) != string(want.Body) || string(r.ID) != c.id {
			t.Errorf("%s: body %s, id %s", c.line, got.Body, r.ID)
		}
		got.Body, want.Body = nil, nil
		if got.Kind != want.Kind || got.Method != want.Method || got.Path != want.Path || got.RawQuery != want.RawQuery || got.Caller != want.Caller || got.Class != want.Class || got.Dialect != want.Dialect {
			t.Errorf("%s\n got %+v\nwant %+v", c.line, got, want)
		}
	}
	for line, want := range map[string]string{ // a part of the fault, or of the query
		`{"id":1,"pattern":5}`:                                      "pattern is a JSON number; want a string",
		`{"id":1,"calls":"x"}`:                                      "calls is a JSON string; want a int64",
		`{"x":[{"id":2}],"id":1,"sql":"a"} b`:                       "after top-level value",
		`{"id":1,"sql":"a`:                                          "unexpected end",
		`["id"]`:                                                    "is a list; want an object",
		`{"id":1,"body":{"size":1},"sql":"a"}`:                      "more than one query",
		`{"id":1,"pattern":"b","sql":"a"}`:                          "more than one query",
		`{"id":1,"kind":"SQL","body":"","sql":"a","pattern":"b"}`:   "sql a",
		`{"id":1,"kind":"es","body":{"size":1},"sql":"a"}`:          `elasticsearch {"size":1}`,
		`{"id":1,"kind":"regex","body":"","sql":null,"pattern":""}`: "regex ",
		`{"id":1,"body":null,"sql":"a"}`:                            "sql a",
	} {
		r, err := ParseRecord([]byte(line))
		got := string(r.Query.Kind) + " " + string(r.Query.Body)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) || line[0] == '{' && string(r.ID) != "1" {
			t.Errorf("%s: %s, id %s", line, got, r.ID)
		}
	}
	for _, line := range []string{"", "GET /", `1.2.3.4 "GET /a`, `{"id":1,"kind":"lisp"}`, `{"id":1`, `{"id":1,"kind":"sql"}`, `{"id":1,"took_ms":3}`, `{"id":1,"request":"GET nowhere"}`, `1.2.3.4 - - "-" 400`} {
		r, err := ParseRecord([]byte(line))
		if err == nil {
			t.Errorf("%s was read", line)
		}
		if strings.HasSuffix(line, "}") && string(r.ID) != "1" {
			t.Errorf("%s: id %s", line, r.ID)
		}
	}
}

func TestLinesAreBoundedAndCounted(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	var got []string
	err := Lines(strings.NewReader("a\n\n"+long+"\nb"), func(n int, line []byte, err error) error {
		got = append(got, strings.TrimSpace(string(line)))
		if err != nil || n == 2 {
			t.Error(n, err)
		}
		return nil
	})
	if err != nil || len(got) != 3 || got[1] != long || got[2] != "b" {
		t.Errorf("%d lines, %v", len(got), err)
	}
	stop := errors.New("enough")
	if err := Lines(strings.NewReader("a\nb\n"), func(int, []byte, error) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	over := 0
	many := &repeat{left: MaxRecord + 10}
	if err := Lines(many, func(_ int, _ []byte, err error) error {
		if err != nil {
			over++
		}
		return nil
	}); err != nil || over != 1 {
		t.Errorf("%d lines were too long, %v", over, err)
	}
}

// repeat reads as one long line.
type repeat struct{ left int }

func (r *repeat) Read(b []byte) (int, error) {
	if r.left == 0 {
		b[0] = '\n'
		r.left--
		return 1, nil
	}
	if r.left < 0 {
		return 0, io.EOF
	}
	n := min(len(b), r.left)
	for i := range n {
		b[i] = 'x'
	}
	r.left -= n
	return n, nil
}

func replayLines(log string, c ReplayConfig) (Replay, error) {
	t, err := NewReplayer(c)
	if err != nil {
		return Replay{}, err
	}
	err = Lines(strings.NewReader(log), func(n int, line []byte, err error) error {
		var r Record
		if err == nil {
			r, err = ParseRecord(line)
		}
		if err != nil {
			t.Unread("log", n, err)
			return nil
		}
		t.Add("log", n, &r)
		return nil
	})
	return t.Report(), err
}

func TestReplayCountsWhoWouldHaveBeenRefused(t *testing.T) {
	strict, err := New(Config{Limits: limits(t, `
classes: {app: {match: {opaque_id: ["app*"]}, rules: [{predictor: result_window, limit: 50}]}}
rules: [{predictor: result_window, limit: 100}]
`)})
	if err != nil {
		t.Fatal(err)
	}
	loose, err := New(Config{Limits: limits(t, "rules: [{predictor: scroll_ttl, limit: 1m}]")})
	if err != nil {
		t.Fatal(err)
	}
	log := `{"opaque_id":"app-1","request":"POST /a/_search?size=60"}
{"opaque_id":"app-1","request":"POST /a/_search?size=10"}
{"user":"ann","request":"POST /a/_search?size=60"}
{"user":"ann","request":"POST /a/_search?size=200"}
{"user":"bob","request":"POST /a/_search?size=20&scroll=1h"}
nonsense
9.9.9.9 - - [x] "GET /a/_search?size=101 HTTP/1.1" 200 1
`
	r, err := replayLines(log, ReplayConfig{Limits: strict, Against: loose})
	if err != nil {
		t.Fatal(err)
	}
	if r.Queries != 6 || r.Unread != 1 || r.Rejected != 3 || *r.Against != (ReplayDiff{Rejected: 1, Newly: 3, NoLonger: 1}) {
		t.Errorf("%+v %+v", r, r.Against)
	}
	if r.Rules[0].Name != "result_window" || r.Rules[0].Rejected != 3 {
		t.Errorf("%+v", r.Rules)
	}
	if e := r.Examples; len(e) != 3 || e[0].Line != 1 || e[0].Caller != "app-1" || e[0].Finding.Predictor != "result_window" || e[0].Text != "POST /a/_search?size=60" {
		t.Errorf("examples %+v", e)
	}
	if f := r.Faults; len(f) != 1 || f[0].Line != 6 || f[0].Log != "log" {
		t.Errorf("faults %+v", f)
	}
	byName := map[string]ReplayRow{}
	for _, c := range r.Callers {
		byName[c.Name] = c
	}
	if c := byName["ann"]; c.Queries != 2 || c.Rejected != 1 || c.Newly != 1 {
		t.Errorf("%+v", c)
	}
	if c := byName["bob"]; c.Rejected != 0 || c.NoLonger != 1 {
		t.Errorf("%+v", c)
	}
	all, err := replayLines(log, ReplayConfig{Limits: strict, Class: "app"})
	if err != nil || all.Rejected != 4 || all.Against != nil {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestReplayOfWhatIsKnownBesideTheQuery has times, calls, and parts missing.
func TestReplayOfWhatIsKnownBesideTheQuery(t *testing.T) {
	g, err := New(Config{Limits: Limits{Profile: ProfileStrict}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := replayLines(`{"sql":"SELECT * FROM a WHERE b LIKE '%x'","user":"ann","took_ms":1500,"calls":3}
{"sql":"SELECT * FROM a WHERE b LIKE '%y'","user":"ann","took_ms":2500}
{"sql":"SELECT b FROM a WHERE id = 1","user":"bob","took_ms":1}
9.9.9.9 - - [x] "POST /a/_search HTTP/1.1" 200 1 "-" "curl \"x\"" rt=0.250
9.9.9.9 - - [x] "GET /favicon.ico HTTP/1.1" 200 1
9.9.9.9 - - [x] "GET /a/_search?q=\x22x\x22 HTTP/1.1" 200 1
`, ReplayConfig{Limits: g})
	if err != nil {
		t.Fatal(err)
	}
	if r.Queries != 7 || r.Rejected != 4 || r.Partial != 1 || r.Skipped != 1 || r.Unread != 0 {
		t.Errorf("%+v", r)
	}
	if r.Took != 7.251 || r.RejectedTook != 7 {
		t.Errorf("took %v, of that rejected %v", r.Took, r.RejectedTook)
	}
	if s := r.Shapes[0]; s.Queries != 4 || s.Rejected != 4 || s.MaxTook != 2.5 || s.Line != 1 || s.Predictor != "leading_wildcard" || s.Text != "SELECT * FROM a WHERE b LIKE '%x'" {
		t.Errorf("shape %+v", s)
	}
	if c := r.Callers[0]; c.Name != "ann" || c.Queries != 4 || c.Took != 7 {
		t.Errorf("caller %+v", c)
	}
	if _, err := NewReplayer(ReplayConfig{}); err == nil {
		t.Error("a replay without limits")
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add([]byte(`{"id":7,"kind":"es","request":"GET /a%2Cb/_search?q=x%20y HTTP/1.1","body":{"size": 1}}`))
	f.Add([]byte(`10.0.0.1 - ann [x] "GET /a/_search?size=9 HTTP/1.1" 200 5`))
	f.Add([]byte(`{"pattern":"a+","flags":"i"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := ParseRecord(line)
		if err == nil && r.Query.Kind.index() < 0 {
			t.Fatalf("kind %q", r.Query.Kind)
		}
	})
}
