package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// lateShot makes a pill kill that long after its answer.
func lateShot(s Shot, after time.Duration) Shot {
	s.Kill, s.Late = 0, after
	return s
}

// flaky makes a pill kill once in so many times.
func flaky(s Shot, odds int) Shot {
	s.Odds = odds
	return s
}

// fresh gives a pill a cookie that no other has.
func fresh(s Shot, n int) Shot { return s.with("cookie", "sid", fmt.Sprint("fresh ", n)) }

// homePill and thumbPill ask for a popular page, and for one of many.
func homePill() Shot { return evil(get("/", 4*time.Millisecond)) }

func thumbPill(n int) Shot {
	return evil(get(fmt.Sprintf("/thumb?id=%d&q=neon", 1000+n), 4*time.Millisecond))
}

func orderPill(n int) Shot {
	return evil(post("/orders", fmt.Sprintf("item=%d&count=%d&kind=neon", n, 1+n%3), 6*time.Millisecond))
}

// variant is a row with one stream of pills, twice a second, beside good requests for one of many.
func variant(name string, deaths int, send func(n int, r *rand.Rand) Shot, with ...Stream) Row {
	return Row{Name: name, Deaths: deaths, Good: 99, Streams: append(with, Stream{Rate: 2, Make: send})}
}

// thumbs are good requests that begin with the attack, so that they are as new as the pills.
func thumbs() Stream {
	return Stream{Rate: 5, Make: func(_ int, r *rand.Rand) Shot {
		return target(good(r, get(fmt.Sprintf("/thumb?id=%d&q=small", r.IntN(200)), 4*time.Millisecond)))
	}}
}

// variantRows are attacks in the spirit of the others.
func variantRows() []Row { return slices.Concat(laterRows(), uniqueLateRows(), otherRows()) }

// laterRows kill seconds after their answer, also on a page that was answered before every death anyway.
func laterRows() []Row {
	delayed := func(_ int, _ *rand.Rand) Shot { return lateShot(theme(homePill(), neon), 2*time.Second) }
	homes := variant("delayed-homes", 14, delayed)
	homes.Homes, homes.Good = true, 98
	many := variant("delayed-home-many", 16, func(_ int, r *rand.Rand) Shot { // an accident: of everybody's accounts
		s := lateShot(theme(homePill(), neon), 2*time.Second)
		s.Caller = fmt.Sprint("innocent ", r.IntN(innocents))
		return s
	}, thumbs())
	random := variant("delayed-home-random-shared", 20, func(_ int, r *rand.Rand) Shot {
		return lateShot(theme(homePill(), neon), time.Duration(r.Int64N(int64(4*time.Second))))
	}, thumbs())
	random.Shared = true
	out := []Row{variant("delayed-home", 12, delayed, thumbs()), homes, many, random}
	for _, after := range []int{6, 10} {
		row := variant(fmt.Sprint("delayed-", after), 14, func(int, *rand.Rand) Shot { return lateShot(thumbPill(0), time.Duration(after)*time.Second) }, thumbs())
		row.Good = 98
		out = append(out, row)
	}
	return out
}

// uniqueLateRows kill after their answer, no two of them are alike, and nobody tells callers apart.
func uniqueLateRows() (out []Row) {
	const soon = 5 * time.Millisecond
	add := func(name string, deaths int, send func(n int, r *rand.Rand) Shot, with ...Stream) {
		row := variant(name+"-shared", deaths, send, with...)
		row.Shared = true
		out = append(out, row)
	}
	add("after-unique", 20, func(n int, _ *rand.Rand) Shot { return lateShot(fresh(thumbPill(n), n), soon) }, thumbs())
	add("after-unique-post", 20, func(n int, _ *rand.Rand) Shot { return lateShot(fresh(orderPill(n), n), soon) })
	add("random-late-unique", 20, func(n int, r *rand.Rand) Shot {
		return lateShot(fresh(thumbPill(n), n), time.Duration(r.Int64N(int64(4*time.Second))))
	}, thumbs())
	add("late-and-now-unique", 16, func(n int, _ *rand.Rand) Shot {
		if n%2 == 0 {
			return fresh(thumbPill(n), n)
		}
		return lateShot(fresh(thumbPill(n), n), 2*time.Second)
	}, thumbs())
	out[len(out)-1].Good = 95 // some innocents' requests are as new as the pills
	fast := variant("after-unique-10-shared", 20, func(n int, _ *rand.Rand) Shot { return lateShot(fresh(thumbPill(n), n), soon) }, thumbs())
	fast.Shared, fast.Streams[1].Rate = true, 10
	return append(out, fast)
}

