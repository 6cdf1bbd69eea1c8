package gateway

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/guardfront"
)

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// An expression that a worker finds is found, in whatever form it is sent.
func TestExpressionsDoNotHide(t *testing.T) {
	const evil = `(a+)+$`
	escaped := url.QueryEscape(evil)
	g := &guardfront.Guard{Guard: newGuard(t, "unparsable: reject"), Kind: guard.Regex, Dialect: "js", Expressions: []string{"query:p", "form:p", "json:$.p"}}
	f, w := guarded(t, g, Config{})
	part := func(disposition, value string) string {
		return "--b\r\nContent-Disposition: form-data; " + disposition + "\r\n\r\n" + value + "\r\n--b--\r\n"
	}
	const form, several, plain = "application/x-www-form-urlencoded", "multipart/form-data; boundary=b", "text/plain"
	for _, c := range []struct{ name, target, kind, encoding, body string }{
		{"a JSON body", "/", "application/json", "", `{"p":"` + evil + `"}`},
		{"JSON of no type", "/", "", "", `{"p":"` + evil + `"}`},
		{"JSON that is called text", "/", plain, "", `{"p":"` + evil + `"}`},
		{"JSON that is called a form", "/", form, "", `{"p":"` + evil + `"}`},
		{"JSON that is called something", "/", "application/octet-stream", "", ` {"p":"` + evil + `"}`},
		{"JSON that is packed", "/", "application/json", "gzip", gzipped(t, `{"p":"`+evil+`"}`)},
		{"a form that is packed", "/", form, "gzip", gzipped(t, "p="+escaped)},
		{"a byte order mark", "/", "application/json", "", "\xef\xbb\xbf" + `{"p":"` + evil + `"}`},
		{"the first of two names", "/", "application/json", "", `{"p":"` + evil + `","p":"a"}`},
		{"the last of two names", "/", "application/json", "", `{"p":"a","p":"` + evil + `"}`},
		{"a name in large letters", "/", "application/json", "", `{"P":"` + evil + `"}`},
		{"a name with an escape", "/", "application/json", "", `{"\u0070":"` + evil + `"}`},
		{"a list of one", "/", "application/json", "", `{"p":["` + evil + `"]}`},
		{"deep beside it", "/", "application/json", "", `{"p":"` + evil + `","x":` + strings.Repeat("[", 1500) + strings.Repeat("]", 1500) + `}`},
		{"a comment", "/", "application/json", "", `{"p":"` + evil + `"/**/}`},
		{"another encoding", "/", "application/json", "", "\xff\xfe{\x00}\x00"},
		{"a form", "/", form, "", "p=" + escaped},
		{"a form with its set of characters", "/", "Application/x-www-form-urlencoded; charset=utf-8", "", "p=" + escaped},
		{"behind a semicolon", "/", form, "", "x=1;p=" + escaped},
		{"a form of parts", "/", several, "", part(`name="p"`, evil)},
		{"a form of parts without quotes", "/", several, "", part(`name=p`, evil)},
		{"a form that ends early", "/", several, "", strings.TrimSuffix(part(`name="p"`, evil), "--b--\r\n")},
		{"a form without a boundary", "/", "multipart/form-data", "", part(`name="p"`, evil)},
		{"a list in the URL", "/?p[]=" + escaped, "", "", ""},
		{"an item in the URL", "/?p%5B0%5D=" + escaped, "", "", ""},
		{"the second in the URL", "/?p=a&p=" + escaped, "", "", ""},
		{"in the URL, beside a body that is none", "/?p=" + escaped, "application/json", "", "{"},
	} {
		lines := []string{"Content-Length: " + fmt.Sprint(len(c.body))}
		if c.kind != "" {
			lines = append(lines, "Content-Type: "+c.kind)
		}
		if c.encoding != "" {
			lines = append(lines, "Content-Encoding: "+c.encoding)
		}
		conn := dial(t, f.addr)
		conn.send("POST " + c.target + " HTTP/1.1\nHost: h\n" + strings.Join(lines, "\n") + "\n\n")
		_, _ = conn.Write([]byte(c.body))
		if resp, answer := conn.answer("POST"); resp.StatusCode != 400 {
			t.Errorf("%s: %d %.200s", c.name, resp.StatusCode, answer)
		}
	}
	if n := w.deliveries(); n != 0 {
		t.Errorf("%d were delivered", n)
	}
	conn := dial(t, f.addr)
	for kind, body := range map[string]string{
		"image/png": "\x89PNG", several: part(`name="p"; filename="a"`, evil) /* a file is no text */, form: "q=" + escaped, "application/json": `{"q":"` + evil + `","x":{"p":"` + evil + `"}}`,
	} {
		conn.send(fmt.Sprintf("POST / HTTP/1.1\nHost: h\nContent-Type: %s\nContent-Length: %d\n\n", kind, len(body)))
		_, _ = conn.Write([]byte(body))
		if resp, answer := conn.answer("POST"); resp.StatusCode != 200 {
			t.Errorf("%s: %d %.200s", kind, resp.StatusCode, answer)
		}
	}
}

