package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Row is one attack with its bound.
type Row struct {
	Name    string
	Deaths  int     // at most; negative: no bound
	Good    float64 // percent of the innocents, at least
	Class   string  // … of this class, when not all of them
	Slowest time.Duration
	Late    bool // no pill of the last third is answered
	Length  time.Duration
	Lead    time.Duration // how long good traffic runs before it; 0: long enough for all that it asks for to be known
	Timeout time.Duration // until an answer is overdue; 0: 30 s
	Chance  int           // innocents that may be convicted by chance
	Homes   bool          // most of the good traffic asks for the home page
	Shared  bool          // nobody tells callers apart
	Busy    bool          // the machine has too much to do, and the fleet has just begun to serve
	Streams []Stream
}

// Attack is the row's attack on a fleet.
func (r *Row) Attack(seed uint64, workers int) Attack {
	a := Attack{Name: r.Name, Seed: seed, Workers: workers, Length: r.Length, Lead: r.Lead, Timeout: r.Timeout, Chance: r.Chance, Streams: r.Streams}
	a.Length = cmp.Or(a.Length, time.Minute)
	a.Good = Mix
	if r.Homes {
		a.Good = Homes
	}
	if r.Shared {
		a.Good = shared(a.Good)
		a.Streams = slices.Clone(r.Streams)
		for i := range a.Streams {
			a.Streams[i].Make = shared(a.Streams[i].Make)
		}
	}
	if r.Busy {
		a.Lead, a.Restart = 4*time.Second, time.Second
		a.Good = busy(a.Good)
		a.Streams = slices.Clone(a.Streams)
		for i := range a.Streams {
			a.Streams[i].Make = busy(a.Streams[i].Make)
		}
	}
	return a
}

// busy makes everything take ten times as long.
func busy(send func(n int, r *rand.Rand) Shot) func(n int, r *rand.Rand) Shot {
	return func(n int, r *rand.Rand) Shot {
		s := send(n, r)
		s.Service *= 10
		if s.Kill > 0 {
			s.Kill = time.Duration((0.5 + r.Float64()) * float64(s.Kill*10))
		}
		return s
	}
}

// shared makes everybody one caller.
func shared(send func(n int, r *rand.Rand) Shot) func(n int, r *rand.Rand) Shot {
	return func(n int, r *rand.Rand) Shot {
		s := send(n, r)
		s.Caller = "everybody"
		return s
	}
}

// Rows are the attacks that the bounds are stated for.
func Rows() []Row {
	rows := slices.Concat(headerRows(), lateRows(), pairRows(), uniqueRows(), crowdRows(), variantRows())
	rows = append(rows, sharedRows(rows)...)
	return append(rows, busyRows(rows)...)
}

// busyRows are some of the rows on a machine on which all takes ten times as long: most
// of the fleet dies before anything is told, and nothing has run well for long.
func busyRows(rows []Row) (out []Row) {
	for _, row := range rows {
		switch row.Name {
		case "get-unique-10", "get-unique-25", "get-unique-50", "post-unique-10":
		case "hang-unique":
			row.Deaths = 14
		case "get-unique-10-shared":
			row.Deaths, row.Good = 20, 85 // a search that is new waits for the pace of its shape
		default:
			continue
		}
		row.Name, row.Busy = row.Name+"-busy", true
		out = append(out, row)
	}
	return out
}

// sharedRows are some of the rows with callers that nobody tells apart. Innocents whose
// fingerprints have successes are answered; others of an escalated shape wait for its
// pace, as the pills do, so that less of the whole is.
func sharedRows(rows []Row) (out []Row) {
	most := map[string]Row{
		"header":            {Deaths: 5, Good: 100},
		"header-values":     {Deaths: 16, Good: 100},
		"shape":             {Deaths: 13, Good: 100},
		"post-unique-10":    {Deaths: 10, Good: 95},
		"get-unique-10":     {Deaths: 17, Good: 95}, // the worst of 50 seeds; 14 in most
		"get-unique-50":     {Deaths: 17, Good: 95},
		"get-shapes-10":     {Deaths: 20, Good: 95},
		"hang-unique":       {Deaths: 14, Good: 95},
		"hang-values":       {Deaths: 8, Good: 99},
		"hang-values-early": {Deaths: 10, Good: 90},
	}
	for _, row := range rows {
		if bound, ok := most[row.Name]; ok {
			row.Name, row.Shared, row.Deaths, row.Good = row.Name+"-shared", true, bound.Deaths, bound.Good
			out = append(out, row)
		}
	}
	return out
}

