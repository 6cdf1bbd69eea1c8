package fingerprint

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// The canonical forms by themselves, as text.

func canonPath(path string) string { return string(appendPath(nil, path)) }

func canonQuery(query string, drop ...string) string {
	var s scratch
	s.pairs([]byte(query), drop)
	return string(s.buf)
}

func canonMedia(raw string) (string, medium) {
	var s scratch
	m := s.media(raw)
	return string(s.buf), m
}

func canonJSON(t testing.TB, doc string, ignore ...string) (string, bool) {
	t.Helper()
	r, err := Config{Ignore: ignore}.compile()
	if err != nil {
		t.Fatal(err)
	}
	var s scratch
	ok := s.json([]byte(doc), r.json)
	return string(s.buf), ok
}

func TestPath(t *testing.T) {
	for _, c := range []struct{ in, want, why string }{
		{"", "/", "the empty path of an http URL is /"},
		{"/", "/", ""},
		{"/a/b", "/a/b", ""},
		{"/A/b", "/A/b", "letters keep their case"},
		{"/%61%7e%2D", "/a~-", "unreserved characters need no escape"},
		{"/a%2fb", "/a%2Fb", "an escaped slash is not a slash; digits are upper-case"},
		{"/a%2Bb+c", "/a%2Bb+c", "+ is a plus in a path, and sub-delims are not unescaped"},
		{"/é b\"", "/%C3%A9%20b%22", "what a path must not hold is escaped"},
		{"/%c3%a9", "/%C3%A9", ""},
		{"/;v=1/@x:y", "/;v=1/@x:y", "matrix parameters stay"},
		{"/a//b/", "/a//b/", "empty segments stay"},
		{"/a/./b", "/a/b", "dot segments are resolved"},
		{"/a/../b", "/b", ""},
		{"/a/b/..", "/a/", ""},
		{"/a/.", "/a/", ""},
		{"/..", "/", ""},
		{"/../../a", "/a", "nothing is above the root"},
		{"/a//../b", "/a/b", "an empty segment is a segment"},
		{"/a/%2e%2E/b", "/b", "also when they are escaped"},
		{"/a/.../.b", "/a/.../.b", "not what only looks like them"},
		{"/a%", "/a%", "broken escapes leave the path as it is"},
		{"/a%4/../%7E", "/a%4/../%7E", ""},
		{"/%%34%31", "/%%34%31", "or else it would become /A at the second time"},
		{"*", "*", "OPTIONS *"},
		{"example.com:443", "example.com:443", "CONNECT"},
	} {
		if got := canonPath(c.in); got != c.want {
			t.Errorf("path %q: got %q, want %q (%s)", c.in, got, c.want, c.why)
		}
	}
}

func TestQuery(t *testing.T) {
	for _, c := range []struct{ in, want, why string }{
		{"", "", ""},
		{"a=1&b=2", "a=1&b=2", ""},
		{"b=2&a=1", "a=1&b=2", "sorted by name"},
		{"b=3&a=2&b=1&a=1", "a=2&a=1&b=3&b=1", "values of one name keep their order"},
		{"ab=1&a=1&a-=1", "a=1&a-=1&ab=1", "a name sorts before those it begins"},
		{"longname1b=1&longname1a=1", "longname1a=1&longname1b=1", "beyond eight bytes"},
		{"a", "a", "no value"},
		{"a=", "a=", "is not an empty value"},
		{"&&a=1&", "a=1", "empty pairs vanish"},
		{"=1&=", "=1&=", "an empty name is a name"},
		{"a=b=c", "a=b%3Dc", "the first = separates"},
		{"a=b+c&d=b%20c&e=b%2bc", "a=b%20c&d=b%20c&e=b%2Bc", "+ is a space, %2B a plus"},
		{"a[]=1&b%5B%5d=%31", "a%5B%5D=1&b%5B%5D=1", "one way of escaping"},
		{"q=é", "q=%C3%A9", ""},
		{"q=%C3%A9%ff", "q=%C3%A9%FF", "invalid UTF-8 is bytes"},
		{"a;b=1", "a;b=1", "a bare ; may be a separator to somebody"},
		{"a%3Bb=1", "a%3Bb=1", "an escaped one is not"},
		{"q=50%&b=%41", "b=A&q=50%", "one broken escape spoils one value"},
		{"q=%%34%31", "q=%%34%31", "and no other part of it is touched"},
		{"%zz=1&a=%7E", "%zz=1&a=~", "or one name"},
	} {
		if got := canonQuery(c.in); got != c.want {
			t.Errorf("query %q: got %q, want %q (%s)", c.in, got, c.want, c.why)
		}
	}
	if got := canonQuery("ts=1&a=2&t%73=3&ts&tss=4", "ts"); got != "a=2&tss=4" {
		t.Errorf("ignoring ts: got %q", got)
	}
}