// A statement that is packed is not taken for text.
func TestStatementsThatArePacked(t *testing.T) {
	for _, places := range [][]string{nil, {"json:$.q"}} {
		f, w := guarded(t, &guardfront.Guard{Guard: newGuard(t, ""), Kind: guard.SQL, Statement: places}, Config{})
		if resp, answer := dial(t, f.addr).post("/", gzipped(t, `{"q":"DELETE FROM t"}`), "Content-Encoding: gzip"); resp.StatusCode != 400 || !strings.Contains(answer, "guard:encoding") {
			t.Errorf("%v: %d %s", places, resp.StatusCode, answer)
		}
		if n := w.deliveries(); n != 0 {
			t.Errorf("%v: %d were delivered", places, n)
		}
	}
}

// A body that is packed is read as what it holds, or refused, whatever a backend
// can unpack.
func TestPackedQueriesDoNotHide(t *testing.T) {
	statement, document := "DELETE FROM t", `{"query": "{ a }"}`
	for _, c := range []struct {
		name, body string
		fields     []string
		want       string // the rule; "" is that it goes on
	}{
		{"gzip", gzipped(t, cheap), []string{"gzip"}, ""},
		{"x-gzip", gzipped(t, cheap), []string{"X-GZIP"}, ""},
		{"nothing", cheap, []string{"identity"}, ""},
		{"costly gzip", gzipped(t, costly), []string{"gzip"}, "agg_product"},
		{"costly x-gzip", gzipped(t, costly), []string{"x-gzip"}, "agg_product"},
		{"costly deflate", deflated(zlib.NewWriter(nil), costly), []string{"deflate"}, "agg_product"},
		{"deflate without a head", deflated(must(flate.NewWriter(nil, 5)), costly), []string{"deflate"}, "encoding"},
		{"br", deflated(brotli.NewWriter(nil), cheap), []string{"br"}, "encoding"},
		{"zstd", deflated(must(zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))), cheap), []string{"zstd"}, "encoding"},
		{"what nobody knows", cheap, []string{"snappy"}, "encoding"},
		{"twice", gzipped(t, gzipped(t, cheap)), []string{"gzip, gzip"}, "encoding"},
		{"a list with nothing in it", gzipped(t, costly), []string{"identity, gzip"}, "encoding"},
		{"two fields", gzipped(t, costly), []string{"identity", "gzip"}, "encoding"},
		{"two fields, the other way round", gzipped(t, costly), []string{"gzip", "identity"}, "encoding"},
		{"not called gzip", gzipped(t, costly), nil, "encoding"},
		{"gzip that is none", cheap, []string{"gzip"}, "encoding"},
		{"gzip that is cut off", gzipped(t, cheap)[:20], []string{"gzip"}, "encoding"},
	} {
		var lines []string
		for _, f := range c.fields {
			lines = append(lines, "Content-Encoding: "+f)
		}
		f, w := guarded(t, &guardfront.Guard{Guard: newGuard(t, ""), Kind: guard.Elasticsearch}, Config{})
		resp, answer := dial(t, f.addr).post("/idx/_search", c.body, lines...)
		if ok := resp.StatusCode == 200; ok != (c.want == "") || !ok && (w.deliveries() != 0 || !strings.Contains(answer, `"guard:`+c.want+`"`)) {
			t.Errorf("%s: %d %.300s", c.name, resp.StatusCode, answer)
		}
		if len(c.fields) == 0 || c.fields[0] == "identity" && len(c.fields) == 1 {
			continue
		}
		for _, g := range []guardfront.Guard{ // nothing that is packed is read
			{Kind: guard.SQL}, {Kind: guard.SQL, Statement: []string{"json:$.q"}}, {Kind: guard.GraphQL}, {Kind: guard.Regex, Expressions: []string{"form:p"}},
		} {
			g.Guard = newGuard(t, "unparsable: reject")
			f, w := guarded(t, &g, Config{})
			body := gzipped(t, map[guard.Kind]string{guard.SQL: statement, guard.GraphQL: document, guard.Regex: "p=(a%2B)%2B%24"}[g.Kind])
			if resp, answer := dial(t, f.addr).post("/", body, lines...); resp.StatusCode != 400 || w.deliveries() != 0 {
				t.Errorf("%s, %s at %v: %d %.200s", c.name, g.Kind, g.Statement, resp.StatusCode, answer)
			}
		}
	}
}

