package fingerprint_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/fingerprint"
)

func variant(p *fingerprint.Printer, in *fingerprint.Input) bezoar.Fingerprint {
	return p.Variant(in, bezoar.Fingerprint{})
}

func TestVariant(t *testing.T) {
	p := printer(t, fingerprint.Config{Ignore: []string{"json:$.note", "query:ts"}, Volatile: []string{"X-Nonce"}})
	usual := []string{"Host", "shop.example", "User-Agent", "curl/8.5", "Accept", "*/*"}
	plain := func(more ...string) *fingerprint.Input {
		return sending(get("/home", "a=1&b=2"), slices.Concat(usual, more)...)
	}
	for name, tt := range map[string]struct {
		a, b *fingerprint.Input
		same bool
	}{
		"the same":                     {plain(), plain(), true},
		"case of names":                {plain("x-theme", "neon"), plain("X-THEME", "neon"), true},
		"request id":                   {plain("X-Request-Id", "a1"), plain("X-Request-Id", "b2"), true},
		"with and without request id":  {plain("X-Request-Id", "a1"), plain(), true},
		"trace":                        {plain("Traceparent", "00-4bf9-00f0-01", "tracestate", "a=b"), plain("traceparent", "00-77aa-11f0-00"), true},
		"b3":                           {plain("X-B3-TraceId", "80f1", "b3", "80f1-e457-1"), plain("x-b3-spanid", "e4"), true},
		"what proxies add":             {plain("X-Forwarded-For", "192.0.2.7, 198.51.100.2", "Via", "1.1 varnish (Varnish/6.0)"), plain("Forwarded", `for="[2001:db8::1]:47";proto=https`), true},
		"the key of a WebSocket":       {plain("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="), plain("Sec-WebSocket-Key", "x3JJHMbDL1EzLkh9GBhXDw=="), true},
		"Date":                         {plain("Date", "Tue, 15 Nov 1994 08:12:31 GMT"), plain("Date", "Tue, 15 Nov 1994 08:12:32 GMT"), true},
		"the SDK's attempt":            {plain("amz-sdk-invocation-id", "a-b", "amz-sdk-request", "attempt=1; max=3"), plain("amz-sdk-request", "attempt=2; max=3"), true},
		"what the route names":         {plain("X-Nonce", "1"), plain("x-nonce", "2"), true},
		"what Bezoar adds":             {plain("X-Bezoar-Attempt", "2"), plain(), true},
		"framing":                      {plain("Content-Length", "0"), plain("Transfer-Encoding", "chunked"), true},
		"keep-alive":                   {plain("Connection", "keep-alive", "Keep-Alive", "timeout=5"), plain("Connection", "close"), true},
		"fields that Connection names": {plain("Connection", "close, X-Hop", "X-Hop", "1"), plain("Connection", " x-hop ", "X-HOP", "2"), true},
		"fields without a name":        {plain("", "1"), plain(), true},
		"odd value of a request id":    {plain("X-Request-Id", "${jndi:x}"), plain("X-Request-Id", "a1"), false},
		"huge value of a trace":        {plain("Baggage", strings.Repeat("a", 1025)), plain(), false},
		"what no Connection names":     {plain("X-Hop", "1"), plain("X-Hop", "2"), false},
		"Host cannot be named":         {plain("Connection", "Host"), sending(get("/home", "a=1&b=2"), "Connection", "Host", "Host", "other.example"), false},
		"the port of Host":             {sending(get("/home", "a=1"), "Host", "shop.example:8080"), sending(get("/home", "a=1"), "host", "shop.example"), true},
		"another Host":                 {sending(get("/home", "a=1"), "Host", "shop.example:8080"), sending(get("/home", "a=1"), "Host", "other.example:8080"), false},
		"no port of Host":              {sending(get("/home", "a=1"), "Host", "[::1]:80800000"), sending(get("/home", "a=1"), "Host", "[::1]"), false},
		"an upgrade":                   {plain("Connection", "Upgrade", "Upgrade", "websocket"), plain(), false},
		"a header":                     {plain("X-Theme", "neon"), plain("X-Theme", "dark"), false},
		"a header more":                {plain("X-Theme", "neon"), plain(), false},
		"an empty header":              {plain("X-Theme", ""), plain(), false},
		"order of headers":             {plain("A", "1", "B", "2"), plain("B", "2", "A", "1"), false},
		"case of values":               {plain("X-Theme", "neon"), plain("X-Theme", "Neon"), false},
		"a cookie":                     {plain("Cookie", "a=1; b=2"), plain("Cookie", "a=1; b=3"), false},
		"credentials":                  {plain("Authorization", "Bearer a"), plain("Authorization", "Bearer b"), false},
		"a condition":                  {plain("If-None-Match", `"a"`), plain("If-None-Match", `"b"`), false},
		"an idempotency key":           {plain("Idempotency-Key", "a"), plain("Idempotency-Key", "b"), false},
		"spelling of the path":         {get("/%61", ""), get("/a", ""), false},
		"order of the query":           {get("/", "a=1&b=2"), get("/", "b=2&a=1"), false},
		"an ignored parameter":         {get("/", "ts=1"), get("/", "ts=2"), false},
		"method":                       {get("/", ""), &fingerprint.Input{Method: "HEAD", Path: "/", Complete: true}, false},
		"an ignored member":            {post(jsonType, `{"note":1}`), post(jsonType, `{"note":2}`), false},
		"white space in JSON":          {post(jsonType, `{"a":1}`), post(jsonType, `{"a": 1}`), false},
		"type without fields":          {post("a/b", "x"), post("a/c", "x"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if same := variant(p, tt.a) == variant(p, tt.b); same != tt.same {
				t.Errorf("one variant: %v, want %v", same, tt.same)
			}
		})
	}
}

