package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
)

// variantRows are attacks that change their looks.
func variantRows() []row {
	each := func(name, what string, most int, rate float64, make func(w *world, n int, r *rand.Rand) shot) row {
		return row{
			name: name, group: "variants", what: what, peers: true,
			bound: bound{text: fmt.Sprintf("good ≥ 99 %%, ≤ %d deaths", most), deaths: most, good: 99},
			evil: func(w *world) []stream {
				return []stream{{rate: rate, make: func(n int, r *rand.Rand) shot { return make(w, n, r) }}}
			},
		}
	}
	rows := []row{
		each("methods", "poison in a header, 5/s, with six methods in turn", 14, 5, func(w *world, n int, _ *rand.Rand) shot {
			s := theme(w.pill(get(nil, "", "/help/returns")), neon)
			s.method = []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPut, http.MethodPatch, http.MethodDelete}[n%6]
			return s
		}),
		each("spellings", "one request that kills, 5/s, with other letters escaped each time", 4, 5, func(w *world, _ int, r *rand.Rand) shot {
			return w.pill(get(nil, "", "/%s?q=%s", escaped(r, "search"), escaped(r, neon)))
		}),
		each("cookie-order", "poison in a cookie, 5/s, between six others in another order each time", 10, 5, func(w *world, _ int, r *rand.Rand) shot {
			s := w.pill(get(nil, "", "/"))
			cookies := []string{s.who.cookie, "look=" + neon, "a=1", "b=2", "c=3", "d=4"}
			r.Shuffle(len(cookies), func(i, j int) { cookies[i], cookies[j] = cookies[j], cookies[i] })
			s.header = [][2]string{{"Cookie", strings.Join(cookies, "; ")}}
			return s
		}),
		each("forwarded", "poison in a header, 5/s, with another X-Forwarded-For each time", 4, 5, func(w *world, _ int, r *rand.Rand) shot {
			s := theme(w.pill(get(nil, "", "/")), neon)
			s.header = append(s.header, [2]string{"X-Forwarded-For", fmt.Sprintf("10.%d.%d.%d", r.IntN(256), r.IntN(256), r.IntN(256))})
			return s
		}),
		each("ranges", "poison in a header, 5/s, with another Range each time", 10, 5, func(w *world, n int, _ *rand.Rand) shot {
			s := theme(w.pill(get(nil, "", "/")), neon)
			s.header = append(s.header, [2]string{"Range", fmt.Sprintf("bytes=%d-", n)})
			return s
		}),
		each("alternate", "pills with another header each time, 5/s, and good requests of the same page and caller between them", 14, 10,
			func(w *world, n int, _ *rand.Rand) shot {
				s := w.pill(get(nil, "", "/help/returns"))
				if n%2 == 1 {
					s = theme(s, fmt.Sprintf("%s-%d", neon, n))
				}
				return s
			}),
		each("multipart", "forms with a field that kills, 5/s, with another boundary each time; not replayable", 10, 5,
			func(w *world, n int, _ *rand.Rand) shot {
				s := w.pill(post(nil, "", "/orders", "--b%d\r\nContent-Disposition: form-data; name=\"kind\"\r\n\r\n%s\r\n--b%d--\r\n", n, neon, n))
				s.header = [][2]string{{"Content-Type", fmt.Sprintf("multipart/form-data; boundary=b%d", n)}}
				return s
			}),
		each("graphql", "queries that kill, 5/s, with another alias each time; replayable", 14, 5, func(w *world, n int, r *rand.Rand) shot {
			s := w.pill(post(nil, "", "/graphql", `{"query":"{ a%d: item(id: %d) { %s } }"}`, n, n, neon))
			s.idem = fmt.Sprintf("query-%08x", r.Uint32())
			return s
		}),
		each("hang-unique", "requests that hang their worker, no two alike, 1/s; timeout 2s", 14, 1, func(w *world, n int, _ *rand.Rand) shot {
			return w.pill(get(nil, "", "/search?q=%shang-%d", neon, n))
		}),
		each("hang-header", "a header that hangs the worker, 2/s, on a page that innocents ask for once a second; the default timeout, 30s", 6, 2,
			func(w *world, _ int, _ *rand.Rand) shot {
				return theme(w.pill(get(nil, "", "/help/returns")), neon+"hang")
			}),
		each("hang-values", "a header on the home page that hangs the worker, another value each time, 2/s; the default timeout, 30s", 10, 2,
			func(w *world, n int, _ *rand.Rand) shot {
				return theme(w.pill(get(nil, "", "/")), fmt.Sprintf("%shang-%d", neon, n))
			}),
		each("twice", "one request, 2/s, that each worker answers once and dies of the second time", 14, 2, func(w *world, _ int, _ *rand.Rand) shot {
			return w.pill(get(nil, "", "/thumb?id=13&q=%stwice", neon))
		}),
	}
	i := slices.IndexFunc(rows, func(r row) bool { return r.name == "hang-unique" })
	rows[i].set = settings{route: []string{"timeout: 2s"}}
	return rows
}

// escaped escapes some letters of text for a URL.
func escaped(r *rand.Rand, text string) string {
	var b strings.Builder
	for i := range len(text) {
		if r.IntN(2) == 0 {
			fmt.Fprintf(&b, "%%%02x", text[i])
		} else {
			b.WriteByte(text[i])
		}
	}
	return b.String()
}