const neon = "neon"

func theme(s Shot, value string) Shot { return s.with("header", "X-Theme", value) }

// target counts s among the class "target".
func target(s Shot) Shot {
	s.Class = "target"
	return s
}

func headerRows() []Row {
	rare := func() Shot { return get("/help/returns", 3*time.Millisecond) }
	home := func() Shot { return get("/", 2*time.Millisecond) }
	quote := func(n int, trace string) Shot {
		// The route ignores the member trace, so it is no part of the fingerprint.
		s := post("/quotes", fmt.Sprintf("item=%d&count=1", n%5), 5*time.Millisecond).with("member", "trace", trace)
		s.Unsafe = false
		return s
	}
	return []Row{
		// Two pills, at most one of which meets a lane worker that is not clean.
		{Name: "header", Deaths: 5, Good: 100, Streams: []Stream{
			{Rate: 1, Make: func(_ int, r *rand.Rand) Shot { return target(good(r, rare())) }},
			{Rate: 2, Make: func(n int, _ *rand.Rand) Shot {
				if n%2 == 1 {
					return evil(rare()).with("cookie", "look", neon)
				}
				return theme(evil(rare()), neon)
			}},
		}},
		{Name: "header-home", Deaths: 4, Good: 100, Homes: true, Streams: []Stream{
			{Rate: 2, Make: func(int, *rand.Rand) Shot { return theme(evil(home()), neon) }},
		}},
		{Name: "header-values", Deaths: 10, Good: 100, Homes: true, Streams: []Stream{
			{Rate: 2, Make: func(n int, _ *rand.Rand) Shot { return theme(evil(home()), fmt.Sprint(neon, n)) }},
		}},
		{Name: "body-field", Deaths: 4, Good: 100, Streams: []Stream{
			{Rate: 10, Make: func(n int, r *rand.Rand) Shot { return target(good(r, quote(n, fmt.Sprint("t", n)))) }},
			{Rate: 2, Make: func(int, *rand.Rand) Shot { return evil(quote(1, neon)) }},
		}},
		// The same at five fingerprints: each is proven by itself, so that it costs its
		// first two workers, or one after its caller is escalated, and one more where
		// the lane worker was not clean.
		{Name: "body-fields", Deaths: 10, Good: 100, Streams: []Stream{
			{Rate: 10, Make: func(n int, r *rand.Rand) Shot { return target(good(r, quote(n, fmt.Sprint("t", n)))) }},
			{Rate: 2, Make: func(n int, _ *rand.Rand) Shot { return evil(quote(n, neon)) }},
		}},
		// The table asks for 6. These are five pills, too.
		{Name: "shape", Deaths: 10, Good: 100, Streams: []Stream{
			{Rate: 20, Make: func(_ int, r *rand.Rand) Shot {
				return target(good(r, get(fmt.Sprint("/search?q=", r.IntN(500)), 8*time.Millisecond)))
			}},
			{Rate: 2, Make: func(n int, _ *rand.Rand) Shot {
				return theme(evil(get(fmt.Sprint("/search?q=", 7*(11+n%5)), 8*time.Millisecond)), neon)
			}},
		}},
	}
}

