package graphql_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/graphql"
)

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{a}`, `query Q($n: [Int!]! = [1, {a: 2}] @d) @e { a: b(first: $n, x: {y: [1, -2.5e3, "s", E, null]}) @f { ...F ... on T { c } } } fragment F on T { d }`,
		`{"query": "{ a }", "variables": {"n": 5, "p": {"first": 3}}, "operationName": "Q", "extensions": {"persistedQuery": {}}}`,
		`[{"query": "{\n\u0061 \"\"\"x\"\"\" }"}, {"id": 1}]`, `"""d""" query A { a } mutation B { b } subscription C { c }`,
		`{ ...A } fragment A on T { ...B ...B } fragment B on T { ...C ...C } fragment C on T { a }`, `{ __schema { types { fields { type { fields { name } } } } } }`,
		"\xef\xbb\xbf{ a # b\n }", `{ a(b: """ \""" """) }`, `query={a(first:5)}&variables={}`, `{a(b:"\`, `{"query":"\ud83d\ude00 \u00`,
		"--x\r\nContent-Disposition: form-data; name=\"operations\"\r\n\r\n{\"query\": \"{a}\"}\r\n--x--",
	} {
		for kind := range uint8(4) {
			f.Add([]byte(seed), kind)
		}
	}
	f.Add([]byte("--x\r\nContent-Disposition: form-data; name=operations\r\n\r\n{a}\r\n--x--"), uint8(0))
	f.Fuzz(func(t *testing.T, body []byte, kind uint8) {
		q := cost.Query{Body: body}
		switch kind % 5 {
		case 1:
			q.ContentType = "application/graphql"
		case 2:
			q.ContentType = "multipart/form-data; boundary=x"
		case 3:
			q.Body, q.RawQuery = nil, string(body)
		case 4:
			q.ContentType = "application/x-www-form-urlencoded"
		}
		list, fault := read(t, q, cost.Options{})
		for _, m := range list {
			if !(m.Value >= 0) {
				t.Errorf("%+v", m)
			}
		}
		if fault == nil && len(list) == 0 {
			t.Error("a query that costs nothing")
		}
	})
}

func TestBodies(t *testing.T) {
	const document = `query($n: Int) { a(first: $n) { b } }`
	escaped := `{"query": "query($n: Int) {\n\ta(first: $n) {\u0020b }\n}", "variables": {"n": 40}}`
	form := "--xyz\r\nContent-Disposition: form-data; name=\"operations\"\r\n\r\n" + escaped +
		"\r\n--xyz\r\nContent-Disposition: form-data; name=\"0\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\n{\"query\": \"{a a}\"}\r\n--xyz--\r\n"
	values := url.Values{"query": {document}, "variables": {`{"n": 40}`}, "other": {"1"}}
	for _, c := range []struct {
		name string
		q    cost.Query
		want float64
		line string // that the offset is in, from there
	}{
		{"JSON", cost.Query{Body: []byte(`{"query": "` + document + `", "variables": {"n": 40}}`)}, 40, "a(first: $n) { b } }\""},
		{"JSON with escapes", cost.Query{Body: []byte(escaped)}, 40, "a(first: $n) {\\u0020"},
		{"members in another case and order", cost.Query{Body: []byte(`{"vari\u0061BLES": {"x": [{}], "\u006e": 40}, "QUERY": "` + document + `"}`)}, 40, "a(first"},
		{"variables as text", cost.Query{Body: []byte(`{"variables": "{\"n\": 40}", "query": "` + document + `"}`)}, 40, "a(first"},
		{"a number as text", cost.Query{Body: []byte(`{"variables": {"n": "40"}, "query": "` + document + `"}`)}, 40, "a(first"},
		{"a value twice", cost.Query{Body: []byte(`{"variables": {"n": 40, "n": 1}, "query": "` + document + `"}`)}, 40, "a(first"},
		{"no variables", cost.Query{Body: []byte(`{"variables": null, "query": "` + document + `"}`)}, graphql.DefaultList, "a(first"},
		{"a form with files", cost.Query{ContentType: `multipart/form-data; boundary="xyz"`, Body: []byte(form)}, 40, "a(first: $n) {\\u0020"},
		{"a form with files of which nobody says that it is one", cost.Query{Body: []byte(form)}, 40, "a(first: $n) {\\u0020"},
		{"a form of which nobody says that it is one", cost.Query{Body: []byte(values.Encode())}, 40, ""},
		{"a number below nothing", cost.Query{Body: []byte(`{"query": "` + document + `", "variables": {"n": -40}}`)}, 40, "a(first"},
		{"a program's number below nothing", cost.Query{Body: []byte(document), Args: []any{map[string]any{"n": -40}}}, 40, "a(first"},
		{"a form", cost.Query{ContentType: "application/x-www-form-urlencoded", Body: []byte(values.Encode())}, 40, ""},
		{"the URL", cost.Query{Method: "GET", RawQuery: values.Encode()}, 40, ""},
		{"plain text", cost.Query{Body: []byte(document), Args: []any{map[string]any{"n": 40}}}, 40, "a(first"},
		{"plain text and the URL's variables", cost.Query{ContentType: "application/graphql; charset=utf-8", Body: []byte(document), RawQuery: "variables=%7B%22n%22%3A40%7D"}, 40, "a(first"},
		{"the worse of two sources", cost.Query{Body: []byte(`{"query": "` + document + `", "variables": {"n": 1}}`), RawQuery: "variables={\"n\":40}"}, 40, "a(first"},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, fault := read(t, c.q, cost.Options{})
			if fault != nil {
				t.Fatal(fault)
			}
			m := find(list, cost.GQLNodes)
			if m.Value != c.want || m.Path != "query.a" {
				t.Errorf("%v at %s, want %v", m.Value, m.Path, c.want)
			}
			if c.line == "" && m.Offset != -1 || c.line != "" && (m.Offset < 0 || !strings.HasPrefix(string(c.q.Body[m.Offset:]), c.line)) {
				t.Errorf("offset %d is not at %q", m.Offset, c.line)
			}
		})
	}
}

func TestBatchesCountEachMember(t *testing.T) {
	body := `[{"query": "{a b}"}, {"operationName": "B", "query": "query A { a { b { c } } } query B { a }"}, {"extensions": {"persistedQuery": {"sha256Hash": "x"}}}]`
	list, fault := read(t, cost.Query{Body: []byte(body)}, cost.Options{})
	if fault != nil {
		t.Fatal(fault)
	}
	var got []string
	for _, m := range list {
		got = append(got, fmt.Sprintf("%d %s %v", m.Part, m.Predictor, m.Value))
	}
	const want = "0 gql_tokens 4, 0 gql_depth 1, 0 gql_cost 5, 1 gql_tokens 16, 1 gql_depth 1, 1 gql_cost 3.5, 2 stored_template 1, 0 batch 3, 0 gql_root_fields 3"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("%s\nwant %s", s, want)
	}
}

// TestTwoQueries has one in the URL and one in the body: which of them runs
// depends on the server, so both are measured.
func TestTwoQueries(t *testing.T) {
	q := cost.Query{Body: []byte(`{"query": "query A {a} query B { a { b { c } } }", "operationName": "A"}`), RawQuery: "query={a{b}}"}
	list, fault := read(t, q, cost.Options{})
	if fault != nil {
		t.Fatal(fault)
	}
	var depths []float64
	for _, m := range list {
		if m.Predictor == cost.GQLDepth {
			depths = append(depths, m.Value)
		}
	}
	if fmt.Sprint(depths) != "[1 2]" {
		t.Errorf("depths %v", depths)
	}
	q.RawQuery = "operationName=B"
	if list, _ = read(t, q, cost.Options{}); find(list, cost.GQLDepth).Value != 3 {
		t.Errorf("with two names of operations: %+v", list)
	}
}

// TestHostile has what is written to take long. It fails by timing out.
func TestHostile(t *testing.T) {
	var bomb, chain strings.Builder
	bomb.WriteString("{ ...F0 }")
	chain.WriteString("{ ...F0 }")
	for i := range 2000 {
		fmt.Fprintf(&bomb, " fragment F%d on T { a(first: 100) { ...F%d } ...F%d }", i, i+1, i+1)
		fmt.Fprintf(&chain, " fragment F%d on T { a { ...F%d } }", i, i+1)
	}
	bomb.WriteString(" fragment F2000 on T { x }")
	chain.WriteString(" fragment F2000 on T { x }")
	var many strings.Builder
	many.WriteString("query(")
	for i := range 4000 {
		fmt.Fprintf(&many, "$v%d: Int = 2 ", i)
	}
	many.WriteString(") { a(")
	for i := range 4000 {
		fmt.Fprintf(&many, "first: $v%d ", i)
	}
	many.WriteString(") { b } }")
	variables := `{"query": "` + many.String() + `", "variables": {` + strings.Repeat(`"v3": 7, `, 100_000) + `"v4": 9}}`

	for _, c := range []struct {
		name, body string
		p          cost.Predictor
		value      float64
	}{
		{"a bomb", bomb.String(), cost.GQLDepth, 2001},
		{"a chain", chain.String(), cost.GQLDepth, 2001},
		{"variables", variables, cost.GQLNodes, 9},
		{"one operation after another", strings.Repeat("{ ...F }", 6000) + " fragment F on T { a b c d e }", cost.GQLDepth, 1},
		{"comments", "{" + strings.Repeat("#{{{\n", 200_000) + "a }", cost.GQLDepth, 1},
		{"a long text", `{"query": "{ a(b: \"` + strings.Repeat(`\u0061`, 100_000) + `\") }"}`, cost.GQLDepth, 1},
		{"wide", "{" + strings.Repeat("a:b,", 15_000) + "}", cost.GQLAliases, 15_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, fault := read(t, cost.Query{Body: []byte(c.body)}, cost.Options{})
			m := find(list, c.p)
			if fault != nil || m.Value != c.value {
				t.Errorf("%s is %v: %v", c.p, m.Value, fault)
			}
			if len(m.Path) > 1000 || len(m.Detail) > 1000 {
				t.Errorf("%d and %d bytes of text", len(m.Path), len(m.Detail))
			}
		})
	}
	list, _ := read(t, cost.Query{Body: []byte(bomb.String())}, cost.Options{})
	if c := find(list, cost.GQLCost); !(c.Value > 1e300) {
		t.Errorf("a bomb costs %v", c.Value)
	}
}

func TestNoAllocations(t *testing.T) {
	q := cost.Query{ContentType: "application/json", RawQuery: "pretty", Body: []byte(typical)}
	var r graphql.Reader
	list := make([]cost.Measure, 0, 64)
	o := cost.Options{Hints: fakeHints{}}
	run := func() {
		if _, err := r.Read(list, q, o); err != nil {
			t.Fatal(err)
		}
	}
	run()
	o.Hints = nil
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestUnreadableIsTyped(t *testing.T) {
	var r graphql.Reader
	_, err := r.Read(nil, cost.Query{Body: []byte("{")}, cost.Options{})
	if _, ok := errors.AsType[*cost.Unreadable](err); !ok {
		t.Fatalf("%T", err)
	}
	if _, err = r.Read(nil, cost.Query{Body: []byte("{a}")}, cost.Options{}); err != nil { // the reader goes on
		t.Fatal(err)
	}
}

const typical = `{"operationName": "Dashboard", "variables": {"org": "bezoar", "first": 20, "after": null}, "query": "query Dashboard($org: String!, $first: Int = 10, $after: String) {\n  organization(login: $org) {\n    ...Header\n    repositories(first: $first, after: $after, orderBy: {field: PUSHED_AT, direction: DESC}) {\n      pageInfo { hasNextPage endCursor }\n      edges {\n        node {\n          id name description url\n          stars: stargazerCount\n          languages(first: 3) { nodes { name color } }\n          latest: releases(last: 1) @include(if: true) { nodes { tagName publishedAt } }\n        }\n      }\n    }\n  }\n}\n\nfragment Header on Organization {\n  id name avatarUrl(size: 80)\n  membersWithRole(first: 5) { totalCount nodes { login } }\n}"}`

func BenchmarkRead(b *testing.B) {
	var bomb strings.Builder
	bomb.WriteString("{ ...F0 }")
	for i := range 2000 {
		fmt.Fprintf(&bomb, " fragment F%d on T { a(first: 100) { ...F%d } ...F%d }", i, i+1, i+1)
	}
	bomb.WriteString(" fragment F2000 on T { x }")
	for name, body := range map[string]string{"typical": typical, "bomb": bomb.String()} {
		b.Run(name, func(b *testing.B) {
			var r graphql.Reader
			list := make([]cost.Measure, 0, 64)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Read(list, cost.Query{Body: []byte(body)}, cost.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkParse only parses what BenchmarkRead reads, with another parser and its
// limit of tokens: nothing is counted yet.
func BenchmarkParse(b *testing.B) {
	var request struct{ Query string }
	if err := json.Unmarshal([]byte(typical), &request); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(request.Query)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: request.Query}, 10_000); err != nil {
			b.Fatal(err)
		}
	}
}