func TestMedia(t *testing.T) {
	for _, c := range []struct {
		in, want string
		kind     byte
	}{
		{"", "", opaque},
		{"application/json", "application/json", jsonBody},
		{"  Application/JSON ; ", "application/json", jsonBody},
		{"application/json;charset=UTF-8", "application/json", jsonBody},
		{`application/json; charset="utf-8"`, "application/json", jsonBody},
		{"application/json; charset=ISO-8859-1", `application/json;charset="iso-8859-1"`, jsonBody},
		{"text/plain; charset=UTF-8", `text/plain;charset="utf-8"`, opaque},
		{"application/vnd.x+json; Version=B;a=1", `application/vnd.x+json;a="1";version="B"`, jsonBody},
		{"application/problem+json", "application/problem+json", jsonBody},
		{"application/x-ndjson", "application/x-ndjson", jsonLines},
		{"application/jsonlines; charset=utf-8", "application/jsonlines", jsonLines},
		{"text/x-ndjson", "text/x-ndjson", jsonLines},
		{"application/x-amz-json-1.1", "application/x-amz-json-1.1", jsonBody},
		{"application/x-www-form-urlencoded; charset=utf-8", "application/x-www-form-urlencoded", formBody},
		{"multipart/form-data; boundary=abc", "multipart/form-data", multipart},
		{`multipart/mixed; Boundary="a b"; x=y`, `multipart/mixed;x="y"`, multipart},
		{"multipart/form-data; boundary=a; boundary=b", "multipart/form-data; boundary=a; boundary=b", opaque},
		{"multipart/form-data; boundary=" + strings.Repeat("a", 71), "multipart/form-data; boundary=" + strings.Repeat("a", 71), opaque},
		{"multipart/form-data; x=1", "multipart/form-data; x=1", opaque},
		{"application/json; charset", "application/json; charset", opaque},
		{`application/json; a="b\"c"`, `application/json; a="b\"c"`, opaque},
		{`application/json; a="b" c`, `application/json; a="b" c`, opaque},
		{"application/json; a=b c", "application/json; a=b c", opaque},
		{"Text/<b>", "Text/<b>", opaque},
		{"a/b;1=1;2=2;3=3;4=4;5=5;6=6;7=7;8=8;9=9", "a/b;1=1;2=2;3=3;4=4;5=5;6=6;7=7;8=8;9=9", opaque},
	} {
		got, m := canonMedia(c.in)
		if got != c.want || m.kind != c.kind {
			t.Errorf("Content-Type %q: got %q read as %c, want %q read as %c", c.in, got, m.kind, c.want, c.kind)
		}
	}
}

