package gateway

import (
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/accesslog"
)

// Streams end when nothing moves for as long as the route allows, or when they have
// gone on for too long: events and tunnels. Nobody is blamed.
func TestStreamsEnd(t *testing.T) {
	w := startWorker(t, func(c *workerConn) {
		r, _ := c.request()
		if r == nil {
			return
		}
		if r.Header.Get("Upgrade") != "" {
			c.send("HTTP/1.1 101 Switching Protocols\nConnection: Upgrade\nUpgrade: echo\n\n")
		} else {
			c.send("HTTP/1.1 200 OK\nContent-Type: text/event-stream\nTransfer-Encoding: chunked\n\n")
		}
		for r.URL.Path == "/talks" {
			if _, err := io.WriteString(c, "1\r\na\r\n"); err != nil {
				return
			}
			<-time.After(time.Millisecond)
		}
		_, _ = io.Copy(io.Discard, c) // until the gateway cuts it
	})
	for _, c := range []struct {
		path, rule string
		route      Route
	}{
		{"/silent", RuleStreamIdle, Route{StreamIdle: 20 * time.Millisecond, StreamTotal: time.Hour}},
		{"/talks", RuleStreamTotal, Route{StreamIdle: time.Hour, StreamTotal: 20 * time.Millisecond}},
	} {
		for _, upgrade := range []string{"", "Connection: Upgrade\nUpgrade: echo\n"} {
			d := newDirect(t, w.addr)
			c.route.Doer = d
			rules := make(chan string, 1)
			f := serve(t, c.route, Config{Observe: func(r *accesslog.Record) { rules <- r.Rule }}, ServerConfig{})
			caller := dial(t, f.addr)
			caller.send("GET " + c.path + " HTTP/1.1\nHost: h\n" + upgrade + "\n")
			if rest, _ := caller.ends(); !strings.HasPrefix(rest, "HTTP/1.1 ") {
				t.Errorf("%s: the caller got %.100q", c.path, rest)
			}
			if r := d.result(); r.Fault != dispatch.CallerGone {
				t.Errorf("%s: the attempt ended with %+v", c.path, r)
			}
			if rule := <-rules; rule != c.rule {
				t.Errorf("%s: ended by %q, want %q", c.path, rule, c.rule)
			}
		}
	}
}

// The first answer after a connection's lifetime is its last.
func TestConnectionsHaveALifetime(t *testing.T) {
	own, pool := certificate(t)
	w := startWorker(t, answering(hello))
	for _, proto := range []string{"plain", "HTTP/1.1", "HTTP/2.0"} {
		client, scheme, cfg := &http.Client{Transport: &http.Transport{}, Timeout: patience}, "http", ServerConfig{Lifetime: time.Nanosecond}
		if proto != "plain" {
			client, scheme, cfg.TLS = tlsClients(t, pool)[proto], "https", own
		}
		f := serve(t, Route{Doer: newDirect(t, w.addr)}, Config{}, cfg)
		for fresh := 0; fresh < 3; {
			reused := false
			req, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
				GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused },
			}), "GET", scheme+"://"+f.addr+"/", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			res, err := client.Do(req)
			if err != nil {
				t.Fatalf("%s: %v", proto, err)
			}
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
			if !reused {
				fresh++
			}
			if proto != "HTTP/2.0" && (reused || !res.Close) { // the end of HTTP/2's comes beside the answer
				t.Errorf("%s: the connection was used again, or goes on", proto)
			}
		}
		client.CloseIdleConnections()
	}
}