func TestVariantOfTheCaller(t *testing.T) {
	p := printer(t, fingerprint.Config{})
	in := get("/ws", "")
	a, b := p.Client("a"), p.Client("b")
	if p.Variant(in, a) == p.Variant(in, b) || p.Variant(in, a) == variant(p, in) {
		t.Error("the caller that was given does not count")
	}
	if again := printer(t, fingerprint.Config{}); again.Variant(in, a) != p.Variant(in, a) {
		t.Error("the same caller has two variants")
	}
}

func TestVariantOfAHead(t *testing.T) {
	p := printer(t, fingerprint.Config{MaxBody: 8})
	head := func(body string, length int64) *fingerprint.Input {
		in := post("a/b", body)
		in.Complete, in.Length = false, length
		return in
	}
	if variant(p, head("0123456789", 20)) != variant(p, head("01234567", 20)) {
		t.Error("it matters how much was held beyond MaxBody")
	}
	if variant(p, head("01234567", 20)) == variant(p, head("01234567", 21)) {
		t.Error("the declared length does not matter")
	}
	if variant(p, head("01234567", 8)) == variant(p, post("a/b", "01234567")) {
		t.Error("a head is a whole body")
	}
	whole := post("a/b", "0123456789")
	if variant(p, whole) != variant(p, head("01234567", 10)) {
		t.Error("a body beyond MaxBody is another when it is held whole")
	}
	short := post("a/b", "0123")
	short.Length = -1 // it came in chunks
	if variant(p, short) != variant(p, post("a/b", "0123")) {
		t.Error("framing matters")
	}
}

func TestVariantNeedsTheKey(t *testing.T) {
	other, err := fingerprint.New(fingerprint.Key{1}, fingerprint.Config{})
	if err != nil {
		t.Fatal(err)
	}
	p, in := printer(t, fingerprint.Config{}), get("/", "")
	if variant(p, in) == variant(other, in) {
		t.Error("two keys, one variant")
	}
	if w, s := p.Work(in); variant(p, in) == w || variant(p, in) == s {
		t.Error("a variant is a fingerprint")
	}
}

func TestDefaultVolatile(t *testing.T) {
	names := fingerprint.DefaultVolatile()
	seen := map[string]bool{}
	p := printer(t, fingerprint.Config{})
	for _, name := range names {
		l := strings.ToLower(name)
		if seen[l] {
			t.Errorf("%s is listed twice", name)
		}
		seen[l] = true
		field := strings.TrimSuffix(name, "*")
		if field != name {
			field += "x"
		}
		if variant(p, sending(get("/", ""), field, "1")) != variant(p, get("/", "")) {
			t.Errorf("%s counts", field)
		}
	}
	for _, name := range []string{
		"Authorization", "Cookie", "Host", "User-Agent", "Accept", "Content-Type", "Content-Encoding", "If-None-Match",
		"If-Modified-Since", "Idempotency-Key", "Range", "Referer", "Origin", "X-Amz-Date", "Stripe-Signature", "Upgrade", "TE", "B4", "X-B3",
	} {
		if variant(p, sending(get("/", ""), name, "1")) == variant(p, get("/", "")) {
			t.Errorf("%s does not count", name)
		}
	}
}