func TestJSON(t *testing.T) {
	for _, c := range []struct{ in, want, why string }{
		{` { "b" : [ 1 , 2 ] , "a" : null } `, `{"a":null,"b":[1,2]}`, "no white space, sorted members"},
		{`{"b":{"d":1,"c":2},"a":1}`, `{"a":1,"b":{"c":2,"d":1}}`, "at every level"},
		{`[3,1,2]`, `[3,1,2]`, "elements keep their order"},
		{`{}`, `{}`, ""},
		{`[ ]`, `[]`, ""},
		{`"x"`, `"x"`, ""},
		{` true`, `true`, ""},
		{`false`, `false`, ""},
		{`{"a":1,"b":2,"a":3}`, `{"a":1,"a":3,"b":2}`, "names that occur twice are all kept, in order"},
		{`{"ab":1,"a":1,"":1}`, `{"":1,"a":1,"ab":1}`, ""},
		{`{"longname1b":1,"longname1a":1}`, `{"longname1a":1,"longname1b":1}`, ""},
		{`[1,1.0,1.00,1e0,10e-1,-0,0]`, `[1,1.0,1.00,1e0,10e-1,-0,0]`, "numbers keep their digits"},
		{`[1E5,1e+5,1e+005,1E-07,1e-0,2.5E00]`, `[1e5,1e5,1e5,1e-7,1e0,2.5e0]`, "exponents have one form"},
		{`[9007199254740993,9007199254740992,1e400]`, `[9007199254740993,9007199254740992,1e400]`, "never through a float"},
		{`"\u0041\/\u00e9\u20AC\ud83d\ude00"`, `"A/é€😀"`, "escapes become characters"},
		{`"\b\f\n\r\t\"\\\u0000\u001F\u007f"`, `"\b\f\n\r\t\"\\\u0000\u001f` + "\x7f" + `"`, "except where JSON forbids them"},
		{`"\u000a\u0022\u005c"`, `"\n\"\\"`, ""},
		{`"\uD800x\udc00\uDBFF\ud83d\ude00"`, `"\ud800x\udc00\udbff😀"`, "half surrogate pairs stay escapes"},
		{`{"\u0061":1,"a":2}`, `{"a":1,"a":2}`, "names are strings"},
		{`"é"`, "\"é\"", "Unicode is not normalised"},
	} {
		got, ok := canonJSON(t, c.in)
		if !ok || got != c.want {
			t.Errorf("JSON %s: got %s, %v; want %s (%s)", c.in, got, ok, c.want, c.why)
		}
	}
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	if _, ok := canonJSON(t, deep(maxDepth)); !ok {
		t.Errorf("JSON nested %d deep is opaque", maxDepth)
	}
	for _, in := range []string{
		"", " ", "{", "[1,]", "{\"a\":1,}", "{a:1}", "{\"a\"}", "{\"a\":}", "[1 2]", "[,1]", "1 2", "{} x", "01", "-", "1.", ".5", "+1", "1e", "1e+",
		"tru", "nul", "True", "NaN", `"a`, `"\x"`, `"\u12g4"`, `"\u123`, "\"\n\"", "\"\x01\"", "\"\xff\"", "{\"\xc3\":1}", "\ufeff{}", "'a'", deep(maxDepth + 1), "]", "}",
	} {
		if got, ok := canonJSON(t, in); ok {
			t.Errorf("JSON %q: got %q, want it opaque", in, got)
		}
	}
}

func TestJSONIgnore(t *testing.T) {
	for _, c := range []struct{ rules, in, want string }{
		{"$.ts", `{"ts":1,"a":2}`, `{"a":2}`},
		{"$.ts", `{"b":{"ts":1},"t\u0073":{"x":[1]}}`, `{"b":{"ts":1}}`},
		{"$.ts", `[{"ts":1}]`, `[{"ts":1}]`},
		{"$.ts", `{"ts":1}`, `{}`},
		{"$.a.b", `{"a":{"b":1,"c":2},"b":3}`, `{"a":{"c":2},"b":3}`},
		{"$.items[*].id", `{"items":[{"id":1,"n":1},{"n":2,"id":2},3]}`, `{"items":[{"n":1},{"n":2},3]}`},
		{"$[*][*]", `[[1,2],[3],4]`, `[[],[],4]`},
		{`$['odd "name']`, `{"odd \"name":1,"x":1}`, `{"x":1}`},
		{"$['a.b'].c", `{"a.b":{"c":1,"d":1}}`, `{"a.b":{"d":1}}`},
		{"$.a $.a.b $.c", `{"a":{"b":1},"c":1,"d":1}`, `{"d":1}`},
		{"$.é", `{"\u00e9":1,"d":1}`, `{"d":1}`},
	} {
		var rules []string
		if strings.Contains(c.rules, "odd") {
			rules = []string{"json:" + c.rules}
		} else {
			for r := range strings.FieldsSeq(c.rules) {
				rules = append(rules, "json:"+r)
			}
		}
		if got, ok := canonJSON(t, c.in, rules...); !ok || got != c.want {
			t.Errorf("%s without %s: got %s, %v; want %s", c.in, c.rules, got, ok, c.want)
		}
	}
}

