package main

import (
	"fmt"
	"math/rand/v2"
)

// pairRows are pills that need each other: one primes a worker, the other kills one that is
// primed. Each is harmless alone.
func pairRows() (out []row) {
	for _, kind := range []struct {
		name, what string
		unique     bool
		callers    int
	}{
		{"pair", "two requests of one caller", false, 1},
		{"pair-callers", "two requests of two callers", false, 2},
		{"pair-unique", "requests of one caller, no two alike", true, 1},
		{"pair-unique-callers", "requests of two callers, no two alike", true, 2},
	} {
		half := func(how string, mate bool) func(w *world) stream {
			return func(w *world) stream {
				second := *w.attacker
				second.key, second.cookie = "k-second", "sid=second"
				return stream{rate: 2, make: func(n int, _ *rand.Rand) shot {
					if !kind.unique {
						n = 0
					}
					s := w.pill(get(nil, "", "/thumb?id=%d&q=%s%s", 1000+n, neon, how))
					if mate && kind.callers > 1 {
						s.who = &second
					}
					return s
				}}
			}
		}
		prime, fire := half("prime", false), half("fire", true)
		out = append(out, row{
			name: kind.name, group: "pair",
			what:  kind.what + ", 2/s each: one primes its worker, the other kills a worker that is primed; each is harmless alone",
			bound: bound{text: fmt.Sprintf("good ≥ 98 %%, ≤ %d deaths", mostPair), deaths: mostPair, good: 98},
			evil:  func(w *world) []stream { return []stream{prime(w), fire(w)} },
		})
	}
	return out
}

const mostPair = 14