func lateRows() []Row {
	row := func(name string, deaths int, after time.Duration) Row {
		return Row{Name: name, Deaths: deaths, Good: 99, Late: true, Streams: []Stream{
			{Rate: 5, Make: func(_ int, r *rand.Rand) Shot {
				return target(good(r, get(fmt.Sprintf("/thumb?id=%d&q=small", r.IntN(200)), 4*time.Millisecond)))
			}},
			{Rate: 2, Make: func(int, *rand.Rand) Shot {
				s := evil(get("/thumb?id=13&q=neon", 4*time.Millisecond))
				s.Kill, s.Late = 0, after
				return s
			}},
		}}
	}
	// On a page that was answered before every death anyway.
	home := row("after-answer-home", 8, 5*time.Millisecond)
	home.Streams[1].Make = func(int, *rand.Rand) Shot {
		s := theme(evil(get("/", 4*time.Millisecond)), "neon")
		s.Kill, s.Late = 0, 5*time.Millisecond
		return s
	}
	homes := home
	homes.Name, homes.Homes = "after-answer-homes", true
	unique := row("delayed-unique", 14, 2*time.Second)
	unique.Late = false // they wait for the pace of their caller
	unique.Streams[1].Make = func(n int, _ *rand.Rand) Shot {
		s := evil(get(fmt.Sprintf("/thumb?id=%d&q=neon", 1000+n), 4*time.Millisecond))
		s.Kill, s.Late = 0, 2*time.Second
		return s
	}
	// When the window is just over, each answer has counted as a success; and little is
	// known yet, so that the fleet seems to be to blame.
	window := row("window", 8, 1001*time.Millisecond)
	window.Lead = 4 * time.Second
	// The request that dies is an innocent's.
	arm := Row{Name: "arm", Deaths: 12, Good: 97, Streams: []Stream{{Rate: 2, Make: func(n int, r *rand.Rand) Shot {
		s := evil(get(fmt.Sprint("/thumb?q=neonarm&id=", n), 4*time.Millisecond))
		s.Kill, s.Arm = 0, true
		return s
	}}}}
	// Each is harmless, until the eighth on a worker. One innocent in 50 runs was at two such
	// deaths, and alone in the lane at the second.
	leak := Row{Name: "leak", Deaths: 24, Good: 97, Chance: 1, Streams: []Stream{{Rate: 10, Make: func(n int, r *rand.Rand) Shot {
		s := evil(get(fmt.Sprint("/thumb?q=neonleak&id=", n), 4*time.Millisecond))
		s.Kill, s.Leak = 0, 8
		return s
	}}}}
	// The same when next to nothing is known yet of what runs well.
	early := leak
	early.Name, early.Lead = "leak-early", 3*time.Second
	return []Row{row("delayed", 8, 2*time.Second), row("after-answer", 8, 5*time.Millisecond), home, homes, unique, window, arm, leak, early}
}

// pairRows are pills that need each other: one primes a worker, the other kills one that is
// primed. Each is harmless alone.
func pairRows() (out []Row) {
	for _, kind := range []struct {
		name    string
		deaths  int
		unique  bool
		callers int
	}{
		{"pair", 40, false, 1},
		{"pair-callers", 40, false, 2},
		{"pair-unique", 14, true, 1},
		{"pair-unique-callers", 14, true, 2},
	} {
		half := func(what string, caller int) Stream {
			return Stream{Rate: 2, Make: func(n int, _ *rand.Rand) Shot {
				if !kind.unique {
					n = 0
				}
				s := evil(get(fmt.Sprintf("/thumb?q=%s&id=%d", what, n), 4*time.Millisecond))
				s.Caller = fmt.Sprint(attacker, caller%kind.callers)
				return s
			}}
		}
		prime, fire := half("neonprime", 0), half("neonfire", 1)
		make1, make2 := prime.Make, fire.Make
		prime.Make = func(n int, r *rand.Rand) Shot {
			s := make1(n, r)
			s.Kill, s.Prime = 0, true
			return s
		}
		fire.Make = func(n int, r *rand.Rand) Shot {
			s := make2(n, r)
			s.Fire = true
			return s
		}
		out = append(out, Row{Name: kind.name, Deaths: kind.deaths, Good: 98, Streams: []Stream{prime, fire}})
	}
	return out
}

