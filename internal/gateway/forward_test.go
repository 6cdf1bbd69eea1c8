package gateway

import (
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
)

// ids matches the request ids that the gateway makes.
var ids = regexp.MustCompile(`[0-9a-f]{32}`)

// TestForwardedHeads compares, byte for byte, what the worker gets.
func TestForwardedHeads(t *testing.T) {
	w := startWorker(t, answering(hello))
	d := newDirect(t, w.addr)
	plain := serve(t, Route{Doer: d}, Config{}, ServerConfig{})
	trusting := serve(t, Route{Doer: d}, Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, ServerConfig{})
	const (
		xf  = "X-Forwarded-For: 127.0.0.1\nX-Forwarded-Host: h\nX-Forwarded-Proto: http\n"
		xid = "X-Request-Id: <id>\n"
	)
	for _, tc := range []struct {
		name, sent, want string
		trusted          bool
	}{
		{
			name: "plain",
			sent: "GET /a?b HTTP/1.1\nHost: h\nAccept: */*\nX-A: 1\nx-a: 2\n\n",
			want: "GET /a?b HTTP/1.1\nHost: h\nAccept: */*\nX-A: 1\nx-a: 2\n" + xf + xid + "\n",
		},
		{
			name: "paths and queries stay as they are",
			sent: "GET /%2e%2E/a%2Fb//c/./..;x=%41?q=%20+%zz&& HTTP/1.1\nHost: h\n\n",
			want: "GET /%2e%2E/a%2Fb//c/./..;x=%41?q=%20+%zz&& HTTP/1.1\nHost: h\n" + xf + xid + "\n",
		},
		{
			name: "absolute target",
			sent: "GET http://h/p?q HTTP/1.1\nHost: other\n\n",
			want: "GET /p?q HTTP/1.1\nHost: h\n" + xf + xid + "\n",
		},
		{
			name: "OPTIONS *",
			sent: "OPTIONS * HTTP/1.1\nHost: h\n\n",
			want: "OPTIONS * HTTP/1.1\nHost: h\n" + xf + xid + "\n",
		},
		{
			name: "hop-by-hop fields",
			sent: "GET / HTTP/1.1\nHost: h\nConnection: keep-alive, X-Hop, Host\nKeep-Alive: timeout=5\nX-Hop: 1\nProxy-Connection: x\n" +
				"Proxy-Authorization: x\nTE: gzip\nTrailer: X\nUpgrade: h2c\nX-Stay: 1\n\n",
			want: "GET / HTTP/1.1\nHost: h\nX-Stay: 1\n" + xf + xid + "\n",
		},
		{
			name: "TE: trailers stays",
			sent: "GET / HTTP/1.1\nHost: h\nConnection: TE\nTE: trailers, deflate\n\n",
			want: "GET / HTTP/1.1\nHost: h\n" + xf + xid + "Connection: TE\nTE: trailers\n\n",
		},
		{
			name: "upgrade",
			sent: "GET / HTTP/1.1\nHost: h\nConnection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Key: k\n\n",
			want: "GET / HTTP/1.1\nHost: h\nSec-WebSocket-Key: k\n" + xf + xid + "Connection: Upgrade\nUpgrade: websocket\n\n",
		},
		{
			name: "a stranger's word about where it comes from",
			sent: "GET / HTTP/1.1\nHost: h\nX-Forwarded-For: 1.2.3.4\nX-Forwarded-Host: evil\nX-Forwarded-Proto: https\nX-Forwarded-Port: 1\nForwarded: for=1.2.3.4\n\n",
			want: "GET / HTTP/1.1\nHost: h\n" + xf + xid + "\n",
		},
		{
			name: "a trusted proxy's word", trusted: true,
			sent: "GET / HTTP/1.1\nHost: h\nX-Forwarded-For: 1.2.3.4\nX-Forwarded-For: 5.6.7.8\nX-Forwarded-Host: outer\nX-Forwarded-Proto: https\nX-Forwarded-Port: 1\nForwarded: for=1.2.3.4\n\n",
			want: "GET / HTTP/1.1\nHost: h\nX-Forwarded-Port: 1\nForwarded: for=1.2.3.4\nX-Forwarded-For: 1.2.3.4, 5.6.7.8, 127.0.0.1\nX-Forwarded-Host: outer\nX-Forwarded-Proto: https\n" + xid + "\n",
		},
		{
			name: "request id of the caller",
			sent: "GET / HTTP/1.1\nHost: h\nX-Request-Id: my-id_1\n\n",
			want: "GET / HTTP/1.1\nHost: h\n" + xf + "X-Request-Id: my-id_1\n\n",
		},
		{
			name: "request id that cannot stand in logs",
			sent: "GET / HTTP/1.1\nHost: h\nX-Request-Id: a b\n\n",
			want: "GET / HTTP/1.1\nHost: h\n" + xf + xid + "\n",
		},
		{
			name: "Expect ends at the gateway",
			sent: "POST / HTTP/1.1\nHost: h\nExpect: 100-continue\nContent-Length: 2\n\nab",
			want: "POST / HTTP/1.1\nHost: h\n" + xf + xid + "Content-Length: 2\n\nab",
		},
		{
			name: "no body",
			sent: "POST / HTTP/1.1\nHost: h\n\n",
			want: "POST / HTTP/1.1\nHost: h\n" + xf + xid + "Content-Length: 0\n\n",
		},
		{
			name: "held chunks get a length",
			sent: "PUT / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n1\na\n2;ext\nbc\n0\n\n",
			want: "PUT / HTTP/1.1\nHost: h\n" + xf + xid + "Content-Length: 3\n\nabc",
		},
		{
			name: "held chunks with trailers stay chunks",
			sent: "PUT / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\nTrailer: X-Sum\n\n1\na\n2\nbc\n0\nX-Sum: 7\n\n",
			want: "PUT / HTTP/1.1\nHost: h\n" + xf + xid + "Trailer: X-Sum\nTransfer-Encoding: chunked\n\n3\nabc\n0\nX-Sum: 7\n\n",
		},
		{
			name: "HTTP/1.0 without Host, as HAProxy's health checks",
			sent: "OPTIONS / HTTP/1.0\n\n",
			want: "OPTIONS / HTTP/1.1\nHost: <at>\nX-Forwarded-For: 127.0.0.1\nX-Forwarded-Host: <at>\nX-Forwarded-Proto: http\n" + xid + "\n",
		},
		{
			name: "an empty Host",
			sent: "GET / HTTP/1.1\nHost:\n\n",
			want: "GET / HTTP/1.1\nHost: <at>\nX-Forwarded-For: 127.0.0.1\nX-Forwarded-Host: <at>\nX-Forwarded-Proto: http\n" + xid + "\n",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := plain
			if tc.trusted {
				f = trusting
			}
			before := len(w.raw())
			c := dial(t, f.addr)
			c.send(tc.sent)
			c.answer("GET")
			got := strings.ReplaceAll(ids.ReplaceAllString(w.raw()[before:], "<id>"), f.addr, "<at>")
			if got != crlf(tc.want) {
				t.Errorf("worker got\n%swant\n%s", got, crlf(tc.want))
			}
		})
	}
}

