package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// cunningRows are attacks that hide: behind innocents, behind successes, behind each other.
func cunningRows() []row {
	unique := func(w *world, n int) shot { return w.pill(get(nil, "", "/search?q=%s-%d", neon, n)) }
	kind := func(w *world, how string, n int) shot {
		return w.pill(get(nil, "", "/thumb?id=%d&q=%s%s", 1000+n, neon, how))
	}
	one := func(name, what string, b bound, rate float64, make func(w *world, n int, r *rand.Rand) shot) row {
		return row{name: name, group: "cunning", what: what, bound: b, evil: func(w *world) []stream {
			return []stream{{rate: rate, make: func(n int, r *rand.Rand) shot { return make(w, n, r) }}}
		}}
	}
	good := func(percent float64, deaths int) bound {
		return bound{text: fmt.Sprintf("good ≥ %g %%, ≤ %d deaths", percent, deaths), deaths: deaths, good: percent}
	}
	nat := one("nat", "GETs that kill, no two alike, 10/s, and 10/s of innocents from the same address and key",
		bound{text: "good ≥ 97 %, ≥ 80 % of those behind the address, ≤ 14 deaths", deaths: 14, good: 97, target: 80}, 10,
		func(w *world, n int, _ *rand.Rand) shot { return unique(w, n) })
	nat.also = func(w *world) []stream {
		return []stream{{rate: 10, make: func(n int, r *rand.Rand) shot {
			s := w.mix(n, r)
			s.class, s.who = "target", w.attacker
			return s
		}}}
	}
	slow := one("slow-upload", "POSTs of 100 KB that drip for 2 s and then kill, no two alike, 2/s; not replayable", good(99, 12), 2,
		func(w *world, n int, _ *rand.Rand) shot {
			s := w.pill(post(nil, "", "/upload", "%s%s", strings.Repeat(fmt.Sprintf("%09d ", n), 10_000), neon))
			s.drip = 2 * time.Second
			return s
		})
	sockets := one("ws-unique", "WebSocket messages that kill, no two alike, 5/s; innocents open 4 sessions a second of the same URL",
		bound{text: "good ≥ 99 %, ≤ 8 deaths", deaths: 8, good: 99}, 0, nil)
	sockets.also = func(w *world) []stream {
		return []stream{{rate: 4, serve: session, make: func(_ int, r *rand.Rand) shot { return get(w.innocent(r), "target", "/ws") }}}
	}
	sockets.evil = func(w *world) []stream {
		return []stream{{rate: 5, serve: session, make: func(n int, _ *rand.Rand) shot {
			s := w.pill(get(nil, "", "/ws?session=%d", n))
			s.body = fmt.Sprintf("%s %d", neon, n)
			return s
		}}}
	}
	return []row{
		nat, slow, sockets,
		one("stolen-keys", "GETs that kill, no two alike, 5/s, with key and cookies of another innocent each time", good(95, 20), 5,
			func(w *world, n int, r *rand.Rand) shot {
				s, from := unique(w, n), w.innocent(r)
				who := *from
				who.addr = w.attacker.addr
				s.who = &who
				return s
			}),
		one("connection", "one request, 5/s, that kills its worker the second time that it comes on the same connection", good(99, 14), 5,
			func(w *world, _ int, _ *rand.Rand) shot { return kind(w, "conn", 0) }),
		one("window", "one request, 2/s, that is answered and kills its worker when the window of a second is just over",
			bound{text: "good ≥ 99 %, ≤ 10 deaths", deaths: 10, good: 99}, 2,
			func(w *world, _ int, _ *rand.Rand) shot { return kind(w, "late1000", 0) }),
		one("half-good", "GETs that kill, no two alike, among four times as many good ones of the same shape and caller, 25/s in all", good(99, 14), 25,
			func(w *world, n int, _ *rand.Rand) shot {
				if n%5 != 1 {
					return w.pill(get(nil, "", "/search?q=oxen-%d", n))
				}
				return unique(w, n)
			}),
		one("arm", "requests, no two alike, 2/s, that are answered; the next request to their worker kills it, whosever it is", good(97, 12), 2,
			func(w *world, n int, _ *rand.Rand) shot { return kind(w, "arm", n) }),
		one("leak", "requests, no two alike, 10/s, that take memory for good; after eight the next request kills the worker",
			bound{text: "good ≥ 97 %, nobody convicted wrongly", deaths: noBound, good: 97}, 10,
			func(w *world, n int, _ *rand.Rand) shot { return kind(w, "leak", n) }),
		one("rate-100", "one GET that kills, 100/s", good(100, 2), 100,
			func(w *world, _ int, _ *rand.Rand) shot { return w.pill(get(nil, "", "/search?q=%s", neon)) }),
		one("rate-100-unique", "GETs that kill, no two alike, 100/s", good(99, 14), 100,
			func(w *world, n int, _ *rand.Rand) shot { return unique(w, n) }),
		one("heads", "HEAD, OPTIONS and GET that kill, no two alike, 9/s", good(99, 14), 9,
			func(w *world, n int, _ *rand.Rand) shot {
				s := unique(w, n)
				s.method = []string{http.MethodHead, http.MethodOptions, http.MethodGet}[n%3]
				return s
			}),
	}
}