// request draws a request of a few fields, none of which is volatile.
func request(t *rapid.T) *fingerprint.Input {
	in := &fingerprint.Input{
		Method:      rapid.SampledFrom([]string{"GET", "POST", "PUT"}).Draw(t, "method"),
		Path:        "/" + rapid.StringMatching(`[a-z%/]{0,8}`).Draw(t, "path"),
		RawQuery:    rapid.StringMatching(`([a-z]=[a-z0-9%+]{0,4}&?){0,4}`).Draw(t, "query"),
		ContentType: rapid.SampledFrom([]string{"", jsonType, formType, "text/plain"}).Draw(t, "type"),
		Body:        rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "body"),
		Complete:    true,
	}
	var l fieldList
	for range rapid.IntRange(0, 6).Draw(t, "fields") {
		l = append(l, rapid.StringMatching(`Y-[A-Z][a-z]{1,4}`).Draw(t, "name"), rapid.StringMatching(`[ -~]{0,12}`).Draw(t, "value"))
	}
	in.Fields, in.Length = l, int64(len(in.Body))
	return in
}

func TestAnyChangeIsAnotherVariant(t *testing.T) {
	p := printer(t, fingerprint.Config{})
	rapid.Check(t, func(t *rapid.T) {
		in := request(t)
		before := variant(p, in)
		out := *in
		l := slices.Clone(in.Fields.(fieldList))
		i := rapid.IntRange(0, max(0, len(l)-1)).Draw(t, "which")
		what := rapid.IntRange(0, 7).Draw(t, "what")
		switch {
		case what == 0:
			out.Method += "X"
		case what == 1:
			out.Path += "x"
		case what == 2:
			out.RawQuery += "&"
		case what == 3 && len(in.Body) > 0:
			out.Body = bytes.Clone(in.Body)
			out.Body[rapid.IntRange(0, len(in.Body)-1).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		case what == 4:
			out.Body = append(bytes.Clone(in.Body), 0)
		case what == 5 && len(l) > 0:
			l[i] += "x"
		case what == 6 && len(l) > 0:
			l = slices.Delete(l, i/2*2, i/2*2+2)
		default:
			l = append(l, "Y", "")
		}
		out.Fields = l
		if variant(p, &out) == before {
			t.Fatalf("%+v and %+v are one variant", in, &out)
		}
	})
}

func TestVolatileFieldsAreLeftOut(t *testing.T) {
	p := printer(t, fingerprint.Config{Volatile: []string{"X-Nonce"}})
	names := append(fingerprint.DefaultVolatile(), "X-Nonce", "Connection", "Keep-Alive", "Content-Length")
	rapid.Check(t, func(t *rapid.T) {
		in := request(t)
		l := slices.Clone(in.Fields.(fieldList))
		for i := range len(l) / 2 {
			if rapid.Bool().Draw(t, "case") {
				l[2*i] = strings.ToUpper(l[2*i])
			}
		}
		for range rapid.IntRange(1, 4).Draw(t, "added") {
			name := strings.ReplaceAll(rapid.SampledFrom(names).Draw(t, "name"), "*", "id")
			value := rapid.StringMatching(`[a-zA-Z0-9:/=._-]{1,20}`).Draw(t, "value")
			at := 2 * rapid.IntRange(0, len(l)/2).Draw(t, "at")
			l = slices.Insert(l, at, name, value)
		}
		out := *in
		out.Fields = l
		if variant(p, in) != variant(p, &out) {
			t.Fatalf("%v and %v are two variants", in.Fields, l)
		}
	})
}

// However many fields Connection names, time is linear and the rest is as it was.
func TestConnectionThatNamesMany(t *testing.T) {
	p := printer(t, fingerprint.Config{})
	var names []string
	for i := range 5000 {
		names = append(names, fmt.Sprintf("x-%d", i))
	}
	all := strings.Join(names, ",")
	a := sending(get("/", ""), "Connection", all, "X-3", "1", "X-4000", "1")
	if variant(p, a) != variant(p, sending(get("/", ""), "Connection", all, "X-3", "2", "X-4000", "1")) {
		t.Error("a field that is named counts")
	}
	if variant(p, a) == variant(p, sending(get("/", ""), "Connection", all, "X-3", "1", "X-4000", "2")) {
		t.Error("a field beyond the bound does not count")
	}
}