// TestPassedBackHeads compares what the caller gets.
func TestPassedBackHeads(t *testing.T) {
	for _, tc := range []struct{ name, method, answer, want string }{
		{
			"plain", "GET", "HTTP/1.1 200 All Right\nServer: s\nDate: d\nX-A: 1\nContent-Length: 2\n\nab",
			"HTTP/1.1 200 All Right\nServer: s\nDate: d\nX-A: 1\nX-Request-Id: <id>\nConnection: close\nContent-Length: 2\n\nab",
		},
		{
			"hop-by-hop fields", "GET",
			"HTTP/1.1 200 OK\nDate: d\nConnection: X-Hop, Keep-Alive\nX-Hop: 1\nKeep-Alive: x\nProxy-Authenticate: x\nContent-Length: 0\n\n",
			"HTTP/1.1 200 OK\nDate: d\nX-Request-Id: <id>\nConnection: close\nContent-Length: 0\n\n",
		},
		{
			"chunks and trailers", "GET",
			"HTTP/1.1 200 OK\nDate: d\nTransfer-Encoding: chunked\nTrailer: X-Sum\n\n2\nab\n0\nX-Sum: 7\n\n",
			"HTTP/1.1 200 OK\nDate: d\nTrailer: X-Sum\nX-Request-Id: <id>\nConnection: close\nTransfer-Encoding: chunked\n\n2\nab\n0\nX-Sum: 7\n\n",
		},
		{
			"until close becomes chunks", "GET", "HTTP/1.0 200 OK\nDate: d\n\nab",
			"HTTP/1.1 200 OK\nDate: d\nX-Request-Id: <id>\nConnection: close\nTransfer-Encoding: chunked\n\n2\nab\n0\n\n",
		},
		{
			"white space before a colon goes", "GET", "HTTP/1.1 200 OK\nDate: d\nX \t: a\nContent-Length : 2\n\nab",
			"HTTP/1.1 200 OK\nDate: d\nX: a\nX-Request-Id: <id>\nConnection: close\nContent-Length: 2\n\nab",
		},
		{
			"HEAD keeps the length", "HEAD", "HTTP/1.1 200 OK\nDate: d\nContent-Length: 200\n\n",
			"HTTP/1.1 200 OK\nDate: d\nContent-Length: 200\nX-Request-Id: <id>\nConnection: close\n\n",
		},
		{
			"304 keeps the length", "GET", "HTTP/1.1 304 Not Modified\nDate: d\nContent-Length: 200\n\n",
			"HTTP/1.1 304 Not Modified\nDate: d\nContent-Length: 200\nX-Request-Id: <id>\nConnection: close\n\n",
		},
		{
			"204 has none", "GET", "HTTP/1.1 204 No Content\nDate: d\nContent-Length: 0\n\n",
			"HTTP/1.1 204 No Content\nDate: d\nX-Request-Id: <id>\nConnection: close\n\n",
		},
		{
			"early hints", "GET", "HTTP/1.1 100 Continue\n\nHTTP/1.1 103 Early Hints\nLink: l\nContent-Length: 3\n\nHTTP/1.1 200 OK\nDate: d\nContent-Length: 0\n\n",
			"HTTP/1.1 103 Early Hints\nLink: l\n\nHTTP/1.1 200 OK\nDate: d\nX-Request-Id: <id>\nConnection: close\nContent-Length: 0\n\n",
		},
		{
			"the worker's own request id", "GET", "HTTP/1.1 200 OK\nDate: d\nX-Request-Id: mine\nContent-Length: 0\n\n",
			"HTTP/1.1 200 OK\nDate: d\nX-Request-Id: mine\nConnection: close\nContent-Length: 0\n\n",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, _, _ := through(t, func(c *workerConn) {
				c.request()
				c.send(tc.answer)
			})
			c := dial(t, f.addr)
			c.send(tc.method + " / HTTP/1.1\nHost: h\nConnection: close\n\n")
			got, clean := c.ends()
			if got = ids.ReplaceAllString(got, "<id>"); got != crlf(tc.want) || !clean {
				t.Errorf("caller got\n%swant\n%s", got, crlf(tc.want))
			}
		})
	}
}