// unframe takes a canonical request apart again, which shows that the framing
// loses nothing: whatever can be read back cannot collide.
func unframe(buf []byte) (fields []string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the frame does not parse: %v", r)
		}
	}()
	b := buf[32+len(tagWork):]
	number := func() int { n := binary.BigEndian.Uint32(b); b = b[4:]; return int(n) }
	field := func() string { n := number(); f := string(b[:n]); b = b[n:]; return f }
	values := func() string {
		vs := []string{}
		for range number() {
			vs = append(vs, field())
		}
		return fmt.Sprintf("%q", vs)
	}
	fields = append(fields, field(), field(), field(), field())
	n := int(b[0])
	b = b[1:]
	for range n {
		fields = append(fields, field(), values())
	}
	if len(b) > 0 {
		fields = append(fields, values(), string(b))
	}
	return fields, nil
}

func TestFramingLosesNothing(t *testing.T) {
	p, err := New(Key{}, Config{Headers: []string{"X-B", "X-A"}})
	if err != nil {
		t.Fatal(err)
	}
	var s scratch
	s.run(p, &Input{
		Method: "PUT", Path: "/p%71", RawQuery: "b=1&a", ContentType: "Text/Plain; charset=X",
		Header: http.Header{"X-A": {" 1 ", ""}, "Content-Encoding": {"GZIP"}}, Body: []byte("body"), Complete: true,
	})
	got, err := unframe(s.buf)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"PUT", "/pq", "a&b=1", `text/plain;charset="x"`, "x-a", `["1" ""]`, "x-b", `[]`, `["gzip"]`, "Obody"}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if string(s.skel) != "PUT /pq?a&b=int1 text/plain x-a:int1,empty x-b: word3" {
		t.Errorf("skeleton %s", s.skel)
	}
}

// A run allocates nothing once its buffers have grown.
func TestNoAllocations(t *testing.T) {
	p, err := New(Key{}, Config{Headers: []string{"Accept"}, Ignore: []string{"json:$.ts", "query:ts"}})
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{"Accept": {"*/*"}}
	doc, err := json.Marshal(map[string]any{"rows": []any{map[string]any{"id": 1, "name": "Ada"}, 2, "x"}, "ts": 5})
	if err != nil {
		t.Fatal(err)
	}
	multi := "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--b--\r\n"
	for _, in := range []Input{
		{Method: "GET", Path: "/a/%7Eb/../c", RawQuery: "b=1&a=%20&ts=1"},
		{Method: "POST", Path: "/a", ContentType: "application/octet-stream", Body: make([]byte, 1024)},
		{Method: "POST", Path: "/a", ContentType: "application/json; charset=utf-8", Body: doc},
		{Method: "POST", Path: "/a", ContentType: "application/json", Body: []byte(`{"b":"\u00e9","a":[{"z":1,"y":2}]}`)},
		{Method: "POST", Path: "/a", ContentType: "application/x-ndjson", Body: []byte("{\"b\":1,\"a\":2}\n[3]\n")},
		{Method: "POST", Path: "/a", ContentType: "application/x-www-form-urlencoded", Body: []byte("b=1&a=x+y")},
		{Method: "POST", Path: "/a", ContentType: "multipart/form-data; boundary=b", Body: []byte(multi)},
	} {
		in.Header, in.Complete = header, true
		var s scratch
		if n := testing.AllocsPerRun(100, func() { s.run(p, &in) }); n != 0 {
			t.Errorf("%s %s %s: %v allocations", in.Method, in.Path, in.ContentType, n)
		}
	}
}
