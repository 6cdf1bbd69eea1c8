package fingerprint

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzPath(f *testing.F) {
	for _, s := range []string{"", "/", "/a/../b", "/%2e%2E/%41%2f", "/a%", "/%%34%31", "*", "a/../b", "/a//./..//", "/\x00é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		once := canonPath(path)
		if again := canonPath(once); again != once {
			t.Errorf("%q becomes %q, then %q", path, once, again)
		}
		var s scratch
		s.appendTemplate(nil, []byte(once))
	})
}

func FuzzQuery(f *testing.F) {
	for _, s := range []string{"", "a=1&b=2", "b&a&&=", "%zz=+&%41=%2b", "a;b=1%3B", "q=%%34%31", "a=b=c&\x00%=", strings.Repeat("k=v&", 70)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		once := canonQuery(query)
		if again := canonQuery(once); again != once {
			t.Errorf("%q becomes %q, then %q", query, once, again)
		}
	})
}

func FuzzMedia(f *testing.F) {
	for _, s := range []string{"", "a/b", "application/json; charset=utf-8", `multipart/x; boundary="a b";c=d`, "a/b;x", ";;", `a/b;c="`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		once, _ := canonMedia(raw)
		if again, _ := canonMedia(once); again != once {
			t.Errorf("%q becomes %q, then %q", raw, once, again)
		}
	})
}

// FuzzJSON holds the canonicaliser against encoding/json: it accepts the same
// documents, what it writes means the same, and it writes it only one way.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		`{"b":[1,-0,1.50E+07],"a":{"":null}}`, `{"a":1,"a":2}`, `"\ud800\udc00\ud800\u0000\/é"`, `[[[]]] `, `{"a":`, "1 2", "\"\xff\"", "\x7f", `[true,false,nul]`,
		`{"\u0061b":"","ab":{},"longlonglong":1,"longlonglonh":2}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		once, ok := canonJSON(t, string(doc))
		valid := json.Valid(doc) && utf8.Valid(doc)
		if ok && !valid {
			t.Fatalf("%q is accepted", doc)
		}
		if !ok {
			if valid && depth(doc) <= maxDepth {
				t.Fatalf("%q is refused", doc)
			}
			return
		}
		if len(once) > len(doc) {
			t.Errorf("%q grows to %q", doc, once)
		}
		if again, ok := canonJSON(t, once); !ok || again != once {
			t.Errorf("%q becomes %q, then %q, %v", doc, once, again, ok)
		}
		if want, got := decode(t, doc), decode(t, []byte(once)); !reflect.DeepEqual(want, got) {
			t.Errorf("%q becomes %q: %v is not %v", doc, once, got, want)
		}
	})
}

// depth is how deep a valid document is nested.
func depth(doc []byte) (most int) {
	d := json.NewDecoder(bytes.NewReader(doc))
	n := 0
	for {
		tok, err := d.Token()
		if err != nil {
			return most
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			n++
			most = max(most, n)
		case json.Delim('}'), json.Delim(']'):
			n--
		}
	}
}

// decode reads a document without losing digits; exponents in one form.
func decode(t *testing.T, doc []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("decoding %q: %v", doc, err)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Fatalf("decoding %q: something follows", doc)
	}
	return plainNumbers(v)
}

func plainNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			v[name] = plainNumbers(e)
		}
	case []any:
		for i, e := range v {
			v[i] = plainNumbers(e)
		}
	case json.Number:
		mantissa, exp, ok := strings.Cut(strings.ToLower(v.String()), "e")
		if !ok {
			return mantissa
		}
		sign := ""
		if exp[0] == '-' {
			sign = "-"
		}
		exp = strings.TrimLeft(strings.TrimLeft(exp, "+-"), "0")
		if exp == "" {
			return mantissa + "e0"
		}
		return mantissa + "e" + sign + exp
	}
	return v
}

// FuzzMultipart checks that the boundary does not matter, wherever the body is
// cut, and that all else does. Parts that look like the beginning of one of the
// boundaries are left out: at the end of a head nobody can tell which it is.
func FuzzMultipart(f *testing.F) {
	f.Add([]byte("pre"), []byte("a: b\r\n\r\nvalue"), []byte("\r\n--CCC"), 10)
	f.Add([]byte(""), []byte(""), []byte(""), 0)
	f.Add([]byte("\r\n"), []byte("\r\n--"), []byte("-\r\n"), 40)
	f.Fuzz(func(t *testing.T, pre, one, two []byte, cut int) {
		for _, b := range [][]byte{pre, one, two} {
			if bytes.Contains(b, []byte("--A")) || bytes.Contains(b, []byte("--B")) {
				return
			}
		}
		body := func(boundary string, parts ...[]byte) []byte {
			out := append([]byte(nil), pre...)
			for _, p := range parts {
				out = append(append(append(out, "\r\n--"+boundary+" \r\n"...), p...), "x"...)
			}
			return append(out, "\r\n--"+boundary+"--\r\n"...)
		}
		var a, b, c scratch
		if !a.multipart(body("AAAA", one, two), "AAAA", false) || !b.multipart(body("BBBB", one, two), "BBBB", false) {
			t.Fatalf("not recognised: %q", body("AAAA", one, two))
		}
		if !bytes.Equal(a.buf, b.buf) || !bytes.Equal(a.skel, b.skel) {
			t.Errorf("the boundary matters:\n%q\n%q", a.buf, b.buf)
		}
		if c.multipart(body("AAAA", two, one), "AAAA", false); bytes.Equal(a.buf, c.buf) != bytes.Equal(one, two) {
			t.Errorf("the order of %q and %q does not matter", one, two)
		}
		x, y := body("AAAA", one, two), body("BBBB", one, two)
		if cut < 0 || cut > len(x) {
			return
		}
		var h, i scratch
		okx, oky := h.multipart(x[:cut], "AAAA", true), i.multipart(y[:cut], "BBBB", true)
		if okx != oky || okx && !bytes.Equal(h.buf, i.buf) {
			t.Errorf("cut at %d the boundary matters:\n%q\n%q", cut, h.buf, i.buf)
		}
	})
}

// FuzzWork feeds everything at once: it must not panic, and one scratch must
// give the same result however it was used before.
func FuzzWork(f *testing.F) {
	f.Add("GET", "/a/../b", "b=1&a=2", "application/json", []byte(`{"a":[1,{"b":2}]}`), true)
	f.Add("POST", "", "%", "multipart/x;boundary=b", []byte("--b\r\n\r\nx\r\n--b--"), true)
	f.Add("", "*", "&&", "application/x-ndjson", []byte("{}\n[\n"), false)
	f.Add("X", "//", "", "application/x-www-form-urlencoded", []byte("a=%&;"), true)
	used := new(scratch)
	f.Fuzz(func(t *testing.T, method, path, query, media string, body []byte, complete bool) {
		p, err := New(Key{}, Config{Ignore: []string{"json:$.a[*].b", "query:a", "form:a"}, MaxBody: 1 << 10})
		if err != nil {
			t.Fatal(err)
		}
		in := &Input{Method: method, Path: path, RawQuery: query, ContentType: media, Body: body, Complete: complete, Length: -1}
		fresh := new(scratch)
		fresh.run(p, in)
		used.run(p, in)
		if !bytes.Equal(fresh.buf, used.buf) || !bytes.Equal(fresh.skel, used.skel) {
			t.Errorf("a used scratch says\n%q %s, a fresh one\n%q %s", used.buf, used.skel, fresh.buf, fresh.skel)
		}
		if _, err := unframe(fresh.buf); err != nil {
			t.Error(err)
		}
	})
}
