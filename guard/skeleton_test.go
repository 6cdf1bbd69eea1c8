package guard

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar"
)

// printing is a guard whose shapes are under a key.
func printing(tb testing.TB, scope string) *Guard {
	tb.Helper()
	g, err := New(Config{Scope: scope, Print: func(skeleton []byte) bezoar.Fingerprint {
		h := hmac.New(sha256.New, []byte("a key"))
		h.Write(skeleton)
		return bezoar.Fingerprint(h.Sum(nil)[:16])
	}})
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func es(body string) Query {
	return Query{Kind: Elasticsearch, Method: "POST", Path: "/logs-2026.11.28/_search", Body: []byte(body)}
}

// Each group holds queries of one shape, which no other group has.
func TestShapes(t *testing.T) {
	sql := func(text string) Query { return Query{Kind: SQL, Dialect: "mysql", Body: []byte(text)} }
	gql := func(text string) Query {
		return Query{Kind: GraphQL, ContentType: "application/json", Body: []byte(text)}
	}
	pg := func(text string) Query { return Query{Kind: SQL, Dialect: "postgres", Body: []byte(text)} }
	in := func(path, text string) Query { // a language within a body
		return Query{Kind: Elasticsearch, Method: "POST", Path: path, Body: []byte(`{"query":` + quoted(text) + `}`)}
	}
	other := es(`{"query":{"term":{"user.id":"x"}}}`)
	other.Path = "/logs-2026.11.28/_count"
	elsewhere := es(`{"query":{"term":{"user.id":"x"}}}`)
	elsewhere.Path = "/logs-2026.11.29/_search"
	panel := `{"size":0,"query":{"bool":{"filter":[{"range":{"@timestamp":{"gte":"%s","lte":"%s"}}},{"terms":{"user.id":[%s]}}]}},"aggs":{"2":{"terms":{"field":"host","size":%d}}}}`
	groups := [][]Query{
		{es(`{"query":{"term":{"user.id":"x"}}}`), es(`{"query": {"term": {"user.id": "a much longer text \" with: {quotes}"}}}`), elsewhere},
		{
			es(fmt.Sprintf(panel, "2026-11-27T00:00:00Z", "2026-11-28T00:00:00Z", `"a"`, 10)),
			es(fmt.Sprintf(panel, "2025-01-03T11:00:00Z", "2025-01-04T09:30:00Z", `"a","b","c","d"`, 10)),
			es(strings.Replace(fmt.Sprintf(panel, "now-1d", "now", `"zz"`, 12), `"2"`, `"17"`, 1)),
		},
		{es(fmt.Sprintf(panel, "now-1d", "now", `"a"`, 5000))}, // another magnitude
		{es(`{"query":{"term":{"user.name":"x"}}}`)},
		{other},
		{
			es(`{"query":{"bool":{"should":[{"prefix":{"a":"x"}},{"prefix":{"a":"y"}}]}}}`),
			es(`{"query":{"bool":{"should":[{"prefix":{"a":"y"}},{"prefix":{"a":"z"}},{"prefix":{"a":"some"}}]}}}`),
		},
		{
			sql(`SELECT name FROM users WHERE id = 17`), sql(`select name from users where id = 4711 -- for you`),
			sql(`SELECT name FROM users WHERE id = 'it\'s a name' /* trace=00-abc */`), sql("SELECT name\nFROM users WHERE id = \"x\""),
		},
		{sql(`SELECT mail FROM users WHERE id = 17`)},
		{pg(`SELECT tag FROM users WHERE name = E'it\'s'`), pg(`SELECT tag FROM users WHERE name = E'\\ or else'`)},
		{pg(`SELECT mail FROM users WHERE name = $$it's$$`), pg(`SELECT mail FROM users WHERE name = $q$some $$ other$q$`)},
		{in("/_query", `FROM logs | WHERE level == "a" | KEEP msg | LIMIT 20`), in("/_query", `FROM logs | WHERE level == "b c" | KEEP msg | LIMIT 20`)},
		{in("/_query", `FROM logs | WHERE host == "a" | KEEP msg | LIMIT 20`)},
		{in("/_sql", `SELECT msg FROM logs WHERE level = 'a' LIMIT 20`), in("/_sql", `SELECT msg FROM logs WHERE level = 'b' LIMIT 20`)},
		{in("/_sql", `SELECT usr FROM logs WHERE host = 'a' LIMIT 20`)},
		{in("/logs/_eql/search", `process where name == "sh"`), in("/logs/_eql/search", `process where name == "awk"`)},
		{in("/logs/_eql/search", `network where port == 22`)},
		{
			gql(`{"query":"query q($id: ID!) { user(id: $id) { name } }","variables":{"id":"a"}}`),
			gql(`{"variables":{"id":"other"},"query":"query q($id: ID!) { user(id: $id) { name } }"}`),
		},
		{{Kind: GraphQL, Body: []byte(`{ user(id: "a") { name } }`)}, {Kind: GraphQL, Body: []byte(`{ user(id: "some other") { name } }`)}},
		{{Kind: GraphQL, Body: []byte(`{ user(id: "a") { mail } }`)}},
		{
			{Kind: Elasticsearch, Method: "GET", Path: "/a/_search", RawQuery: "q=a:1&size=10"},
			{Kind: Elasticsearch, Method: "GET", Path: "/a/_search", RawQuery: "size=11&q=a:2"},
		},
	}
	g := printing(t, "r")
	seen := map[bezoar.Fingerprint]int{}
	for i, group := range groups {
		first := check(g, group[0])
		if first.Print.IsZero() {
			t.Errorf("group %d was not read: %+v", i, first)
		}
		if j, ok := seen[first.Print]; ok {
			t.Errorf("groups %d and %d have one shape", i, j)
		}
		seen[first.Print] = i
		for _, q := range group[1:] {
			if v := check(g, q); v.Print != first.Print || v.Shape != first.Shape || g.Print(&q) != v.Print {
				t.Errorf("group %d: %s has a shape of its own", i, q.Body)
			}
		}
		if v := check(printing(t, "s"), group[0]); v.Print == first.Print {
			t.Errorf("group %d has the same shape in another scope", i)
		}
	}
	for _, s := range g.Shapes(100) {
		if len(s.Shape) != 16 || !strings.HasPrefix(s.Fingerprint.String(), s.Shape) {
			t.Errorf("%s is not how %v begins", s.Shape, s.Fingerprint)
		}
	}
}

func TestWhatIsNotReadHasNoShape(t *testing.T) {
	g := printing(t, "r")
	packed := es("\x1f\x8b broken")
	packed.ContentEncoding = "gzip"
	stored := es(`{"id":"t","params":{}}`)
	stored.Path = "/a/_search/template"
	for _, q := range []Query{es(`{"query":`), packed, stored, {Kind: SQL, Body: []byte("SELECT 'a")}} {
		if v := check(g, q); !v.Print.IsZero() || v.Shape == 0 {
			t.Errorf("%s: %v %x", q.Body, v.Print, v.Shape)
		}
		if !g.Print(&q).IsZero() {
			t.Errorf("%s has a shape", q.Body)
		}
	}
	gone := es(`{}`)
	gone.Unread = "nobody has brought it"
	if v := check(g, gone); !v.Print.IsZero() || v.Verdict != Rejected || v.Findings[0].Predictor != "unparsable" || !strings.Contains(v.Findings[0].Detail, gone.Unread) {
		t.Errorf("%+v", v)
	}
	plain, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if q := es(`{}`); !plain.Print(&q).IsZero() {
		t.Error("a shape without a key")
	}
	if v := check(plain, es(`{}`)); !v.Print.IsZero() || v.Shape == 0 {
		t.Errorf("without a key: %v %x", v.Print, v.Shape)
	}
}

// What is learned of the data leaves shapes as they are: a quarantine would not
// find them again.
func TestShapesDoNotDependOnHints(t *testing.T) {
	store := &HintStore{}
	g := printing(t, "r")
	g.config.Hints = store
	q := es(`{"size":0,"aggs":{"a":{"terms":{"field":"user.id","size":5}},"b":{"cardinality":{"field":"user.id"}},"c":{"terms":{"field":"host"}}},"query":{"query_string":{"query":"a"}}}`)
	before := g.Print(&q)
	set, _, err := ParseHints("h", []byte(`{"logs-*": {docs: 5e9, shards: 60, mapped_fields: 900, fields: {user.id: unique, host: 3M}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Set(Polled, set, time.Now()); err != nil {
		t.Fatal(err)
	}
	if g.Print(&q) != before || before.IsZero() {
		t.Error("another shape with hints")
	}
}

// Whatever the values, and however often members are repeated, the names are the
// same.
func TestNamesDoNotDependOnValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.String(), 3, 3).Draw(t, "texts")
		n := rapid.IntRange(1, 5).Draw(t, "n")
		var a, b wordSet
		a.keys(fmt.Appendf(nil, `{"a1": %q, "b": [%s{"c": 1}]}`, "x", strings.Repeat(`{"c": 2}, `, n)), false)
		b.keys([]byte(`{"b" : [{"c":`+quoted(texts[0])+`}], "a22":`+quoted(texts[1])+`}`), false)
		if a != b {
			t.Fatalf("%q", texts)
		}
	})
}

func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		if r == '"' || r == '\\' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String() + `"`
}

func TestAKeyCostsNoAllocation(t *testing.T) {
	g, err := New(Config{Print: func(b []byte) bezoar.Fingerprint { return bezoar.Fingerprint{byte(len(b))} }})
	if err != nil {
		t.Fatal(err)
	}
	q, v, d := dashboardQuery(), Verdict{}, newScratch()
	g.scratches.New = func() any { return d } // under the race detector a pool forgets at random
	if n := testing.AllocsPerRun(100, func() { g.Check(q, &v) }); n >= 1 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzSkeleton(f *testing.F) {
	f.Add(dashboard, "a=b&c", false)
	f.Add(`SELECT "a\" FROM t -- x`, "&&=", true)
	f.Add(`{"a\\": "\`, "", true)
	f.Fuzz(func(t *testing.T, text, query string, escapes bool) {
		var n, again wordSet
		n.keys([]byte(text), escapes)
		n.words([]byte(text), escapes)
		n.parameters(query)
		again.parameters(query)
		again.words(bytes.Clone([]byte(text)), escapes)
		again.keys([]byte(text), escapes)
		if n != again {
			t.Error("not the same twice")
		}
	})
}

func BenchmarkSkeleton(b *testing.B) {
	body := []byte(dashboard)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		var n wordSet
		n.keys(body, false)
	}
}