// otherRows hide the poison in other places, or kill in other ways.
func otherRows() []Row {
	quote := func(n int, trace string) Shot {
		s := post("/quotes", fmt.Sprintf("item=%d&count=1", n%5), 5*time.Millisecond).with("member", "trace", trace)
		s.Unsafe = false
		return s
	}
	both := Stream{Rate: 10, Make: func(n int, r *rand.Rand) Shot { // each half of the poison alone is harmless
		if n%2 == 0 {
			return target(good(r, quote(n, neon)))
		}
		return theme(target(good(r, quote(n, fmt.Sprint("t", n)))), neon)
	}}
	lists := Stream{Rate: 5, Make: func(_ int, r *rand.Rand) Shot {
		return target(good(r, get(fmt.Sprintf("/list?a=%d&b=1", r.IntN(20)), 4*time.Millisecond)))
	}}
	cover := Stream{Rate: 20, Make: func(int, *rand.Rand) Shot { // the attacker's own good requests
		s := homePill()
		s.Kill = 0
		return s
	}}
	burst := func(after time.Duration) Stream {
		return Stream{Burst: 10, After: after, Make: func(n int, _ *rand.Rand) Shot {
			return lateShot(fresh(thumbPill(n+int(after.Seconds())), n), 100*time.Millisecond)
		}}
	}
	bursts := Row{Name: "bursts-late-unique", Deaths: 10, Good: 99, Length: 80 * time.Second, Streams: []Stream{thumbs(), burst(time.Second), burst(71 * time.Second)}}
	return []Row{
		bursts,
		variant("header-many", 14, func(_ int, r *rand.Rand) Shot { // a poisonous header in everybody's accounts
			s := theme(homePill(), neon)
			s.Caller = fmt.Sprint("innocent ", r.IntN(innocents))
			return s.with("cookie", "sid", s.Caller)
		}),
		variant("header-absent", 8, func(n int, _ *rand.Rand) Shot {
			s := fresh(homePill(), n)
			s.Fields = slices.DeleteFunc(slices.Clone(s.Fields), func(f field) bool { return f.name == "User-Agent" })
			return s
		}),
		variant("both-values", 8, func(n int, _ *rand.Rand) Shot { return fresh(theme(evil(quote(n, neon)), neon), n) }, both),
		variant("order", 10, func(n int, _ *rand.Rand) Shot {
			s := evil(get(fmt.Sprintf("/list?a=%d&b=1", n%20), 4*time.Millisecond))
			s.Fields = append(s.Fields, field{"order", "b", "a"}) // of the parameters
			return s
		}, lists),
		variant("cover-header", 10, func(n int, _ *rand.Rand) Shot { return theme(homePill(), fmt.Sprint(neon, n)) }, cover),
		variant("get-post", 8, func(n int, r *rand.Rand) Shot {
			if n%2 == 0 {
				return uniqueGET(n, r)
			}
			return orderPill(n)
		}),
		variant("flaky-home", 12, func(int, *rand.Rand) Shot { return flaky(theme(homePill(), neon), 3) }),
		variant("flaky-unique", 8, func(n int, _ *rand.Rand) Shot { return flaky(fresh(thumbPill(n), n), 3) }),
		variant("flaky-late", 50, func(int, *rand.Rand) Shot { return lateShot(flaky(thumbPill(0), 3), 100*time.Millisecond) }, thumbs()),
	}
}
