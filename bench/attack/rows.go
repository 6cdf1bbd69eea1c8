package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/internal/each"
)

// A row is one attack.
type row struct {
	name  string
	group string // names several rows at once
	what  string
	bound bound
	peers bool     // nginx and HAProxy can be compared
	set   settings // beyond the defaults
	good  func(w *world, n int, r *rand.Rand) shot
	rate  int                     // of good, in place of Config.Rate
	also  func(w *world) []stream // innocents beside these
	evil  func(w *world) []stream
	// script runs beside the streams and changes the gate.
	script func(ctx context.Context, s *scene, g *gate) error
	// faults says what is wrong that no other row asks for.
	faults func(s *scene, r *Run, b balance) []string
}

const (
	neon    = "neon"
	noBound = -1 // on deaths
)

// theme puts poison into a header field.
func theme(s shot, value string) shot {
	s.header = append(slices.Clone(s.header), [2]string{"X-Theme", value})
	return s
}

// pill makes a shot the attacker's.
func (w *world) pill(s shot) shot {
	s.who, s.pill, s.class = w.attacker, true, "pill"
	return s
}

// rows returns every row, in the order of the report.
func rows() []row {
	return slices.Concat(
		[]row{{name: "calm", what: "no attack: the rig's own check", bound: bound{text: "100 %, no death", deaths: 0, good: 100}, peers: true}},
		headerRows(), lateRows(), uniqueRows(), crowdRows(), longRows(), operationRows(), everydayRows(), variantRows(), cunningRows(), pairRows(), http2Rows(),
	)
}

func headerRows() []row {
	target := func(w *world, r *rand.Rand) shot { return get(w.innocent(r), "target", "/help/returns") }
	return []row{
		{
			name: "header", what: "poison in a header or a cookie, 2/s, on a page that innocents ask for once a second",
			bound: bound{text: "100 %, ≤ 4 deaths", deaths: 4, good: 100}, peers: true,
			also: func(w *world) []stream {
				return []stream{{rate: 1, make: func(_ int, r *rand.Rand) shot { return target(w, r) }}}
			},
			evil: func(w *world) []stream {
				return []stream{{rate: 2, make: func(n int, r *rand.Rand) shot {
					s := w.pill(target(w, r))
					if n%2 == 1 {
						s.header = [][2]string{{"Cookie", s.who.cookie + "; look=" + neon}}
						return s
					}
					return theme(s, neon)
				}}}
			},
		},
		{
			name: "header-home", what: "poison in a header, 2/s, on the home page, which innocents ask for 100 times a second",
			bound: bound{text: "100 %, ≤ 4 deaths", deaths: 4, good: 100}, peers: true,
			good: (*world).homes, rate: homeRate,
			evil: func(w *world) []stream {
				return []stream{{rate: 2, make: func(int, *rand.Rand) shot {
					return theme(w.pill(get(nil, "", "/")), neon)
				}}}
			},
		},
		{
			name: "header-values", what: "as header-home, with a different value each time",
			bound: bound{text: "100 %, ≤ 10 deaths", deaths: 10, good: 100}, peers: true,
			good: (*world).homes, rate: homeRate,
			evil: func(w *world) []stream {
				return []stream{{rate: 2, make: func(n int, _ *rand.Rand) shot {
					return theme(w.pill(get(nil, "", "/")), fmt.Sprintf("%s-%d", neon, n))
				}}}
			},
		},
		{
			name: "body-field", what: "poison, 2/s, in a body field that the route ignores; innocents send the same otherwise, 10/s",
			bound: bound{text: "100 %, ≤ 4 deaths", deaths: 4, good: 100}, peers: true,
			set: settings{route: []string{"ignore: ['json:$.trace']"}},
			also: func(w *world) []stream {
				return []stream{{rate: 10, make: func(n int, r *rand.Rand) shot {
					s := quote(w.innocent(r), n, fmt.Sprintf("t%d", n))
					s.idem = fmt.Sprintf("quote-%d", n)
					return s
				}}}
			},
			evil: func(w *world) []stream {
				return []stream{{rate: 2, make: func(n int, _ *rand.Rand) shot {
					return w.pill(quote(nil, n, neon))
				}}}
			},
		},
		{
			name: "shape", what: "pills /search?q=7N with the header, 2/s, five N in turn; innocents search for any q, 20/s",
			bound: bound{text: "100 %, ≤ 6 deaths", deaths: 6, good: 100}, peers: true,
			also: func(w *world) []stream {
				return []stream{{rate: 20, make: func(_ int, r *rand.Rand) shot {
					return get(w.innocent(r), "target", "/search?q=%d", r.IntN(500))
				}}}
			},
			evil: func(w *world) []stream {
				return []stream{{rate: 2, make: func(n int, _ *rand.Rand) shot {
					return theme(w.pill(get(nil, "", "/search?q=%d", 7*(11+n%5))), neon)
				}}}
			},
		},
	}
}

