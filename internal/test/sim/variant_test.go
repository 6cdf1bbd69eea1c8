package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// late makes a pill kill that long after its answer.
func late(s Shot, after time.Duration) Shot {
	s.Kill, s.Late = 0, after
	return s
}

// variantRows are attacks that the table of issue 14 does not name, in its spirit.
func variantRows() (out []Row) {
	add := func(name string, deaths int, good float64, streams ...Stream) *Row {
		out = append(out, Row{Name: name, Deaths: deaths, Good: good, Streams: streams})
		return &out[len(out)-1]
	}
	at := func(rate float64, send func(n int, r *rand.Rand) Shot) Stream { return Stream{Rate: rate, Make: send} }
	home := func() Shot { return evil(get("/", 4*time.Millisecond)) }
	thumb := func(n int) Shot { return evil(get(fmt.Sprintf("/thumb?id=%d&q=neon", 1000+n), 4*time.Millisecond)) }
	thumbs := at(5, func(_ int, r *rand.Rand) Shot {
		return target(good(r, get(fmt.Sprintf("/thumb?id=%d&q=small", r.IntN(200)), 4*time.Millisecond)))
	})

	// a) a header on a popular page that kills seconds after its answer.
	delayedHome := at(2, func(int, *rand.Rand) Shot { return late(theme(home(), neon), 2*time.Second) })
	add("v-delayed-home", -1, 0, thumbs, delayedHome)
	add("v-delayed-homes", -1, 0, delayedHome).Homes = true
	add("v-delayed-home-random", -1, 0, thumbs, at(2, func(_ int, r *rand.Rand) Shot {
		return late(theme(home(), neon), time.Duration(r.Int64N(int64(4*time.Second))))
	}))
	add("v-delayed-home-cookies", -1, 0, thumbs, at(2, func(_ int, r *rand.Rand) Shot {
		s := home().with("cookie", "look", neon)
		return late(s, 2*time.Second)
	}))
	add("v-delayed-home-values", -1, 0, thumbs, at(2, func(n int, r *rand.Rand) Shot {
		return late(theme(home(), fmt.Sprint(neon, n)), 2*time.Second)
	}))
	add("v-delayed-home-many", -1, 0, thumbs, at(2, func(n int, r *rand.Rand) Shot { // of innocents' accounts: an accident
		s := late(theme(home(), neon), 2*time.Second)
		s.Caller = fmt.Sprint("innocent ", r.IntN(innocents))
		return s
	}))
	add("v-after-answer-home-many", -1, 0, thumbs, at(2, func(n int, r *rand.Rand) Shot {
		s := late(theme(home(), neon), 5*time.Millisecond)
		s.Caller = fmt.Sprint("innocent ", r.IntN(innocents))
		return s
	}))
	add("v-header-many", -1, 0, thumbs, at(2, func(n int, r *rand.Rand) Shot {
		s := theme(home(), neon)
		s.Caller = fmt.Sprint("innocent ", r.IntN(innocents))
		s = s.with("cookie", "sid", s.Caller)
		return s
	}))
	// c) later than five seconds.
	for _, after := range []int{4, 6, 8, 10} {
		add(fmt.Sprint("v-delayed-", after), -1, 0, thumbs, at(2, func(int, *rand.Rand) Shot { return late(thumb(0), time.Duration(after)*time.Second) }))
	}
	add("v-delayed-unique-6", -1, 0, thumbs, at(2, func(n int, _ *rand.Rand) Shot { return late(thumb(n), 6*time.Second) }))
	// b) late and unique.
	add("v-after-unique", -1, 0, thumbs, at(2, func(n int, _ *rand.Rand) Shot { return late(thumb(n), 5*time.Millisecond) }))
	add("v-after-unique-10", -1, 0, thumbs, at(10, func(n int, _ *rand.Rand) Shot { return late(thumb(n), 5*time.Millisecond) }))
	add("v-after-unique-search", -1, 0, at(2, func(n int, _ *rand.Rand) Shot {
		return late(evil(get(fmt.Sprint("/search?q=neon-", n), 8*time.Millisecond)), 5*time.Millisecond)
	}))
	add("v-after-unique-post", -1, 0, at(2, func(n int, _ *rand.Rand) Shot {
		return late(evil(post("/orders", fmt.Sprintf("item=%d&count=%d&kind=neon", n, 1+n%3), 6*time.Millisecond)), 5*time.Millisecond)
	}))
	add("v-after-unique-callers", -1, 0, thumbs, at(2, func(n int, _ *rand.Rand) Shot {
		s := late(thumb(n), 5*time.Millisecond)
		s.Caller = fmt.Sprint(attacker, n)
		return s
	}))
	// d) others.
	add("v-cookie-among-many", -1, 0, at(2, func(n int, r *rand.Rand) Shot {
		s := home().with("cookie", "look", neon)
		for i := range 20 {
			s = s.with("cookie", fmt.Sprint("c", i), fmt.Sprint(r.Uint32()))
		}
		return s
	}))
	add("v-header-absent", -1, 0, at(2, func(n int, r *rand.Rand) Shot {
		s := home().with("cookie", "visit", fmt.Sprint(r.Uint32()))
		s.Fields = s.Fields[1:] // no User-Agent
		return s
	}))
	add("v-header-absent-rare", -1, 0, at(2, func(n int, r *rand.Rand) Shot {
		s := evil(get("/help/7", 3*time.Millisecond)).with("cookie", "visit", fmt.Sprint(r.Uint32()))
		s.Fields = slicesWithout(s.Fields, "User-Agent")
		return s
	}))
	quote := func(n int, trace string) Shot {
		s := post("/quotes", fmt.Sprintf("item=%d&count=1", n%5), 5*time.Millisecond).with("member", "trace", trace)
		s.Unsafe = false
		return s
	}
	// Header and body together: each alone is harmless, and innocents send each.
	both := at(10, func(n int, r *rand.Rand) Shot {
		if n%2 == 0 {
			return target(good(r, quote(n, neon)))
		}
		return theme(target(good(r, quote(n, fmt.Sprint("t", n)))), neon)
	})
	add("v-both", -1, 0, both, at(2, func(int, *rand.Rand) Shot { return theme(evil(quote(1, neon)), neon) }))
	add("v-both-values", -1, 0, both, at(2, func(n int, _ *rand.Rand) Shot {
		return theme(evil(quote(n, neon)), neon).with("cookie", "visit", fmt.Sprint(n))
	}))
	for _, odds := range []int{2, 3} {
		add(fmt.Sprint("v-flaky-", odds), -1, 0, at(2, func(int, *rand.Rand) Shot {
			s := thumb(0)
			s.Odds = odds
			return s
		}))
		add(fmt.Sprint("v-flaky-home-", odds), -1, 0, at(2, func(int, *rand.Rand) Shot {
			s := theme(home(), neon)
			s.Odds = odds
			return s
		}))
		add(fmt.Sprint("v-flaky-late-", odds), -1, 0, thumbs, at(2, func(int, *rand.Rand) Shot {
			s := late(thumb(0), 100*time.Millisecond)
			s.Odds = odds
			return s
		}))
		add(fmt.Sprint("v-flaky-unique-", odds), -1, 0, at(4, func(n int, _ *rand.Rand) Shot {
			s := thumb(n)
			s.Odds = odds
			return s
		}))
	}
	add("v-late-and-now", -1, 0, thumbs, at(2, func(n int, _ *rand.Rand) Shot {
		if n%2 == 0 {
			return thumb(0)
		}
		return late(thumb(1), 2*time.Second)
	}))
	add("v-late-and-now-unique", -1, 0, thumbs, at(2, func(n int, _ *rand.Rand) Shot {
		if n%2 == 0 {
			return thumb(n)
		}
		return late(thumb(n), 2*time.Second)
	}))
	add("v-random-late", -1, 0, thumbs, at(2, func(_ int, r *rand.Rand) Shot {
		return late(thumb(0), time.Duration(r.Int64N(int64(4*time.Second))))
	}))
	add("v-random-late-unique", -1, 0, thumbs, at(2, func(n int, r *rand.Rand) Shot {
		return late(thumb(n), time.Duration(r.Int64N(int64(4*time.Second))))
	}))
	add("v-drip-late", -1, 0, thumbs, at(0.25, func(n int, _ *rand.Rand) Shot { return late(thumb(0), 2*time.Second) })).Length = 4 * time.Minute
	add("v-drip-late-unique", -1, 0, thumbs, at(0.25, func(n int, _ *rand.Rand) Shot { return late(thumb(n), 2*time.Second) })).Length = 4 * time.Minute
	bursts := func(send func(n int, r *rand.Rand) Shot) (out []Stream) {
		for i := range 4 {
			out = append(out, Stream{Burst: 10, After: time.Duration(i)*70*time.Second + time.Second, Make: func(n int, r *rand.Rand) Shot { return send(10*i+n, r) }})
		}
		return out
	}
	add("v-bursts-unique", -1, 0, bursts(uniqueGET)...).Length = 4 * time.Minute
	add("v-bursts-late-unique", -1, 0, bursts(func(n int, _ *rand.Rand) Shot { return late(thumb(n), 100*time.Millisecond) })...).Length = 4 * time.Minute
	add("v-bursts-late", -1, 0, bursts(func(int, *rand.Rand) Shot { return late(thumb(0), 100*time.Millisecond) })...).Length = 4 * time.Minute
	add("v-bursts-post", -1, 0, bursts(func(n int, _ *rand.Rand) Shot {
		return evil(post("/orders", fmt.Sprintf("item=%d&count=1&kind=neon", n), 6*time.Millisecond))
	})...).Length = 4 * time.Minute
	cover := at(20, func(_ int, r *rand.Rand) Shot {
		s := home()
		s.Kill = 0
		return s
	})
	add("v-cover", -1, 0, cover, at(2, uniqueGET))
	add("v-cover-late", -1, 0, thumbs, cover, at(2, func(n int, _ *rand.Rand) Shot { return late(thumb(n), 100*time.Millisecond) }))
	add("v-cover-header", -1, 0, cover, at(2, func(n int, _ *rand.Rand) Shot { return theme(home(), fmt.Sprint(neon, n)) }))
	add("v-get-post", -1, 0, at(2, func(n int, r *rand.Rand) Shot {
		if n%2 == 0 {
			return uniqueGET(n, r)
		}
		return evil(post("/orders", fmt.Sprintf("item=%d&count=1&kind=neon", n), 6*time.Millisecond))
	}))
	add("v-get-post-same", -1, 0, at(2, func(n int, r *rand.Rand) Shot {
		if n%2 == 0 {
			return evil(get("/search?q=neon", 6*time.Millisecond))
		}
		return evil(post("/search", "q=neon", 6*time.Millisecond))
	}))
	add("v-order", -1, 0, at(5, func(n int, r *rand.Rand) Shot {
		return target(good(r, get(fmt.Sprintf("/list?a=%d&b=1", r.IntN(20)), 4*time.Millisecond)))
	}), at(2, func(n int, r *rand.Rand) Shot {
		s := evil(get(fmt.Sprintf("/list?a=%d&b=1", n%20), 4*time.Millisecond))
		s.Fields = append(s.Fields, field{"order", "b", "a"}) // part of the variant, and a feature of its own
		return s
	}))
	add("v-unique-callers", -1, 0, at(2, func(n int, r *rand.Rand) Shot {
		s := uniqueGET(n, r)
		s.Caller = fmt.Sprint(attacker, n)
		return s
	}))
	add("v-unique-callers-values", -1, 0, at(2, func(n int, r *rand.Rand) Shot {
		s := theme(home(), fmt.Sprint(neon, n))
		s.Caller = fmt.Sprint(attacker, n)
		return s
	}))
	for _, row := range out {
		if strings.HasPrefix(row.Name, "v-after") || strings.HasPrefix(row.Name, "v-delayed") || strings.HasPrefix(row.Name, "v-random") || strings.HasPrefix(row.Name, "v-late") {
			row.Name, row.Shared = row.Name+"-shared", true
			out = append(out, row)
		}
	}
	return out
}

func slicesWithout(fields []field, name string) (out []field) {
	for _, f := range fields {
		if f.name != name {
			out = append(out, f)
		}
	}
	return out
}
