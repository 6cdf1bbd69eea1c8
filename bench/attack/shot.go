package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

// A caller is one of those who send: what it is known by, and what it sends with
// every request.
type caller struct {
	key    string // X-Api-Key
	addr   string // the loopback address that it sends from
	agent  string
	theme  string // X-Theme, "" for none
	cookie string
}

// A shot is one request before it is sent.
type shot struct {
	who    *caller
	method string
	target string
	body   string
	class  string      // of what it is counted among: home, get, post, target …
	idem   string      // Idempotency-Key, "" for none
	header [][2]string // in addition to the caller's, or in place of them
	drip   time.Duration
	pill   bool // the attacker's
}

// unsafe reports whether nobody may send the request twice.
func (s *shot) unsafe() bool { return s.method == http.MethodPost && s.idem == "" }

// line is what a verdict's sample shows of the request.
func (s *shot) line() string { return s.method + " " + s.target }

// A world is the callers of one run and the chance that they share.
type world struct {
	innocents []*caller
	attacker  *caller
}

const innocents = 24

// newWorld makes the callers. shared says that all send from one address;
// otherwise the attacker has one of its own.
func newWorld(seed uint64, shared bool) *world {
	r := rand.New(rand.NewPCG(seed, 1))
	agents := []string{
		"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/138.0 Safari/537.36",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148",
		"shop-app/4.2.1",
	}
	themes := []string{"", "dark", "light"}
	make := func(i int) *caller {
		return &caller{
			key:  fmt.Sprintf("k%08x", r.Uint32()),
			addr: "127.0.0.1", agent: agents[i%len(agents)], theme: themes[i%len(themes)],
			cookie: fmt.Sprintf("sid=%08x; theme=light", r.Uint32()),
		}
	}
	w := &world{attacker: make(3)}
	for i := range innocents {
		w.innocents = append(w.innocents, make(i))
	}
	if !shared {
		w.attacker.addr = "127.0.0.66"
	}
	return w
}

func (w *world) innocent(r *rand.Rand) *caller { return w.innocents[r.IntN(len(w.innocents))] }

func get(who *caller, class, format string, args ...any) shot {
	return shot{who: who, class: class, method: http.MethodGet, target: fmt.Sprintf(format, args...)}
}

func post(who *caller, class, target, format string, args ...any) shot {
	return shot{who: who, class: class, method: http.MethodPost, target: target, body: fmt.Sprintf(format, args...)}
}

// mix is the good traffic of every row: the home page, many items, searches and
// rarely asked pages, and two kinds of POSTs.
func (w *world) mix(n int, r *rand.Rand) shot {
	who := w.innocent(r)
	switch roll := r.IntN(100); {
	case roll < 25:
		return get(who, "get", "/")
	case roll < 60:
		return get(who, "get", "/item/%d", int(3000*r.Float64()*r.Float64()*r.Float64()))
	case roll < 75:
		return get(who, "get", "/search?q=%d", r.IntN(5000))
	case roll < 80:
		return get(who, "get", "/help/%d", r.IntN(40))
	case roll < 90:
		return post(who, "post", "/orders", `{"item":%d,"count":%d,"kind":"plain"}`, r.IntN(1000), 1+r.IntN(3))
	default:
		s := post(who, "post", "/cart", `{"item":%d,"step":%d}`, r.IntN(1000), n)
		s.idem = fmt.Sprintf("cart-%08x", r.Uint32())
		return s
	}
}

// homes is the good traffic where everybody asks for the home page, with a few
// others beside.
func (w *world) homes(n int, r *rand.Rand) shot {
	if n%6 == 5 {
		return w.mix(n, r)
	}
	return get(w.innocent(r), "target", "/")
}

// bind makes a stream's maker of a method.
func (w *world) bind(f func(*world, int, *rand.Rand) shot) func(int, *rand.Rand) shot {
	return func(n int, r *rand.Rand) shot { return f(w, n, r) }
}
