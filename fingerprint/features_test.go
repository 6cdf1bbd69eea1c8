package fingerprint_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/fingerprint"
)

// texts are the texts of all features, sorted.
func texts(t interface{ Fatalf(string, ...any) }, p *fingerprint.Printer, in *fingerprint.Input, client bezoar.Fingerprint) []string {
	var out []string
	for _, f := range p.Features(in, client, nil) {
		text, ok := p.FeatureText(in, client, f)
		if !ok {
			t.Fatalf("the feature %x has no text", f)
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

func TestFeatures(t *testing.T) {
	p := printer(t, fingerprint.Config{Ignore: []string{"query:ts"}, Volatile: []string{"X-Nonce"}, MaxBody: 64})
	me := p.Client("me")
	cut := post(jsonType, `{"theme":"neon","n":12`)
	cut.Complete, cut.Length = false, 5000
	cutForm := post(formType, "a=1&b=2")
	cutForm.Complete, cutForm.Length = false, -1
	for name, tt := range map[string]struct {
		in     *fingerprint.Input
		client bezoar.Fingerprint
		want   []string
	}{
		"nothing": {get("/", ""), bezoar.Fingerprint{}, []string{"method GET"}},
		"caller":  {get("/", ""), me, []string{"method GET", "the same caller"}},
		"headers": {
			sending(get("/", ""), "X-Theme", "neon", "x-theme", "dark", "X-Request-Id", "1", "X-Nonce", "2", "Connection", "close, X-Hop", "X-Hop", "3", "Content-Length", "0"),
			bezoar.Fingerprint{},
			[]string{
				"method GET", "header X-Theme present", "header X-Theme: neon", "header X-Theme: dark",
				"header X-Request-Id present", "header X-Nonce present",
			},
		},
		"an odd request id": {
			sending(get("/", ""), "X-Request-Id", "<script>"),
			bezoar.Fingerprint{},
			[]string{"method GET", "header X-Request-Id present", `header X-Request-Id: "\x3cscript\x3e"`},
		},
		"cookies": {
			sending(get("/", ""), "Cookie", "theme=neon;  session=abc=;; flag"),
			bezoar.Fingerprint{},
			[]string{
				"method GET", "header Cookie present", "cookie theme present", "cookie theme (value hidden)",
				"cookie session present", "cookie session (value hidden)", `cookie "" present`, `cookie "" (value hidden)`,
			},
		},
		"secrets": {
			sending(get("/", "api_key=hunter2&u=https://x.example/?t=hunter2"), "Authorization", "Bearer hunter2", "X-Jot", "eyJhunter2", "X-Ref", "https://me:hunter2@x.example/"),
			bezoar.Fingerprint{},
			[]string{
				"method GET", "header Authorization present", "header Authorization (value hidden)", "query api_key present", "query api_key (value hidden)",
				"query u present", "query u (value hidden)",
				"header X-Jot present", "header X-Jot (value hidden)", "header X-Ref present", "header X-Ref (value hidden)",
			},
		},
		"a secret alone": {
			get("/", "dGhlIHNhbXBsZSBub25jZQ1"), bezoar.Fingerprint{}, []string{"method GET", "query (name hidden) present"},
		},
		"query": {
			get("/", "q=7&q=8&flag&empty=&a%20b=c+d&ts=1&&bad=%zz"),
			bezoar.Fingerprint{},
			[]string{
				"method GET", "query q present", "query q=7", "query q=8", "query flag present", "query empty present", `query empty=""`,
				"query a b present", "query a b=c d", "query ts present", "query ts=1", "query bad present", "query bad=%zz",
			},
		},
		"form": {
			post(formType, "q=7&flag"),
			bezoar.Fingerprint{},
			[]string{"method POST", "form field q present", "form field q=7", "form field flag present"},
		},
		"a form's head": {
			cutForm,
			bezoar.Fingerprint{},
			[]string{"method POST", "form field a present", "form field a=1", "body of unknown length"},
		},
		"JSON": {
			post(jsonType, `{"theme":"neon","n":{"a":[1,true,{"x y":null}]},"e":[]}`),
			bezoar.Fingerprint{},
			[]string{
				"method POST", "JSON member $.theme present", `JSON member $.theme = "neon"`, "JSON member $.n present", "JSON member $.n.a present",
				"JSON member $.n.a[*] present", "JSON member $.n.a[*] = 1", "JSON member $.n.a[*] = true",
				`JSON member $.n.a[*]["x y"] present`, `JSON member $.n.a[*]["x y"] = null`, "JSON member $.e present",
			},
		},
		"deep JSON": {
			post(jsonType, `{"a":{"b":{"c":{"d":{"e":1}}}}}`),
			bezoar.Fingerprint{},
			[]string{"method POST", "JSON member $.a present", "JSON member $.a.b present", "JSON member $.a.b.c present", "JSON member $.a.b.c.d present"},
		},
		"secret members": {
			post(jsonType, `{"password":{"old":"hunter2"},"pin":1234}`),
			bezoar.Fingerprint{},
			[]string{
				"method POST", "JSON member $.password present", "JSON member $.password.old present", "JSON member $.password.old (value hidden)",
				"JSON member $.pin present", "JSON member $.pin (value hidden)",
			},
		},
		"JSON alone": {post(jsonType, ` "neon" `), bezoar.Fingerprint{}, []string{"method POST", `JSON member $ = "neon"`}},
		"malformed JSON": {
			post(jsonType, `{"a":1,"b":2,}`),
			bezoar.Fingerprint{},
			[]string{
				"method POST", "JSON member $.a present", "JSON member $.a = 1", "JSON member $.b present", "JSON member $.b = 2",
				"body of 8 to 15 bytes",
			},
		},
		"a JSON document's head": {
			cut,
			bezoar.Fingerprint{},
			[]string{"method POST", "JSON member $.theme present", `JSON member $.theme = "neon"`, "JSON member $.n present", "body of 4096 to 8191 bytes"},
		},
		"lines": {
			post("application/x-ndjson", "{\"a\":1}\n{\"a\":2}\n"),
			bezoar.Fingerprint{},
			[]string{"method POST", "JSON member $.a present", "JSON member $.a = 1", "JSON member $.a = 2"},
		},
		"encoded": {
			sending(post(jsonType, `{"a":1}`), "Content-Encoding", "gzip"),
			bezoar.Fingerprint{},
			[]string{"method POST", "header Content-Encoding present", "header Content-Encoding: gzip", "body of 4 to 7 bytes"},
		},
		"bytes":    {post("image/png", "x"), bezoar.Fingerprint{}, []string{"method POST", "body of 1 bytes"}},
		"too long": {post("image/png", strings.Repeat("x", 65)), bezoar.Fingerprint{}, []string{"method POST", "body of 64 to 127 bytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			slices.Sort(tt.want)
			if d := cmp.Diff(tt.want, texts(t, p, tt.in, tt.client)); d != "" {
				t.Errorf("features (-want +got):\n%s", d)
			}
		})
	}
}

func TestFeaturesAreAppended(t *testing.T) {
	p := printer(t, fingerprint.Config{})
	got := p.Features(get("/", ""), bezoar.Fingerprint{}, []uint64{7})
	if len(got) != 2 || got[0] != 7 {
		t.Errorf("got %x", got)
	}
	if text, ok := p.FeatureText(get("/", ""), bezoar.Fingerprint{}, 7); ok || text != "" {
		t.Errorf("a feature of nothing is %q", text)
	}
	if text, ok := p.FeatureText(get("/", ""), bezoar.Fingerprint{}, 0); ok {
		t.Errorf("the zero feature is %q", text)
	}
}

// What is named alike in two places, or moved from a name to its value, is two
// features.
func TestFeaturesDoNotRunTogether(t *testing.T) {
	p := printer(t, fingerprint.Config{})
	seen := map[uint64]string{}
	for name, in := range map[string]*fingerprint.Input{
		"header":         sending(get("/", ""), "a", "b"),
		"header, moved":  sending(get("/", ""), "ab", ""),
		"cookie":         sending(get("/", ""), "Cookie", "a=b"),
		"cookie, moved":  sending(get("/", ""), "Cookie", "ab="),
		"query":          get("/", "a=b"),
		"query, moved":   get("/", "ab="),
		"form":           post(formType, "a=b"),
		"member":         post(jsonType, `{"a":"b"}`),
		"member, number": post(jsonType, `{"a1":1}`),
		"member, string": post(jsonType, `{"a2":"1"}`),
		"nested":         post(jsonType, `{"x":{"a":"b"}}`),
		"odd name":       post(jsonType, `{"x.a":"b"}`),
		"element":        post(jsonType, `{"y":["b"]}`),
		"named as one":   post(jsonType, `{"z":{"[*]":"b"}}`),
	} {
		for _, f := range p.Features(in, bezoar.Fingerprint{}, nil) {
			text, _ := p.FeatureText(in, bezoar.Fingerprint{}, f)
			if strings.HasPrefix(text, "method") || text == "header Cookie present" {
				continue
			}
			if was, ok := seen[f]; ok && was != text {
				t.Errorf("%s: %q and %q are one feature", name, text, was)
			}
			seen[f] = text
		}
	}
	if len(seen) < 26 {
		t.Errorf("only %d features", len(seen))
	}
}

// wanted are the features of a JSON document, found in another way.
func wanted(out map[string]bool, path string, steps int, v any) {
	note := func(step string) string {
		if steps < 4 {
			out["JSON member "+path+step+" present"] = true
		}
		return path + step
	}
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			wanted(out, note("."+name), steps+1, e)
		}
	case []any:
		for _, e := range v {
			wanted(out, note("[*]"), steps+1, e)
		}
	default:
		if steps <= 4 {
			b, _ := json.Marshal(v)
			out["JSON member "+path+" = "+string(b)] = true
		}
	}
}

func TestFeaturesOfDocuments(t *testing.T) {
	p := printer(t, fingerprint.Config{})
	var doc func(depth int) *rapid.Generator[any]
	doc = func(depth int) *rapid.Generator[any] {
		return rapid.Custom(func(t *rapid.T) any {
			switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
			case kind == 0:
				return nil
			case kind == 1:
				return rapid.Bool().Draw(t, "bool")
			case kind == 2:
				return rapid.IntRange(-99, 99).Draw(t, "int")
			case kind >= 4 && depth > 0:
				if kind == 4 {
					return rapid.SliceOfN(doc(depth-1), 0, 2).Draw(t, "array")
				}
				return rapid.MapOfN(rapid.StringMatching(`[a-e_-]{1,3}`), doc(depth-1), 0, 2).Draw(t, "object")
			}
			return rapid.StringMatching(`[a-z]{0,5}`).Draw(t, "string")
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		v := doc(6).Draw(t, "document")
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]bool{"method POST": true}
		wanted(want, "$", 0, v)
		if len(want) > 61 {
			t.Skip("more than are kept")
		}
		got := map[string]bool{}
		for _, text := range texts(t, p, post(jsonType, string(b)), bezoar.Fingerprint{}) {
			got[text] = true
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%s (-want +got):\n%s", b, d)
		}
	})
}