// homeRate lets the home page be asked for about 100 times a second.
const homeRate = 120

// quote is a POST of which few are alike but for the field trace.
func quote(who *caller, n int, trace string) shot {
	return post(who, "target", "/quotes", `{"item":%d,"count":1,"trace":%q}`, n%5, trace)
}

func lateRows() []row {
	thumbs := func(w *world) []stream {
		return []stream{{rate: 5, make: func(_ int, r *rand.Rand) shot {
			return get(w.innocent(r), "target", "/thumb?id=%d&q=small", r.IntN(200))
		}}}
	}
	late := func(format string, args ...any) func(w *world) []stream {
		return func(w *world) []stream {
			return []stream{{rate: 2, make: func(int, *rand.Rand) shot { return w.pill(get(nil, "", format, args...)) }}}
		}
	}
	return []row{
		{
			name: "delayed", what: "one request, 2/s, that is answered 200 and kills its worker 2 s later",
			bound: bound{text: "no wrong conviction, found within 8 deaths", deaths: 8, contained: true, found: true}, peers: true,
			also: thumbs, evil: late("/thumb?id=13&q=%slate2000", neon),
		},
		{
			name: "after-answer", what: "one request, 2/s, that kills its worker 5 ms after its answer",
			bound: bound{text: "≤ 8 deaths, then refused", deaths: 8, refused: true, found: true}, peers: true,
			also: thumbs, evil: late("/thumb?id=13&q=%slate5", neon),
		},
		{
			name: "after-answer-home", what: "a header on the home page, 2/s, that kills its worker 5 ms after its answer",
			bound: bound{text: "≤ 8 deaths, then refused", deaths: 8, refused: true, found: true, good: 99}, peers: true,
			also: thumbs, evil: func(w *world) []stream {
				return []stream{{rate: 2, make: func(int, *rand.Rand) shot { return theme(w.pill(get(nil, "", "/")), neon+"late5") }}}
			},
		},
		{
			name: "delayed-unique", what: "requests that kill their worker 2 s after their answer, no two alike, 2/s",
			bound: bound{text: "≤ 14 deaths, good ≥ 99 %", deaths: 14, good: 99}, peers: true,
			also: thumbs, evil: func(w *world) []stream {
				return []stream{{rate: 2, make: func(n int, _ *rand.Rand) shot {
					return w.pill(get(nil, "", "/thumb?id=%d&q=%slate2000", 1000+n, neon))
				}}}
			},
		},
		{
			name: "after-answer-unique", what: "requests that kill their worker 5 ms after their answer, no two alike, 5/s",
			bound: bound{text: "≤ 14 deaths, good ≥ 99 %", deaths: 14, good: 99}, peers: true,
			also: thumbs, evil: func(w *world) []stream {
				return []stream{{rate: 5, make: func(n int, _ *rand.Rand) shot {
					return w.pill(get(nil, "", "/thumb?id=%d&q=%slate5", 1000+n, neon))
				}}}
			},
		},
	}
}

func uniqueRows() []row {
	var out []row
	for _, rate := range []float64{2, 10} {
		out = append(out, row{
			name: fmt.Sprintf("post-unique-%g", rate), group: "post-unique",
			what:  fmt.Sprintf("POSTs that kill, no two alike, %g/s; not replayable", rate),
			bound: bound{text: "≤ 10 deaths, good ≥ 99 %", deaths: 10, good: 99}, peers: true,
			evil: func(w *world) []stream {
				return []stream{{rate: rate, make: func(n int, _ *rand.Rand) shot {
					return w.pill(post(nil, "", "/orders", `{"item":%d,"count":%d,"kind":%q}`, n, 1+n%3, neon))
				}}}
			},
		})
	}
	for _, rate := range []float64{10, 25, 50} {
		out = append(out, row{
			name: fmt.Sprintf("get-unique-%g", rate), group: "get-unique",
			what:  fmt.Sprintf("GETs that kill, no two alike, %g/s", rate),
			bound: bound{text: "≤ 14 deaths, good ≥ 99 %", deaths: 14, good: 99}, peers: true,
			evil: func(w *world) []stream {
				return []stream{{rate: rate, make: func(n int, _ *rand.Rand) shot {
					return w.pill(get(nil, "", "/search?q=%s-%d", neon, n))
				}}}
			},
		})
	}
	return out
}