// deflated is a text as a packer makes it.
func deflated(w interface {
	io.WriteCloser
	Reset(to io.Writer)
}, text string,
) string {
	var b bytes.Buffer
	w.Reset(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err) // its arguments are right
	}
	return v
}

// Whatever a backend takes a path for, its search is read.
func TestPathsDoNotHideSearches(t *testing.T) {
	f, w := guarded(t, &guardfront.Guard{Guard: newGuard(t, ""), Kind: guard.Elasticsearch}, Config{})
	for _, target := range []string{
		"/idx/_search", "//idx/_search", "/idx//_search", "/idx/_search/", "/idx/_search//", "/_all/_search", "/_all,idx/_search", "/%5fall/_search",
		"/idx/%5fsearch", "/idx/_searc%68", "/a/../idx/_search", "/idx/./_search", "/idx/_search/x/..", "http://h/idx/_search", "/idx/_search?pretty",
		"/<a-%7Bnow%2Fd%7D>/_search", "/idx,*%2f_scripts%2fx/_search", "/idx,*%2F_render%2Fx/_search", "/idx,*%2f%5fasync_search%2fx/_search",
	} {
		if resp, answer := dial(t, f.addr).post(target, costly); resp.StatusCode != 400 || !strings.Contains(answer, "guard:") {
			t.Errorf("%s: %d %.200s", target, resp.StatusCode, answer)
		}
	}
	if n := w.deliveries(); n != 0 {
		t.Errorf("%d were delivered", n)
	}
	if resp, answer := dial(t, f.addr).post("/<a-%7Bnow%2Fd%7D>/_search", cheap); resp.StatusCode != 200 {
		t.Errorf("an index of today: %d %.200s", resp.StatusCode, answer)
	}
}

// Names that callers choose are short, and none is the name of all others.
func TestNamesOfAskers(t *testing.T) {
	g := newGuard(t, "")
	f, _ := guarded(t, &guardfront.Guard{Guard: g, Kind: guard.Elasticsearch}, Config{})
	for _, name := range []string{guard.Others, strings.Repeat("é", 4000)} {
		if resp, answer := dial(t, f.addr).post("/i/_search", cheap, "X-Opaque-Id: "+name); resp.StatusCode != 200 {
			t.Errorf("%.20s: %d %s", name, resp.StatusCode, answer)
		}
	}
	for _, s := range g.Callers(10) {
		if s.Caller == guard.Others || len(s.Caller) > 256 || s.Checked != 1 {
			t.Errorf("%d queries of %q", s.Checked, s.Caller)
		}
	}
}

// What is only reported goes on, however many texts it has.
func TestManyTextsAreReported(t *testing.T) {
	f, _ := guarded(t, &guardfront.Guard{Guard: newGuard(t, "report_only: yes"), Kind: guard.Regex, Expressions: []string{"json:$.p"}}, Config{})
	if resp, answer := dial(t, f.addr).post("/", `{"p":["a"`+strings.Repeat(`,"a"`, 100)+`]}`); resp.StatusCode != 200 || resp.Header.Get(guardfront.Field) == "" {
		t.Errorf("%d %v %.200s", resp.StatusCode, resp.Header, answer)
	}
}