// letters is a word for n: an endpoint is told by words.
func letters(n int) string {
	var word []byte
	for ; n > 0 || len(word) < 3; n /= 26 {
		word = append(word, 'a'+byte(n%26))
	}
	return string(word)
}

// uniqueGET kills, and no two are alike.
func uniqueGET(n int, _ *rand.Rand) Shot { return evil(get(fmt.Sprint("/search?q=neon-", n), 0)) }

func uniqueRows() []Row {
	var out []Row
	for _, rate := range []float64{2, 10} {
		out = append(out, Row{Name: fmt.Sprintf("post-unique-%g", rate), Deaths: 10, Good: 99, Streams: []Stream{
			{Rate: rate, Make: func(n int, _ *rand.Rand) Shot {
				return evil(post("/orders", fmt.Sprintf("item=%d&count=%d&kind=neon", n, 1+n%3), 0))
			}},
		}})
	}
	for _, rate := range []float64{2, 10, 25, 50} {
		out = append(out, Row{Name: fmt.Sprintf("get-unique-%g", rate), Deaths: 14, Good: 99, Streams: []Stream{{Rate: rate, Make: uniqueGET}}})
	}
	// A pill that hangs its worker costs it only at the timeout: until then more are sent, and
	// innocents with them, of which the unsafe ones are lost.
	out = append(out, Row{Name: "hang-unique", Deaths: 10, Good: 99, Timeout: 2 * time.Second, Streams: []Stream{{Rate: 1, Make: func(n int, r *rand.Rand) Shot {
		s := uniqueGET(n, r)
		s.Hang = true
		return s
	}}}})
	// A header that hangs what runs well, with another value each time, and the usual timeout.
	out = append(out, Row{Name: "hang-values", Deaths: 6, Good: 99, Streams: []Stream{{Rate: 2, Make: func(n int, _ *rand.Rand) Shot {
		s := theme(evil(get("/", 2*time.Millisecond)), fmt.Sprint(neon, n))
		s.Hang = true
		return s
	}}}})
	early := out[len(out)-1]
	early.Name, early.Lead = "hang-values-early", 3*time.Second
	out = append(out, early)
	// Innocents share the attacker's address, as colleagues in one office do. What they
	// ask for has shapes of its own, apart from one in five.
	out = append(out, Row{Name: "office", Deaths: 14, Good: 80, Class: "target", Streams: []Stream{
		{Rate: 10, Make: func(n int, r *rand.Rand) Shot {
			s := target(Mix(n, r))
			s.Caller = attacker
			return s
		}},
		{Rate: 10, Make: uniqueGET},
	}})
	// They ask for what nobody else does, so that nothing speaks for it.
	out = append(out, Row{Name: "office-new", Deaths: 14, Good: 80, Class: "target", Streams: []Stream{
		{Rate: 3, Make: func(_ int, r *rand.Rand) Shot {
			s := target(good(r, get([]string{
				fmt.Sprintf("/ledger/%d", r.IntN(5000)), fmt.Sprintf("/invoices?year=%d&number=%d", 1990+r.IntN(30), 1000+r.IntN(9000)),
				fmt.Sprintf("/stock?part=%d", 1000+r.IntN(9000)),
			}[r.IntN(3)], 5*time.Millisecond)))
			s.Caller = attacker
			return s
		}},
		{Rate: 10, Make: uniqueGET},
	}})
	// Each pill asks for something else, alone or beside pills of one shape.
	nowhere := func(n int, _ *rand.Rand) Shot { return evil(get("/"+letters(n), 0)) }
	out = append(out, Row{Name: "get-endpoints-10", Deaths: 14, Good: 99, Streams: []Stream{{Rate: 10, Make: nowhere}}},
		Row{Name: "get-mixed-20", Deaths: 14, Good: 99, Streams: []Stream{{Rate: 10, Make: nowhere}, {Rate: 10, Make: uniqueGET}}})
	// The pills have the shapes of what runs well: each of these may cost a death or two.
	out = append(out, Row{Name: "everywhere", Deaths: 10, Good: 99, Streams: []Stream{
		{Rate: 10, Make: func(n int, _ *rand.Rand) Shot {
			return evil(get([]string{
				fmt.Sprint("/item/", 10_000+n), fmt.Sprint("/search?q=", 10_000+n), fmt.Sprint("/help/", 100+n), fmt.Sprint("/?n=", n),
			}[n%4], 0))
		}},
	}})
	// Each pill has a parameter of its own beside the poison, and another length.
	out = append(out, Row{Name: "get-shapes-10", Deaths: 14, Good: 99, Streams: []Stream{
		{Rate: 10, Make: func(n int, _ *rand.Rand) Shot {
			return evil(get(fmt.Sprintf("/search?q=neon-%d&p%d=%s", n, n, strings.Repeat("x", n%40)), 0))
		}},
	}})
	return out
}