func crowdRows() []row {
	reports := func(w *world, ms int) func(n int, r *rand.Rand) shot {
		return func(n int, r *rand.Rand) shot { return get(w.innocent(r), "target", "/report?id=%d&ms=%d", n, ms) }
	}
	unique := func(w *world) func(n int, r *rand.Rand) shot {
		return func(n int, _ *rand.Rand) shot { return w.pill(get(nil, "", "/search?q=%s-%d", neon, n)) }
	}
	const soon = 500 * time.Millisecond // into the work of the innocents
	return []row{
		{
			name: "lane-starve", what: "256 innocents of 1 s in flight, then four unique pills",
			bound: bound{text: "256 answered, ≤ 16 deaths, slowest < 15 s", deaths: 16, target: 100, slowest: 15 * time.Second}, peers: true,
			also: func(w *world) []stream { return []stream{{burst: 256, make: reports(w, 1000)}} },
			evil: func(w *world) []stream { return []stream{{burst: 4, after: soon, make: unique(w)}} },
		},
		{
			name: "one-of-64", what: "64 innocents of 1 s in flight, then one pill",
			bound: bound{text: "≤ 4 deaths, slowest < 6 s", deaths: 4, target: 100, slowest: 6 * time.Second}, peers: true,
			also: func(w *world) []stream { return []stream{{burst: 64, make: reports(w, 1000)}} },
			evil: func(w *world) []stream { return []stream{{burst: 1, after: soon, make: unique(w)}} },
		},
		{
			name: "slow-mix", what: "15 innocents a second of 4 s each and one unique pill a second",
			bound: bound{text: "≥ 99 % of the slow ones", deaths: noBound, target: 99}, peers: true,
			also: func(w *world) []stream { return []stream{{rate: 15, make: reports(w, 4000)}} },
			evil: func(w *world) []stream { return []stream{{rate: 1, make: unique(w)}} },
		},
	}
}

func everydayRows() []row {
	var out []row
	for _, d := range []struct {
		name, what, q string
		rate          float64
		burst, deaths int
		good          float64
		set           settings
	}{
		{name: "crash", what: "one GET that kills, 2/s", q: neon, rate: 2, deaths: 2, good: 100},
		{
			name: "hang", what: "one GET that hangs its worker, 2/s; timeout 2s", q: neon + "hang", rate: 2, deaths: 2, good: 100,
			set: settings{route: []string{"timeout: 2s"}},
		},
		{
			name: "oom", what: "one GET that takes all memory, 2/s; memory 128MiB", q: neon + "oom", rate: 2, deaths: 2, good: 100,
			set: settings{fleet: []string{"memory: 128MiB"}},
		},
		{name: "unique", what: "GETs that kill, no two alike, 2/s", rate: 2, deaths: 14, good: 99},
		{name: "burst", what: "64 copies of one GET that kills, every 3 s", q: neon, rate: 1.0 / 3, burst: 64, deaths: 2, good: 100},
	} {
		out = append(out, row{
			name: "demo-" + d.name, group: "demo", what: "everyday: " + d.what,
			bound: bound{text: fmt.Sprintf("%g %%, ≤ %d deaths", d.good, d.deaths), deaths: d.deaths, good: d.good},
			set:   d.set,
			evil: func(w *world) []stream {
				return []stream{{rate: d.rate, burst: d.burst, make: func(n int, _ *rand.Rand) shot {
					q := d.q
					if q == "" {
						q = fmt.Sprintf("%s-%d", neon, n)
					}
					return w.pill(get(nil, "", "/search?q=%s", q))
				}}}
			},
		})
	}
	return out
}

// rowNames returns the names of all rows.
func rowNames() []string {
	return each.Of(rows(), func(r row) string { return r.name })
}

// chosen returns the rows of the names, which may be those of groups, in the order
// of the report; and the names that mean nothing.
func chosen(names []string) (out []row, bad []string) {
	for _, r := range rows() {
		if slices.Contains(names, r.name) || slices.Contains(names, r.group) {
			out = append(out, r)
		}
	}
	for _, name := range names {
		if name == "" || !slices.ContainsFunc(rows(), func(r row) bool { return r.name == name || r.group == name }) {
			bad = append(bad, name)
		}
	}
	return out, bad
}
