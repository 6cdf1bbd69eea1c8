package fingerprint_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/fingerprint"
)

func TestTemplate(t *testing.T) {
	p := printer(t, fingerprint.Config{})
	for path, want := range map[string]string{
		"":                           "/",
		"/":                          "/",
		"/users/42/posts":            "/users/<int>/posts",
		"/users/1234567890":          "/users/<int>",
		"/api/v2/oauth2/k8s":         "/api/v2/oauth2/k8s",
		"/getUserById/XMLReport/a.b": "/getUserById/XMLReport/a.b",
		"/o/3f2a9c0d11e84b7f":        "/o/<hex>",
		"/o/550e8400-e29b-41d4-a716-446655440000/x": "/o/<uuid>/x",
		"/o/dQw4w9WgXcQ":                   "/o/<token>",
		"/o/order-2024-0007":               "/o/<token>",
		"/img/12345.png":                   "/img/<int>.png",
		"/u/ann.lee@example.com":           "/u/<email>",
		"/u/ann.lee%40example.com":         "/u/<email>",
		"/u/ann.lee%40example.com/inbox":   "/u/<email>/inbox",
		"/@ann/notes":                      "/@<word>/notes",
		"/~bob42/x":                        "/~<token>/x",
		"/@/x":                             "/@/x",
		"/img/logo.png":                    "/img/logo.png",
		"/blog/how-to-cook-rice-at-home":   "/blog/<token>",
		"/log/2024-05-06":                  "/log/<date>",
		"/find/(a+)+$x93":                  "/find/<meta4>",
		"/find/a%20few%20words":            "/find/<words4>",
		"/find/%00%01":                     "/find/<binary2>",
		"/a//b/":                           "/a//b/",
		"/f/" + strings.Repeat("word", 30): "/f/<word>",
		strings.Repeat("/a", 30):           strings.Repeat("/a", 16) + "/+4",
		"*":                                "<meta>",
	} {
		if got := p.Skeleton(get(path, "")); got != "GET "+want {
			t.Errorf("%s: got %q, want %q", path, got, "GET "+want)
		}
	}
}

func TestValueClass(t *testing.T) {
	p := printer(t, fingerprint.Config{})
	for v, want := range map[string]string{
		"": "empty", "7": "int1", "42": "int2", "1234": "int3", "-5": "int2", "0.5": "dec2", "-1.25": "dec3",
		"true": "bool", "False": "bool", "word": "word3", "Lovelace": "word4", "deadbeef": "word4", "dead10cc": "hex4",
		"550e8400-e29b-41d4-a716-446655440000": "uuid", "2024-02-30": "date", "2024-02-30T10:00:00.5+02:00": "date", "2024-02-30 10:00": "date",
		"a few words": "words4", "what's up, doc?": "words4", "a/b": "url2", "/etc/passwd": "url4", "https://example.com/a?b=c&d=%20#e": "url6",
		"ada@example.com": "email4", "a+b@example.co.uk": "email5", "a@b": "text2", "user_42": "token3", "10.0.0.1": "token4", "555-1234": "token4",
		"3q2+7wABCDEFabcd/w==": "token5", "naïve": "text3", "日本語": "text4", "50%": "text2",
		"(a+)+$x93": "meta4", "a.*b": "meta3", "a++": "meta2", "' OR 1=1; --": "meta4", "$(reboot)": "meta4", "`id`": "meta3", "a\\b": "meta2",
		"{\"a\":1}": "meta3", "a|b": "meta2", "<script>": "meta4", "../../x;y": "meta4", "a\x00b": "binary2", "...": "text2",
	} {
		if got := p.Skeleton(get("/", "v="+url.QueryEscape(v))); got != "GET /?v="+want {
			t.Errorf("%q: got %q, want %q", v, got, "GET /?v="+want)
		}
	}
}