// stuffed is a request with n of everything beside what usual has.
func stuffed(usual []string, n int) *fingerprint.Input {
	var query, cookies, form []string
	fields := slices.Clone(usual)
	for i := range n {
		query = append(query, fmt.Sprintf("q%d=%d", i, i))
		cookies = append(cookies, fmt.Sprintf("c%d=%d", i, i))
		form = append(form, fmt.Sprintf(`"m%d":%d`, i, i))
	}
	in := post(jsonType, "{"+strings.Join(form, ",")+"}")
	in.RawQuery = strings.Join(query, "&")
	return sending(in, append(fields, "Cookie", strings.Join(cookies, ";"))...)
}

func TestStuffingDoesNotDisplace(t *testing.T) {
	p := printer(t, fingerprint.Config{})
	poison := []string{"Host", "h", "X-Theme", "neon", "Accept", "*/*"}
	alone := p.Features(sending(get("/", ""), poison...), bezoar.Fingerprint{}, nil)
	in := stuffed(poison, 1000)
	got := p.Features(in, p.Client("me"), nil)
	if len(got) != fingerprint.MaxFeatures-3 { // no length of the body; header fields and forms are not cut
		t.Errorf("%d features", len(got))
	}
	for _, f := range alone {
		text, _ := p.FeatureText(sending(get("/", ""), poison...), bezoar.Fingerprint{}, f)
		if strings.HasPrefix(text, "header") && !slices.Contains(got, f) {
			t.Errorf("%s was displaced", text)
		}
	}
	all := texts(t, p, in, p.Client("me"))
	for _, want := range []string{"many cookies", "many query parameters", "many JSON members", "the same caller", "method POST"} {
		if !slices.Contains(all, want) {
			t.Errorf("no feature %q", want)
		}
	}
	if slices.Contains(all, "many header fields") || slices.Contains(all, "many form fields") {
		t.Error("a group is said to be cut that was not")
	}
	// Which are kept depends on the key alone.
	other, err := fingerprint.New(fingerprint.Key{9}, fingerprint.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(all, texts(t, other, in, other.Client("me"))); d == "" {
		t.Error("two keys keep the same")
	}
}

func TestEveryKindIsBounded(t *testing.T) {
	p := printer(t, fingerprint.Config{})
	var fields []string
	for i := range 300 {
		fields = append(fields, fmt.Sprintf("X-%d", i), fmt.Sprint(i))
	}
	in := stuffed(fields, 300)
	if got := p.Features(in, p.Client("me"), nil); len(got) != fingerprint.MaxFeatures-2 { // no length of the body, no form
		t.Errorf("%d features", len(got))
	}
	in.ContentType, in.Body = formType, []byte(strings.ReplaceAll(in.RawQuery, "q", "f"))
	got := p.Features(in, p.Client("me"), nil)
	if len(got) > fingerprint.MaxFeatures || len(got) < 60 {
		t.Errorf("%d features", len(got))
	}
	kinds := map[uint64]int{}
	for _, f := range got {
		kinds[f>>60]++
	}
	for k := uint64(1); k <= 8; k++ {
		if kinds[k] < 5 {
			t.Errorf("%d features of kind %d", kinds[k], k)
		}
	}
}

// What Lacks denies is not there; and it knows, when nothing was left out.
func TestLacks(t *testing.T) {
	p := printer(t, fingerprint.Config{})
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 4, 8, 30, 200}).Draw(t, "n")
		in := stuffed([]string{"X-Theme", "neon"}, n)
		if rapid.Bool().Draw(t, "broken") {
			in.Body = in.Body[:len(in.Body)/2]
		}
		features := p.Features(in, bezoar.Fingerprint{}, nil)
		other := stuffed([]string{"X-Theme", rapid.StringMatching(`[a-z]{3}`).Draw(t, "theme")}, rapid.IntRange(1, 300).Draw(t, "m"))
		known := 0
		for _, f := range p.Features(other, bezoar.Fingerprint{}, nil) {
			lacks := fingerprint.Lacks(features, f)
			text, has := p.FeatureText(in, bezoar.Fingerprint{}, f)
			if lacks && has {
				t.Fatalf("%s is there", text)
			}
			if lacks {
				known++
			}
			if n <= 8 && in.Body[len(in.Body)-1] == '}' && !lacks && !has {
				text, _ := p.FeatureText(other, bezoar.Fingerprint{}, f)
				t.Fatalf("%s is not there, and all features are known", text)
			}
		}
		if n == 1 && known == 0 && !bytes.Equal(in.Body, other.Body) && in.Body[len(in.Body)-1] == '}' {
			t.Fatal("nothing is known to be lacking")
		}
	})
}

