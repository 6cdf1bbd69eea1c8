package fingerprint_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/fingerprint"
)

func printer(t testing.TB, c fingerprint.Config) *fingerprint.Printer {
	t.Helper()
	p, err := fingerprint.New(fingerprint.Key{42}, c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func get(path, query string) *fingerprint.Input {
	return &fingerprint.Input{Method: "GET", Path: path, RawQuery: query, Complete: true}
}

func post(media, body string) *fingerprint.Input {
	return &fingerprint.Input{
		Method: "POST", Path: "/x", ContentType: media, Body: []byte(body), Complete: true, Length: int64(len(body)),
	}
}

func work(p *fingerprint.Printer, in *fingerprint.Input) bezoar.Fingerprint {
	w, _ := p.Work(in)
	return w
}

func shape(p *fingerprint.Printer, in *fingerprint.Input) bezoar.Fingerprint {
	_, s := p.Work(in)
	return s
}

func coded(in *fingerprint.Input, header ...string) *fingerprint.Input {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Add(header[i], header[i+1])
	}
	in.Header = h
	return in
}

const (
	jsonType  = "application/json"
	formType  = "application/x-www-form-urlencoded"
	linesType = "application/x-ndjson"
)

func multi(boundary string) *fingerprint.Input {
	return post("multipart/form-data; boundary="+boundary, strings.ReplaceAll(
		"--B\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\nAda\r\n--B--\r\n", "B", boundary))
}

func TestSameWork(t *testing.T) {
	p := printer(t, fingerprint.Config{Headers: []string{"X-Tenant"}, Ignore: []string{"query:ts", "form:nonce", "json:$.ts", "header:X-Request-Id"}})
	for name, c := range map[string][2]*fingerprint.Input{
		"path":             {get("/a/./b%2d", ""), get("/a/b-", "")},
		"query order":      {get("/", "a=1&b=2"), get("/", "b=2&a=1")},
		"query spaces":     {get("/", "a=b+c"), get("/", "a=b%20c")},
		"query ignored":    {get("/", "ts=1&a=1"), get("/", "a=1&ts=2")},
		"JSON":             {post(jsonType, `{"a":1,"b":"é"}`), post(jsonType+"; charset=utf-8", "{\"b\": \"\\u00e9\",\n\"a\": 1}")},
		"JSON ignored":     {post(jsonType, `{"a":1,"ts":1}`), post(jsonType, `{"a":1}`)},
		"JSON suffix":      {post("application/ld+json", `{"a":1,"b":2}`), post("application/ld+json", `{"b":2,"a":1}`)},
		"lines":            {post(linesType, "{\"a\":1,\"b\":2}\n{}"), post(linesType, "{\"b\":2, \"a\":1}\r\n\n{}\n")},
		"form":             {post(formType, "a=1&b=x+y&nonce=1"), post(formType, "b=x%20y&a=1&nonce=2")},
		"multipart":        {multi("AAA"), multi("----WebKitFormBoundaryX")},
		"headers not ours": {coded(get("/", ""), "X-Request-Id", "1"), get("/", "")},
		"header spaces":    {coded(get("/", ""), "X-Tenant", " 1"), coded(get("/", ""), "X-Tenant", "1 ")},
		"identity":         {coded(post(jsonType, `{"a": 1}`), "Content-Encoding", "identity"), coded(post(jsonType, `{"a":1}`), "Content-Encoding", "Identity")},
	} {
		if work(p, c[0]) != work(p, c[1]) {
			t.Errorf("%s: two works", name)
		}
		if shape(p, c[0]) != shape(p, c[1]) {
			t.Errorf("%s: two shapes, %s and %s", name, p.Skeleton(c[0]), p.Skeleton(c[1]))
		}
	}
}

func TestOtherWork(t *testing.T) {
	p := printer(t, fingerprint.Config{Headers: []string{"X-Tenant"}})
	cut := func(length int64) *fingerprint.Input {
		in := post("text/plain", "abc")
		in.Complete, in.Length = false, length
		return in
	}
	for name, c := range map[string][2]*fingerprint.Input{
		"method":           {get("/", ""), {Method: "get", Path: "/", Complete: true}},
		"slashes":          {get("/a//b", ""), get("/a/b", "")},
		"case":             {get("/A", ""), get("/a", "")},
		"escaped slash":    {get("/a%2Fb", ""), get("/a/b", "")},
		"no value":         {get("/", "a"), get("/", "a=")},
		"value order":      {get("/", "a=1&a=2"), get("/", "a=2&a=1")},
		"query or path":    {get("/a", "b"), get("/ab", "")},
		"number form":      {post(jsonType, "1"), post(jsonType, "1.0")},
		"big number":       {post(jsonType, "9007199254740993"), post(jsonType, "9007199254740992")},
		"duplicate names":  {post(jsonType, `{"a":1,"a":2}`), post(jsonType, `{"a":2,"a":1}`)},
		"string or number": {post(jsonType, `"1"`), post(jsonType, `1`)},
		"JSON or text":     {post(jsonType, `{}`), post("text/plain", `{}`)},
		"invalid JSON":     {post(jsonType, `{"a":1,}`), post(jsonType, `{"a": 1,}`)},
		"gzip":             {coded(post(jsonType, `{"a":1}`), "Content-Encoding", "gzip"), coded(post(jsonType, `{"a": 1}`), "Content-Encoding", "gzip")},
		"gzip or not":      {coded(post(jsonType, `{"a":1}`), "Content-Encoding", "gzip"), post(jsonType, `{"a":1}`)},
		"lines":            {post(linesType, "1\n2"), post(linesType, "2\n1")},
		"lines or value":   {post(linesType, "1"), post(jsonType, "1")},
		"broken line":      {post(linesType, "{\n}"), post(linesType, "{}")},
		"two on a line":    {post(linesType, "1 2"), post(linesType, "1\n2")},
		"head or whole":    {cut(3), post("text/plain", "abc")},
		"declared length":  {cut(100), cut(101)},
		"unknown length":   {cut(100), cut(-1)},
		"no header":        {coded(get("/", ""), "X-Tenant", ""), get("/", "")},
		"header values":    {coded(get("/", ""), "X-Tenant", "a", "X-Tenant", "b"), coded(get("/", ""), "X-Tenant", "ab")},
		"header order":     {coded(get("/", ""), "X-Tenant", "a", "X-Tenant", "b"), coded(get("/", ""), "X-Tenant", "b", "X-Tenant", "a")},
	} {
		if work(p, c[0]) == work(p, c[1]) {
			t.Errorf("%s: one work", name)
		}
	}
	if a, b := printer(t, fingerprint.Config{Headers: []string{"X-A"}}), printer(t, fingerprint.Config{Headers: []string{"X-B"}}); work(a, get("/", "")) == work(b, get("/", "")) {
		t.Error("which headers are chosen does not matter")
	}
}

func TestKeyed(t *testing.T) {
	a, b := printer(t, fingerprint.Config{}), printer(t, fingerprint.Config{})
	c, err := fingerprint.New(fingerprint.Key{43}, fingerprint.Config{})
	if err != nil {
		t.Fatal(err)
	}
	in := get("/a", "b=1")
	wa, sa := a.Work(in)
	if wb, sb := b.Work(in); wa != wb || sa != sb {
		t.Error("two printers of one key disagree")
	}
	if wc, sc := c.Work(in); wa == wc || sa == sc || a.Client("x") == c.Client("x") {
		t.Error("the key does not matter")
	}
	if a.Client("x") != b.Client("x") || a.Client("x") == a.Client("y") || !a.Client("").IsZero() {
		t.Error("clients are not told apart, or the empty one is")
	}
	if text := fmt.Sprintf("%v %+v %#v %s", fingerprint.Key{42}, fingerprint.Key{42}, fingerprint.Key{42}, fingerprint.Key{42}); strings.Contains(text, "42") {
		t.Errorf("the key is printed: %s", text)
	}
}

// How much of a long body somebody buffered must not matter.
func TestLongBody(t *testing.T) {
	p := printer(t, fingerprint.Config{MaxBody: 100})
	body := bytes.Repeat([]byte("0123456789"), 30)
	in := func(n int, complete bool) *fingerprint.Input {
		return &fingerprint.Input{Method: "PUT", Path: "/", Body: body[:n], Complete: complete, Length: 300}
	}
	want := work(p, in(100, false))
	if work(p, in(250, false)) != want || work(p, in(300, true)) != want {
		t.Error("what was buffered beyond MaxBody matters")
	}
	if p.MaxBody() != 100 || printer(t, fingerprint.Config{}).MaxBody() != fingerprint.DefaultMaxBody {
		t.Error("MaxBody is not what was configured")
	}
	s := p.Stream(want)
	for i := 0; i < len(body); i += 7 {
		s.Write(body[i:min(i+7, len(body))])
	}
	sum := s.Sum()
	s.Close()
	for name, tail := range map[string]string{"the same": "9", "another": "8"} {
		s := p.Stream(want)
		s.Write(body[:299])
		s.Write([]byte(tail))
		if (s.Sum() == sum) != (name == "the same") {
			t.Errorf("%s last byte: sums %s and %s", name, s.Sum(), sum)
		}
		s.Close()
	}
	s = p.Stream(bezoar.Fingerprint{1})
	defer s.Close()
	s.Write(body)
	if s.Sum() == sum {
		t.Error("the work does not matter to the sum")
	}
}

func TestConcurrent(t *testing.T) {
	p := printer(t, fingerprint.Config{})
	inputs := []*fingerprint.Input{
		get("/a", "b=1&a=2"), post(jsonType, string(unsorted())), post(jsonType, `{"a":`), post(formType, "b=1&a=2"), multi("AAA"),
	}
	var want []bezoar.Fingerprint
	for _, in := range inputs {
		want = append(want, work(p, in))
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 500 {
				n := (g + i) % len(inputs)
				if got := work(p, inputs[n]); got != want[n] {
					t.Errorf("input %d: got %s, want %s", n, got, want[n])
					return
				}
			}
		})
	}
	wg.Wait()
}

