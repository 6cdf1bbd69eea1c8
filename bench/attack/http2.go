package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
)

// grpc is the type of calls of gRPC.
const grpc = "application/grpc"

// http2Rows are attacks over HTTP/2 in clear text, on Go workers: many requests share a
// connection, to Bezoar and to a worker.
func http2Rows() []row {
	call := func(s shot, kind string, n int) shot {
		message := fmt.Sprintf("item %d, count 1, kind %s", n, kind)
		s.body = "\x00" + string(binary.BigEndian.AppendUint32(nil, uint32(len(message)))) + message
		s.header = [][2]string{{"Content-Type", grpc}, {"Te", "trailers"}}
		return s
	}
	calls := func(w *world) []stream {
		return []stream{{rate: 20, make: func(n int, r *rand.Rand) shot {
			s := call(post(w.innocent(r), "target", "/shop.Catalog/Get", ""), "plain", n%50)
			s.idem = fmt.Sprintf("call-%08x", r.Uint32())
			return s
		}}}
	}
	over := settings{http2: true}
	return []row{
		{
			name: "http2-pill", group: "http2", set: over, what: "over HTTP/2: one GET that kills, 5/s",
			bound: bound{text: "100 %, ≤ 2 deaths", deaths: 2, good: 100},
			evil: func(w *world) []stream {
				return []stream{{rate: 5, make: func(int, *rand.Rand) shot { return w.pill(get(nil, "", "/search?q=%s", neon)) }}}
			},
		},
		{
			name: "http2-unique", group: "http2", set: over, what: "over HTTP/2: GETs that kill, no two alike, 10/s",
			bound: bound{text: "good ≥ 99 %, ≤ 14 deaths", deaths: 14, good: 99},
			evil: func(w *world) []stream {
				return []stream{{rate: 10, make: func(n int, _ *rand.Rand) shot { return w.pill(get(nil, "", "/search?q=%s-%d", neon, n)) }}}
			},
		},
		{
			name: "grpc-pill", group: "http2", set: over, what: "over HTTP/2: one call of gRPC that kills, 2/s, to a method that innocents call 20 times a second; not replayable",
			bound: bound{text: "good ≥ 99 %, ≤ 4 deaths", deaths: 4, good: 99}, also: calls,
			evil: func(w *world) []stream {
				return []stream{{rate: 2, make: func(int, *rand.Rand) shot { return call(w.pill(post(nil, "", "/shop.Catalog/Get", "")), neon, 0) }}}
			},
		},
		{
			name: "grpc-unique", group: "http2", set: over, what: "over HTTP/2: calls of gRPC that kill, no two alike, 5/s, to a method that innocents call 20 times a second; not replayable",
			bound: bound{text: "good ≥ 99 %, ≤ 10 deaths", deaths: 10, good: 99}, also: calls,
			evil: func(w *world) []stream {
				return []stream{{rate: 5, make: func(n int, _ *rand.Rand) shot {
					return call(w.pill(post(nil, "", "/shop.Catalog/Get", "")), neon, 1000+n)
				}}}
			},
		},
	}
}

// readCall makes an ending of the answer to a call of gRPC: the status of HTTP that a request
// would have got. Bezoar puts the rule in brackets at the end of the message.
func readCall(resp *http.Response) ending {
	field := func(name string) string {
		if v := resp.Header.Get(name); v != "" {
			return v
		}
		return resp.Trailer.Get(name)
	}
	text := field("Grpc-Message")
	switch field("Grpc-Status") {
	case "0":
		return ending{said: fmt.Sprint(resp.StatusCode)}
	case "": // cut off before its end
		return ending{said: "broken", text: text}
	}
	if at := strings.LastIndex(text, " ("); at >= 0 && strings.HasSuffix(text, ")") && !strings.Contains(text[at+2:], " ") {
		return ending{said: "503", rule: strings.TrimSuffix(text[at+2:], ")"), reason: text[:at]}
	}
	return ending{said: "502", text: text}
}
