package sim

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// field is one thing that a caller sends besides the target.
type field struct{ kind, name, value string }

// Shot is one request, before it is sent.
type Shot struct {
	Caller  string
	Target  string  // method, path and query
	Body    string  // as far as it is part of the fingerprint
	Fields  []field // header fields, cookies, parameters, members of the body
	Unsafe  bool    // may not be replayed
	Class   string  // of what it is counted among
	Service time.Duration
	Kill    time.Duration // it kills its worker that long after its start; 0: not
	Late    time.Duration // it kills its worker that long after its answer; 0: not
	Odds    int           // it kills as Kill or Late say once in so many attempts; 0: each time
	Hang    bool          // … and its worker does not die then, but answers nothing any more
	Arm     bool          // the next request to its worker kills that, whosever it is
	Leak    int           // … once its worker has answered so many of these; 0: not
	Prime   bool          // it is harmless, and leaves its worker so that one with Fire kills it
	Fire    bool          // it kills as Kill says, and only a worker that is primed
	HangUp  time.Duration // its caller hangs up that long after its start; 0: not
	Evil    bool
}

// with returns s with one more field, or another value of it.
func (s Shot) with(kind, name, value string) Shot {
	s.Fields = slices.DeleteFunc(slices.Clone(s.Fields), func(f field) bool { return f.kind == kind && f.name == name })
	s.Fields = append(s.Fields, field{kind, name, value})
	return s
}

// traits are a shot's, as package fingerprint has them: each field is a feature by
// its name, and by its name and value.
type traits struct {
	variant  bezoar.Fingerprint
	endpoint bezoar.Fingerprint
	features []uint64
	texts    []string
}

func (s *Shot) traits() *traits {
	t := &traits{}
	var all strings.Builder
	all.WriteString(s.Target + "\n" + s.Body)
	t.add("caller " + s.Caller)
	for _, f := range s.Fields {
		text := f.kind + " " + f.name
		t.add(text)
		t.add(text + ": " + f.value)
		all.WriteString("\n" + text + ": " + f.value)
	}
	t.variant, t.endpoint = named("variant "+all.String()), named("endpoint "+endpoint(s.Target))
	return t
}

func (t *traits) add(text string) {
	t.features = append(t.features, hash(text))
	t.texts = append(t.texts, text)
}

// Variant implements blame.Traits.
func (t *traits) Variant() bezoar.Fingerprint { return t.variant }

// Endpoint implements blame.Traits.
func (t *traits) Endpoint() bezoar.Fingerprint { return t.endpoint }

// Features implements blame.Traits.
func (t *traits) Features(dst []uint64) []uint64 { return append(dst, t.features...) }

// Text implements blame.Traits.
func (t *traits) Text(feature uint64) string {
	if i := slices.Index(t.features, feature); i >= 0 {
		return t.texts[i]
	}
	return ""
}

// hash is FNV-1a.
func hash(text string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return mix(h)
}

// named is the fingerprint of a text.
func named(text string) bezoar.Fingerprint {
	var fp bezoar.Fingerprint
	putHash(&fp, hash(text), hash(text+"\x00"))
	return fp
}

// path is the target without its query.
func path(target string) string {
	p, _, _ := strings.Cut(target, "?")
	return p
}

// shape is the endpoint with the names of the parameters and, roughly, how long they
// are together.
func shape(target string) string {
	_, query, _ := strings.Cut(target, "?")
	var all strings.Builder
	all.WriteString(endpoint(target))
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		fmt.Fprint(&all, "&", name, "=", bits.Len(uint(len(value))))
	}
	return all.String()
}

// endpoint is the path without its numbers.
func endpoint(target string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, path(target))
}

const (
	innocents = 24
	attacker  = "attacker"
)

// caller is the i-th innocent, with what it sends each time.
func dress(s Shot, i int) Shot {
	agents := []string{"firefox", "chrome", "safari", "app"}
	themes := []string{"", "dark", "light"}
	s.Caller = fmt.Sprint("innocent ", i)
	s.Fields = append(s.Fields, field{"header", "User-Agent", agents[i%len(agents)]}, field{"cookie", "sid", fmt.Sprint(i)})
	if t := themes[i%len(themes)]; t != "" {
		s.Fields = append(s.Fields, field{"header", "X-Theme", t})
	}
	return s
}

// get is a GET with parameters "name=value".
func get(target string, service time.Duration) Shot {
	s := Shot{Target: "GET " + target, Service: service, Class: "get"}
	if _, query, ok := strings.Cut(target, "?"); ok {
		for p := range strings.SplitSeq(query, "&") {
			name, value, _ := strings.Cut(p, "=")
			s.Fields = append(s.Fields, field{"parameter", name, value})
		}
	}
	return s
}

// post is a POST with members "name=value" in its body.
func post(target, body string, service time.Duration) Shot {
	s := Shot{Target: "POST " + target, Body: body, Service: service, Class: "post", Unsafe: true}
	for p := range strings.SplitSeq(body, "&") {
		name, value, _ := strings.Cut(p, "=")
		s.Fields = append(s.Fields, field{"member", name, value})
	}
	return s
}

// good is a request of some innocent.
func good(r *rand.Rand, s Shot) Shot { return dress(s, r.IntN(innocents)) }

// evil is a request of the attacker that kills at once.
func evil(s Shot) Shot {
	s = dress(s, 3)
	s.Caller, s.Evil, s.Kill, s.Class = attacker, true, 2*time.Millisecond, "pill"
	return s.with("cookie", "sid", "666")
}

// Mix is the good traffic of every row: the home page, items, searches, pages that
// are rarely asked for, and two kinds of POSTs.
func Mix(n int, r *rand.Rand) Shot {
	switch roll := r.IntN(100); {
	case roll < 25:
		s := good(r, get("/", 2*time.Millisecond))
		s.Class = "home"
		return s
	case roll < 60:
		return good(r, get(fmt.Sprint("/item/", int(3000*r.Float64()*r.Float64()*r.Float64())), 4*time.Millisecond))
	case roll < 75:
		return good(r, get(fmt.Sprint("/search?q=", r.IntN(5000)), 8*time.Millisecond))
	case roll < 80:
		return good(r, get(fmt.Sprint("/help/", r.IntN(40)), 3*time.Millisecond))
	case roll < 90:
		return good(r, post("/orders", fmt.Sprintf("item=%d&count=%d&kind=plain", r.IntN(1000), 1+r.IntN(3)), 6*time.Millisecond))
	}
	s := good(r, post("/cart", fmt.Sprintf("item=%d&step=%d", r.IntN(1000), n), 6*time.Millisecond))
	s.Unsafe = false // it has an Idempotency-Key
	return s
}

// Homes is good traffic of which most asks for the home page.
func Homes(n int, r *rand.Rand) Shot {
	if n%6 == 5 {
		return Mix(n, r)
	}
	return good(r, get("/", 2*time.Millisecond))
}
