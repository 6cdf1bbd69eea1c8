package guard

import (
	"testing"

	"github.com/bezoar-dev/bezoar"
)

func TestAlike(t *testing.T) {
	g, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	sql := func(text string) Query { return Query{Kind: SQL, Dialect: "postgres", Body: []byte(text)} }
	es := func(path, body string) Query {
		return Query{Kind: Elasticsearch, Method: "POST", Path: path, Body: []byte(body)}
	}
	for _, c := range []struct {
		a, b Query
		want bool
	}{
		{sql("SELECT a FROM t WHERE b = 'x' LIMIT 5"), sql("SELECT a FROM t WHERE b = 'much longer' LIMIT 5"), true},
		{sql("SELECT a FROM t WHERE b = 'x' LIMIT 5"), sql("SELECT a FROM t WHERE b = 'x' LIMIT 6"), false},
		{sql("DELETE FROM t"), sql("DELETE FROM u"), false},
		{sql("DELETE FROM t"), sql("DELETE FROM t WHERE a = 1"), false},
		{es("/a/_search", `{"size":5}`), es("/a/_search", ` { "size" : 5 } `), true},
		{es("/a/_search", `{"size":5}`), es("/a/_search?size=5", `{}`), false},
		{es("/a/_search", `{"size":5`), es("/a/_search", `{"size":7`), true},
		{es("/a/_search", `{"size":5}`), Query{Kind: OpenSearch, Method: "POST", Path: "/a/_search", Body: []byte(`{"size":5}`)}, false},
		{Query{Kind: "none"}, Query{Kind: "none"}, true},
		{Query{Kind: SQL, Body: []byte("x"), ContentEncoding: "br"}, Query{Kind: SQL, Body: []byte("y"), ContentEncoding: "br"}, true},
		{Query{Kind: SQL, Body: []byte("SELECT 1"), ContentEncoding: "br"}, sql("SELECT 1"), false},
	} {
		if got := g.Alike(&c.a, &c.b); got != c.want {
			t.Errorf("%s and %s: %v", c.a.Body, c.b.Body, got)
		}
	}
	if n := len(g.Callers(10)); n != 0 {
		t.Errorf("%d callers were counted", n)
	}
}

// The print of a query has nothing of the one before.
func TestPrintAfterOneThatIsPacked(t *testing.T) {
	g, err := New(Config{Print: func(b []byte) bezoar.Fingerprint { return bezoar.Fingerprint{byte(len(b)), 1} }})
	if err != nil {
		t.Fatal(err)
	}
	packed := Query{Kind: SQL, Body: []byte("x"), ContentEncoding: "br"}
	plain := Query{Kind: SQL, Body: []byte("SELECT 1")}
	for range 100 { // whichever scratch space is free
		var v Verdict
		g.Check(&packed, &v)
		if !v.Print.IsZero() {
			t.Fatal("a packed one has a print")
		}
		if g.Print(&plain).IsZero() {
			t.Fatal("a plain one has none")
		}
	}
}