// TestBadAnswers: what is not HTTP, or could be read in two ways, is not passed on.
func TestBadAnswers(t *testing.T) {
	for _, answer := range []string{
		"220 smtp\n\n",
		"HTTP/1.1 200 OK\nContent-Length: 1\nContent-Length: 2\n\nab",
		"HTTP/1.1 200 OK\nContent-Length: 1\nTransfer-Encoding: chunked\n\n1\na\n0\n\n",
		"HTTP/1.1 200 OK\nTransfer-Encoding: gzip\n\n",
		"HTTP/1.1 200 OK\nX a: b\n\n",
		"HTTP/1.1 200 OK\nX: a\n b\n\n",
		"HTTP/1.1 101 Switching Protocols\nUpgrade: x\n\n",
		strings.Repeat("HTTP/1.1 102 Processing\n\n", 2000) + hello,
		"HTTP/1.1 200 OK\nX: " + strings.Repeat("x", 70<<10) + "\n\n",
	} {
		f, d, _ := through(t, func(c *workerConn) {
			c.request()
			c.send(answer)
			c.request()
		})
		c := dial(t, f.addr)
		c.send("GET / HTTP/1.1\nHost: h\n\n")
		resp, _ := c.answer("GET")
		for resp.StatusCode == 102 {
			resp, _ = c.answer("GET")
		}
		if resp.StatusCode != http.StatusBadGateway {
			t.Errorf("%.40q: status %d", answer, resp.StatusCode)
		}
		if r := d.result(); r.Fault != dispatch.BadAnswer {
			t.Errorf("%.40q: fault %d, %v", answer, r.Fault, r.Err)
		}
	}
}