// A field more takes nothing away, as long as all fit.
func TestMoreFieldsKeepTheFeatures(t *testing.T) {
	p := printer(t, fingerprint.Config{})
	rapid.Check(t, func(t *rapid.T) {
		in := request(t)
		before := p.Features(in, bezoar.Fingerprint{}, nil)
		l := slices.Clone(in.Fields.(fieldList))
		l = append(l, "Z-New", "1", "Cookie", "z=1")
		r := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed")))
		for i := range len(l) / 2 { // and their order does not matter
			j := r.IntN(i + 1)
			l[2*i], l[2*i+1], l[2*j], l[2*j+1] = l[2*j], l[2*j+1], l[2*i], l[2*i+1]
		}
		after := p.Features(sending(in, l...), bezoar.Fingerprint{}, nil)
		for _, f := range before {
			if !slices.Contains(after, f) {
				t.Fatalf("the feature %x is gone", f)
			}
		}
	})
}

func TestTraits(t *testing.T) {
	p := printer(t, fingerprint.Config{})
	in, me := sending(get("/ws", "a=1"), "Host", "h"), p.Client("me")
	plain, bound := fingerprint.Traits{Printer: p, Input: in, Caller: me}, fingerprint.Traits{Printer: p, Input: in, Caller: me, Bound: true}
	if plain.Variant() != variant(p, in) || bound.Variant() != p.Variant(in, me) {
		t.Error("the variant is another")
	}
	want := p.Features(in, me, nil)
	if got := plain.Features([]uint64{1})[1:]; !slices.Equal(got, want) || !slices.Equal(bound.Features(nil), want) {
		t.Errorf("features %x, want %x", got, want)
	}
	if got := plain.Text(want[len(want)-1]); got != "the same caller" {
		t.Errorf("text %q", got)
	}
	if got := plain.Text(1); got != "" {
		t.Errorf("text of nothing %q", got)
	}
}