func TestSkeleton(t *testing.T) {
	p := printer(t, fingerprint.Config{Ignore: []string{"json:$.ts", "query:ts"}})
	long := post("text/plain", strings.Repeat("words ", 1000))
	long.Complete, long.Length = false, 1<<20
	for _, c := range []struct {
		in   *fingerprint.Input
		want string
	}{
		{get("/search", "q=word&page=2&ts=5"), "GET /search?page=int1&q=word3"},
		{get("/search", "ts=5"), "GET /search"},
		{get("/", "tag=a&tag=b&tag=c&x"), "GET /?tag=word1&x"},
		{get("/", "user[$ne]=1&7777777=1&8888888=1"), "GET /?<int>=int1&user[$ne]=int1"},
		{post("", ""), "POST /x"},
		{
			post(jsonType, `{"b":[1,2,"x",3],"a":{"n":null,"t":true},"ts":1,"e":[],"o":{}}`),
			"POST /x application/json {a={n=null,t=bool},b=[int1,word1],e=[],o={}}",
		},
		{post(jsonType, `[{"id":1,"n":"a"},{"n":"b","id":2},{"id":3}]`), "POST /x application/json [{id=int1,n=word1},{id=int1}]"},
		{post(jsonType, `{"550e8400-e29b-41d4-a716-446655440000":1,"550e8400-e29b-41d4-a716-446655440001":2}`), "POST /x application/json {<uuid>=int1}"},
		{post(jsonType, `{"ann@example.com":1,"bob@example.org":2,"@type":"a"}`), "POST /x application/json {<email>=int1,@type=word1}"},
		{post(jsonType, `[1,"a","b c",null,true,{},[],1.5,"1",12]`), "POST /x application/json [[],bool,dec2,int1,null,word1,words2,{},+]"},
		{post(jsonType, `{"a":"(a+)+$"`), "POST /x application/json bad meta4"},
		{post(jsonType, strings.Repeat("[", 100)), "POST /x application/json bad deep meta7"},
		{post(linesType, "{\"a\":1}\n{\"a\":2}\n\n\"x\"\n"), "POST /x application/x-ndjson lines[word1,{a=int1}]"},
		{post(formType, "b=1&a=x+y&a=z+z"), "POST /x application/x-www-form-urlencoded form(a=words2&b=int1)"},
		{multi("AAA"), "POST /x multipart/form-data multipart(n=word2)"},
		{post("multipart/form-data; boundary=zzz", "--y\r\n"), "POST /x multipart/form-data bad text3"},
		{post("application/octet-stream", "\x00\x01"), "POST /x application/octet-stream binary2"},
		{long, "POST /x text/plain words13 of 21"},
		{post("Text/<b>", "x"), "POST /x <media> word1"},
	} {
		if got := p.Skeleton(c.in); got != c.want {
			t.Errorf("%s %s?%s %s\n got %s\nwant %s", c.in.Method, c.in.Path, c.in.RawQuery, c.in.Body, got, c.want)
		}
	}
}

// Law 10: whatever arrives, one request spells out a bounded number of names
// per object, and the order that they came in does not matter.
func TestSkeletonIsCapped(t *testing.T) {
	p := printer(t, fingerprint.Config{})
	var names []string
	for i := range 200 {
		names = append(names, fmt.Sprintf(`"%c%c":%d`, 'a'+i/26, 'a'+i%26, i))
	}
	a := post(jsonType, "{"+strings.Join(names, ",")+"}")
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	b := post(jsonType, "{"+strings.Join(names, ",")+"}")
	if p.Skeleton(a) != p.Skeleton(b) {
		t.Errorf("the order matters:\n%s\n%s", p.Skeleton(a), p.Skeleton(b))
	}
	if n := strings.Count(p.Skeleton(a), "="); n != 64 {
		t.Errorf("%d members are spelled out, want 64", n)
	}
}

