package gateway

import (
	"bytes"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/gateway/forwarded"
)

func TestCallerIP(t *testing.T) {
	var log bytes.Buffer
	g, err := New(Config{
		Routes:         []Route{{Doer: doFunc(nil), Printer: newPrinter(t)}},
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")},
		Log:            slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	const xff, fwd = "X-Forwarded-For: ", "Forwarded: "
	for _, tc := range []struct{ peer, field, want string }{
		{"1.1.1.1", xff + "9.9.9.9", "1.1.1.1"},
		{"1.1.1.1", fwd + "for=9.9.9.9", "1.1.1.1"},
		{"10.0.0.1", xff, "10.0.0.1"},
		{"10.0.0.1", xff + "9.9.9.9", "9.9.9.9"},
		{"10.0.0.1", xff + "8.8.8.8, 9.9.9.9, 10.0.0.2", "9.9.9.9"},
		{"10.0.0.1", xff + "10.0.0.3, 10.0.0.2", "10.0.0.3"},
		{"10.0.0.1", xff + "9.9.9.9, , ", "9.9.9.9"},
		{"10.0.0.1", xff + "::1", "::1"},

		// With ports, brackets, quotes and zones, as proxies write them.
		{"10.0.0.1", xff + "5.5.5.5:4711", "5.5.5.5"}, // Azure Application Gateway
		{"10.0.0.1", xff + "[2001:db8::1]:443", "2001:db8::1"},
		{"10.0.0.1", xff + "[2001:db8::1]", "2001:db8::1"},
		{"10.0.0.1", xff + `"[2001:db8::1]:443", 10.0.0.2:80, [fd00::2]:80`, "2001:db8::1"},
		{"10.0.0.1", xff + "fe80::1%eth0", "fe80::1"},

		{"10.0.0.1", fwd + "for=5.5.5.5", "5.5.5.5"},
		{"10.0.0.1", fwd + `for=6.6.6.6, by=10.0.0.1;FOR = "[2001:db8:cafe::17]:4711" ;proto=https, for=10.0.0.2`, "2001:db8:cafe::17"},
		{"10.0.0.1", fwd + `for="5.5.5.5:80";host="a,b;c"`, "5.5.5.5"},
		{"10.0.0.1", fwd + "for=6.6.6.6\n" + xff + "5.5.5.5", "5.5.5.5"}, // X-Forwarded-For is preferred
		{"10.0.0.1", fwd + "for=_hidden, for=10.0.0.2", "_hidden"},

		// What cannot be read is not the proxy.
		{"10.0.0.1", xff + "9.9.9.9, junk", forwarded.UnknownCaller},
		{"10.0.0.1", xff + "unknown", forwarded.UnknownCaller},
		{"10.0.0.1", xff + "[::1", forwarded.UnknownCaller},
		{"10.0.0.1", fwd + "for=unknown", forwarded.UnknownCaller},
		{"10.0.0.1", fwd + "by=10.0.0.1", forwarded.UnknownCaller},
		{"10.0.0.1", fwd + `for="`, forwarded.UnknownCaller},
	} {
		log.Reset()
		j := jobFor(t, g, "GET / HTTP/1.1\nHost: h\n"+tc.field+"\n\n")
		j.client.peer.ip = tc.peer
		j.s.unread.Store(0)
		if got := j.client.ip(); got != tc.want {
			t.Errorf("peer %s, %s: %s, want %s", tc.peer, tc.field, got, tc.want)
		}
		if said := strings.Contains(log.String(), "a trusted proxy"); said != (tc.want == forwarded.UnknownCaller) {
			t.Errorf("peer %s, %s: the log is %q", tc.peer, tc.field, log.String())
		}
		_ = j.client.ip() // once a minute is enough
		if n := strings.Count(log.String(), "\n"); n > 1 {
			t.Errorf("%d lines: %s", n, log.String())
		}
	}
}

// TestForwardedReachesWorkers: a worker that knows X-Forwarded-For only hears of the
// caller from a proxy that sends Forwarded only.
func TestForwardedReachesWorkers(t *testing.T) {
	w := startWorker(t, answering(hello))
	f := serve(t, Route{Doer: newDirect(t, w.addr)}, Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, ServerConfig{})
	c := dial(t, f.addr)
	c.send("GET / HTTP/1.1\nHost: h\nConnection: close\nForwarded: for=6.6.6.6;proto=http, for=\"[2001:db8::1]:4711\";host=outer;proto=https, for=127.0.0.2;proto=http\n\n")
	c.answer("GET")
	want := crlf("X-Forwarded-For: 6.6.6.6, 2001:db8::1, 127.0.0.2, 127.0.0.1\nX-Forwarded-Host: outer\nX-Forwarded-Proto: https\n")
	if raw := w.raw(); !strings.Contains(raw, want) {
		t.Errorf("the worker got %q, want %q", raw, want)
	}
}