// A large body is read for features only at its beginning.
func TestFeaturesOfLargeBodies(t *testing.T) {
	p := printer(t, fingerprint.Config{MaxBody: fingerprint.MaxMaxBody})
	in := post(jsonType, `{"first":1,"pad":"`+strings.Repeat("x", 70<<10)+`","last":1}`)
	got := texts(t, p, in, bezoar.Fingerprint{})
	want := []string{"JSON member $.first = 1", "JSON member $.first present", "JSON member $.pad present", "body of 65536 to 131071 bytes", "method POST"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("features (-want +got):\n%s", d)
	}
	if variant(p, in) == variant(p, post(jsonType, strings.Replace(string(in.Body), "last", "lost", 1))) {
		t.Error("the end of the body does not count in the variant")
	}
}

// One request is read by many at once.
func TestTraitsAreForConcurrentUse(t *testing.T) {
	p := printer(t, fingerprint.Config{})
	tr := fingerprint.Traits{Printer: p, Input: stuffed([]string{"X-Theme", "neon"}, 20), Caller: p.Client("me")}
	v, fs := tr.Variant(), tr.Features(nil)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 50 {
				if tr.Variant() != v || !slices.Equal(tr.Features(nil), fs) || tr.Text(fs[i%len(fs)]) == "" {
					t.Error("others read something else")
				}
			}
		})
	}
	wg.Wait()
}