// Unique pills of one kind are one shape, and good work is another.
func TestUniquePillsAreOneShape(t *testing.T) {
	p := printer(t, fingerprint.Config{})
	kinds := map[string]func(*rand.Rand) *fingerprint.Input{
		"regular expression": func(r *rand.Rand) *fingerprint.Input {
			return get("/search", "filter="+url.QueryEscape(fmt.Sprintf("(a+)+$x%02d", r.IntN(100))))
		},
		"uuid path": func(r *rand.Rand) *fingerprint.Input {
			b := randomBytes(r, 16)
			return get(fmt.Sprintf("/users/%x-%x-%x-%x-%x/avatar", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), "")
		},
		"int path": func(r *rand.Rand) *fingerprint.Input { return get(fmt.Sprintf("/items/%d", r.Uint32()), "") },
		"JSON": func(r *rand.Rand) *fingerprint.Input {
			return post(jsonType, fmt.Sprintf(`{"id":%d,"query":"{a(b:\"%x\")}","rows":[{"n":%d},{"n":%d}]}`,
				100000+r.IntN(100000), randomBytes(r, 8), 1000+r.IntN(1000), 1000+r.IntN(1000)))
		},
	}
	good := shape(p, get("/search", "filter=lovelace"))
	for kind, pill := range kinds {
		rapid.Check(t, func(t *rapid.T) {
			r := rand.New(rand.NewPCG(7, rapid.Uint64().Draw(t, "seed")))
			a, b := pill(r), pill(r)
			if shape(p, a) != shape(p, b) {
				t.Fatalf("%s: two shapes, %s and %s", kind, p.Skeleton(a), p.Skeleton(b))
			}
			if shape(p, a) == good {
				t.Fatalf("%s: the shape of good work, %s", kind, p.Skeleton(a))
			}
		})
	}
}

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// Random strings now and then look like something else (hex without letters, a
// token without digits, letters like a word); 19 of 20 must have one of two shapes.
func TestRandomIDsHaveFewShapes(t *testing.T) {
	p := printer(t, fingerprint.Config{})
	r := rand.New(rand.NewPCG(3, 4))
	const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	from := func(n, letters int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabet[r.IntN(letters)]
		}
		return string(b)
	}
	for name, id := range map[string]func() string{
		"hex-16":    func() string { return hex.EncodeToString(randomBytes(r, 8)) },
		"hex-40":    func() string { return hex.EncodeToString(randomBytes(r, 20)) },
		"HEX-12":    func() string { return strings.ToUpper(hex.EncodeToString(randomBytes(r, 6))) },
		"base36-20": func() string { return from(20, 36) },
		"base62-16": func() string { return from(16, 62) },
		"base62-22": func() string { return from(22, 62) },
		"base64url": func() string { return base64.RawURLEncoding.EncodeToString(randomBytes(r, 16)) },
		"base64":    func() string { return base64.StdEncoding.EncodeToString(randomBytes(r, 30)) },
		"prefixed":  func() string { return "cus_" + from(14, 62) },
		"int-10":    func() string { return fmt.Sprint(1_000_000_000 + r.IntN(1_000_000_000)) },
	} {
		for where, in := range map[string]func(string) *fingerprint.Input{
			"path":  func(id string) *fingerprint.Input { return get("/o/"+url.PathEscape(id), "") },
			"query": func(id string) *fingerprint.Input { return get("/o", "id="+url.QueryEscape(id)) },
			"name":  func(id string) *fingerprint.Input { return post(jsonType, `{"`+id+`":1}`) },
		} {
			const n = 5000
			seen := map[bezoar.Fingerprint]int{}
			for range n {
				seen[shape(p, in(id()))]++
			}
			first, second := 0, 0
			for _, c := range seen {
				if c > first {
					first, second = c, first
				} else if c > second {
					second = c
				}
			}
			if first+second < n*95/100 {
				t.Errorf("%s in the %s: %d shapes, the first two cover %.1f %%", name, where, len(seen), 100*float64(first+second)/n)
			}
		}
	}
}