// Law 10: what a hostile body can hold is not sorted, but it is still one work
// with its copies.
func TestManyNamesKeepTheirOrder(t *testing.T) {
	p := printer(t, fingerprint.Config{})
	build := func(n int) (rising, falling []string) {
		for i := range n {
			rising = append(rising, fmt.Sprintf(`"%05d":1`, i))
			falling = append(falling, fmt.Sprintf(`"%05d":1`, n-1-i))
		}
		return rising, falling
	}
	for n, want := range map[int]bool{1024: true, 1025: false} {
		a, b := build(n)
		x, y := post(jsonType, "{"+strings.Join(a, ",")+"}"), post(jsonType, "{"+strings.Join(b, " , ")+"}")
		if (work(p, x) == work(p, y)) != want {
			t.Errorf("%d members: the order matters is %v", n, want)
		}
		if work(p, y) != work(p, post(jsonType, "{"+strings.Join(b, ",")+"}")) {
			t.Errorf("%d members: white space matters", n)
		}
		if shape(p, x) != shape(p, y) {
			t.Errorf("%d members: two shapes", n)
		}
	}
	if got := p.Skeleton(get("/", strings.Repeat("a&", 1025))); got != "GET /?+" {
		t.Errorf("many pairs: %s", got)
	}
}

// pairs draws the parameters of a query.
func pairs(t *rapid.T) []string {
	names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z%+ é\[\]]{1,12}`), 1, 12, rapid.ID).Draw(t, "names")
	for i, n := range names {
		names[i] = url.QueryEscape(n) + "=" + url.QueryEscape(rapid.String().Draw(t, "value"))
	}
	return names
}

func TestPermutedParametersAreOneWork(t *testing.T) {
	p := printer(t, fingerprint.Config{})
	rapid.Check(t, func(t *rapid.T) {
		ps := pairs(t)
		other := rapid.Permutation(ps).Draw(t, "other")
		a, b := strings.Join(ps, "&"), strings.Join(other, "&")
		wa, sa := p.Work(get("/", a))
		if wb, sb := p.Work(get("/", b)); wa != wb || sa != sb {
			t.Fatalf("%s and %s are two", a, b)
		}
		if work(p, post(formType, a)) != work(p, post(formType, b)) {
			t.Fatalf("the forms %s and %s are two", a, b)
		}
	})
}

// document draws JSON values; objects are lists of members so that they can
// be permuted.
type (
	object []member
	member struct {
		name  string
		value any
	}
)

func value(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kind := rapid.IntRange(0, 6).Draw(t, "kind")
		switch {
		case kind == 5 && depth > 0:
			return rapid.SliceOfN(value(depth-1), 0, 4).Draw(t, "array")
		case kind == 6 && depth > 0:
			var o object
			for _, name := range rapid.SliceOfNDistinct(rapid.String(), 0, 6, rapid.ID).Draw(t, "names") {
				o = append(o, member{name, value(depth-1).Draw(t, "value")})
			}
			return o
		case kind == 0:
			return nil
		case kind == 1:
			return rapid.Bool().Draw(t, "bool")
		case kind == 2:
			return rapid.Int64().Draw(t, "int")
		case kind == 3:
			return rapid.Float64Range(-1e9, 1e9).Draw(t, "float")
		}
		return rapid.String().Draw(t, "string")
	})
}

// write writes v with members permuted and white space sprinkled by r.
func write(out *bytes.Buffer, v any, r *rand.Rand) {
	space := func() { out.WriteString(strings.Repeat(" \n\t", 1)[:r.IntN(4)]) }
	space()
	switch v := v.(type) {
	case object:
		out.WriteByte('{')
		for i, n := range r.Perm(len(v)) {
			if i > 0 {
				out.WriteByte(',')
			}
			write(out, v[n].name, r)
			out.WriteByte(':')
			write(out, v[n].value, r)
		}
		space()
		out.WriteByte('}')
	case []any:
		out.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				out.WriteByte(',')
			}
			write(out, e, r)
		}
		out.WriteByte(']')
	default:
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		out.Write(b)
	}
	space()
}

func TestPermutedMembersAreOneWork(t *testing.T) {
	p := printer(t, fingerprint.Config{})
	rapid.Check(t, func(t *rapid.T) {
		v := value(4).Draw(t, "document")
		r := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed")))
		var a, b bytes.Buffer
		write(&a, v, r)
		write(&b, v, r)
		wa, sa := p.Work(post(jsonType, a.String()))
		wb, sb := p.Work(post(jsonType, b.String()))
		if wa != wb || sa != sb {
			t.Fatalf("two of each:\n%s\n%s", a.String(), b.String())
		}
	})
}

func TestAnyByteOfAValueMatters(t *testing.T) {
	p := printer(t, fingerprint.Config{})
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Byte(), 1, 200).Draw(t, "value")
		other := bytes.Clone(v)
		other[rapid.IntRange(0, len(v)-1).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		ways := map[string]func([]byte) *fingerprint.Input{
			"query":  func(b []byte) *fingerprint.Input { return get("/", "a=1&b="+url.QueryEscape(string(b))) },
			"path":   func(b []byte) *fingerprint.Input { return get("/x/"+url.PathEscape(string(b))+"-", "") },
			"form":   func(b []byte) *fingerprint.Input { return post(formType, "b="+url.QueryEscape(string(b))) },
			"opaque": func(b []byte) *fingerprint.Input { return post("text/plain", string(b)) },
			"JSON": func(b []byte) *fingerprint.Input {
				latin := make([]rune, len(b))
				for i, c := range b {
					latin[i] = rune(c)
				}
				text, err := json.Marshal(map[string]string{"a": string(latin)})
				if err != nil {
					t.Fatal(err)
				}
				return post(jsonType, string(text))
			},
		}
		for way, in := range ways {
			if work(p, in(v)) == work(p, in(other)) {
				t.Fatalf("%s: %q and %q are one work", way, v, other)
			}
		}
	})
}

// Whatever is moved from one part to its neighbour, the work is another.
func TestPartsDoNotRunTogether(t *testing.T) {
	p := printer(t, fingerprint.Config{Headers: []string{"A", "B"}})
	build := func(parts []string) *fingerprint.Input {
		return &fingerprint.Input{
			Method: parts[0], Path: "/" + parts[1], RawQuery: parts[2], ContentType: parts[3],
			Header: http.Header{"A": {parts[4], parts[5]}, "B": {parts[6]}}, Body: []byte(parts[7]), Complete: true,
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringMatching(`[abO]{0,3}`)
		a := rapid.SliceOfN(part, 8, 8).Draw(t, "a")
		b := rapid.SliceOfN(part, 8, 8).Draw(t, "b")
		if rapid.Bool().Draw(t, "moved") {
			b = append([]string(nil), a...)
			if i := rapid.IntRange(0, 6).Draw(t, "from"); b[i] != "" {
				b[i], b[i+1] = b[i][:len(b[i])-1], b[i][len(b[i])-1:]+b[i+1]
			}
		}
		if same := cmp.Equal(a, b); (work(p, build(a)) == work(p, build(b))) != same {
			t.Fatalf("%q and %q: same is %v", a, b, same)
		}
	})
}