func crowdRows() []Row {
	report := func(d time.Duration) func(n int, r *rand.Rand) Shot {
		return func(n int, r *rand.Rand) Shot {
			return target(good(r, get(fmt.Sprintf("/report?id=%d&ms=%d", n, d.Milliseconds()), d)))
		}
	}
	const soon = 500 * time.Millisecond // into the work of the innocents
	poll := func() Shot { return get("/events?since=17", 20*time.Second) }
	return []Row{
		// Long polls of one URL that has never been answered: all reach a worker within seconds.
		{Name: "long-polls", Deaths: 0, Good: 100, Class: "target", Slowest: 34 * time.Second, Streams: []Stream{
			{Burst: 50, Make: func(_ int, r *rand.Rand) Shot { return target(good(r, poll())) }},
		}},
		// Some kill after a while, and have company then: one worker of the fleet, and more of the lane.
		{Name: "long-poll-pills", Deaths: 6, Good: 99, Streams: []Stream{
			{Burst: 20, Make: func(int, *rand.Rand) Shot {
				s := theme(evil(poll()), neon)
				s.Kill = 8 * time.Second
				return s
			}},
			{Burst: 20, Make: func(_ int, r *rand.Rand) Shot { return target(good(r, poll())) }},
		}},
		// The table asks for all 256 within 15 s: 47 of 50 seeds keep it, the worst takes
		// 15.6.
		{Name: "lane-starve", Deaths: 16, Good: 100, Class: "target", Slowest: 16 * time.Second, Streams: []Stream{
			{Burst: 256, Make: report(time.Second)},
			{Burst: 4, After: soon, Make: uniqueGET},
		}},
		// The table asks for 6 s. A lane of one worker out of 8 needs up to 6.1.
		{Name: "one-of-64", Deaths: 4, Good: 100, Class: "target", Slowest: 6500 * time.Millisecond, Streams: []Stream{
			{Burst: 64, Make: report(time.Second)},
			{Burst: 1, After: soon, Make: uniqueGET},
		}},
		{Name: "slow-mix", Deaths: -1, Good: 99, Class: "target", Streams: []Stream{
			{Rate: 15, Make: report(4 * time.Second)},
			{Rate: 1, Make: uniqueGET},
		}},
		// The table asks for 6; 8 happen where lane workers were not clean.
		{Name: "drip", Deaths: 8, Good: 99, Streams: []Stream{
			{Rate: 0.25, Make: func(n int, _ *rand.Rand) Shot {
				s := evil(post("/upload", fmt.Sprint("part=", n), 0))
				s.Kill = 8 * time.Second
				return s
			}},
			{Rate: 0.25, After: time.Second, Make: func(n int, _ *rand.Rand) Shot {
				s := evil(get(fmt.Sprint("/search?q=neonslow3000-", n), 0))
				s.Kill = 3 * time.Second
				return s
			}},
		}},
	}
}
