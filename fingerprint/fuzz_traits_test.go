package fingerprint

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar"
)

// headOf reads fields from lines "name: value".
func headOf(text string) pairsOf {
	var l pairsOf
	for line := range strings.SplitSeq(text, "\n") {
		name, value, _ := strings.Cut(line, ": ")
		l = append(l, name, value)
	}
	return l
}

func fuzzPrinter(t *testing.T) *Printer {
	t.Helper()
	p, err := New(Key{}, Config{Volatile: []string{"X-Nonce"}, MaxBody: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func addTraits(f *testing.F) {
	f.Helper()
	f.Add("GET", "a=1&b=%zz&&c", "Host: h\nX-Nonce: 1\nCookie: a=b; c;; =d\nConnection: x, close\nX: 2", "", []byte(nil), true)
	f.Add("POST", "", "Via: \x00\nTraceparent: {\nContent-Encoding: identity", "application/json", []byte(`{"a":[1,{"b":{"c":{"d":[true]}}},"\ud800\u00e9"],"":-0.5e+9}`), true)
	f.Add("POST", "%", "", "application/json", []byte(`{"password":"x","a":[12`), false)
	f.Add("PUT", "&&", ": \n\n", "application/x-www-form-urlencoded", []byte("a=%41&b&c=+"), false)
	f.Add("", "", "A: b", "application/x-ndjson", []byte("{}\n[[[[[[1]]]]]]\nx"), true)
	f.Add("M", "q=\xff", "Cookie", "multipart/form-data; boundary=b", []byte("--b\r\n\r\n"), true)
}

// FuzzVariant holds Variant to what it leaves out: the case of names, volatile
// fields, and nothing else of the body.
func FuzzVariant(f *testing.F) {
	addTraits(f)
	f.Fuzz(func(t *testing.T, method, query, fields, media string, body []byte, complete bool) {
		p := fuzzPrinter(t)
		l := headOf(fields)
		in := &Input{Method: method, Path: "/x", RawQuery: query, ContentType: media, Body: body, Complete: complete, Length: -1, Fields: l}
		before := p.Variant(in, bezoar.Fingerprint{})
		if p.Variant(in, bezoar.Fingerprint{}) != before {
			t.Fatal("the same request has two variants")
		}
		other := slices.Clone(l)
		for i := range len(l) / 2 {
			up := []byte(l[2*i])
			for j, c := range up {
				if c >= 'a' && c <= 'z' {
					up[j] = c &^ 0x20
				}
			}
			other[2*i] = string(up)
		}
		in.Fields = append(other, "x-NONCE", "n", "X-B3-Sampled", "1", "Content-Length", "9")
		if p.Variant(in, bezoar.Fingerprint{}) != before {
			t.Error("what is left out counts")
		}
		in.Fields = l
		for i := range min(len(body), p.MaxBody()) {
			in.Body = bytes.Clone(body)
			in.Body[i] ^= 1
			if p.Variant(in, bezoar.Fingerprint{}) == before {
				t.Errorf("byte %d of the body does not count", i)
			}
		}
	})
}

// FuzzFeatures checks bounds, order, and that a run leaves nothing behind for the
// next one.
func FuzzFeatures(f *testing.F) {
	addTraits(f)
	used := new(scratch)
	f.Fuzz(func(t *testing.T, method, query, fields, media string, body []byte, complete bool) {
		p := fuzzPrinter(t)
		in := &Input{Method: method, Path: "/x", RawQuery: query, ContentType: media, Body: body, Complete: complete, Length: -1, Fields: headOf(fields)}
		got := p.Features(in, bezoar.Fingerprint{1}, nil)
		if len(got) < 2 || len(got) > MaxFeatures {
			t.Fatalf("%d features", len(got))
		}
		for i := 1; i < len(got); i++ {
			if got[i] <= got[i-1] {
				t.Fatalf("feature %x follows %x", got[i], got[i-1])
			}
		}
		used.run(p, in)
		used.traits(p, in, bezoar.Fingerprint{1}, 0)
		if again := used.feat.choose(nil); !slices.Equal(got, again) {
			t.Errorf("a used scratch finds %x, another one %x", again, got)
		}
		for _, feature := range got {
			if Lacks(got, feature) {
				t.Errorf("work lacks its feature %x", feature)
			}
		}
	})
}

// FuzzFeatureText checks that every feature has a text, that it is fit to be
// shown, and that no secret is in it.
func FuzzFeatureText(f *testing.F) {
	addTraits(f)
	f.Fuzz(func(t *testing.T, method, query, fields, media string, body []byte, complete bool) {
		p := fuzzPrinter(t)
		const secret = "hunter2"
		if strings.Contains(method+query+fields+media+string(body), "hunter") {
			return
		}
		l := append(headOf(fields), "Authorization", "Basic "+secret, "X-Api-Key", secret, "Cookie", "id="+secret)
		if !strings.HasSuffix(query, "&") && query != "" {
			query += "&"
		}
		in := &Input{Method: method, Path: "/x", RawQuery: query + "token=" + secret, ContentType: media, Body: body, Complete: complete, Length: -1, Fields: l}
		for _, feature := range p.Features(in, bezoar.Fingerprint{1}, nil) {
			text, ok := p.FeatureText(in, bezoar.Fingerprint{1}, feature)
			if !ok || text == "" || len(text) > 1024 {
				t.Fatalf("feature %x has the text %q", feature, text)
			}
			if strings.Contains(text, secret) {
				t.Errorf("a secret is shown: %s", text)
			}
			if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune("<>&'`", r) }) {
				t.Errorf("not fit to be shown: %q", text)
			}
		}
	})
}
