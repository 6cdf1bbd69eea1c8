package gateway

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptrace"
	"testing"
)

// While a server is about to stop it answers as before, and each connection ends
// with its next answer: of HTTP/1.1 by a field, of HTTP/2 by a GOAWAY.
func TestLeave(t *testing.T) {
	w := startWorker(t, answering(hello))
	for _, proto := range []string{"plain", "h2c", "HTTP/1.1", "HTTP/2.0"} {
		g, err := New(Config{Routes: []Route{{Path: "/*", Doer: newDirect(t, w.addr), Printer: newPrinter(t)}}})
		if err != nil {
			t.Fatal(err)
		}
		client, scheme, cfg := &http.Client{Transport: &http.Transport{}, Timeout: patience}, "http", ServerConfig{}
		switch proto {
		case "plain":
		case "h2c":
			client = h2cClient(t)
		default:
			var own *tls.Config
			own, pool := certificate(t)
			client, scheme, cfg = tlsClients(t, pool)[proto], "https", ServerConfig{TLS: own}
		}
		s, err := NewServer(g, cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		get := func() (reused, closes bool) {
			var got httptrace.GotConnInfo
			req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
				GotConn: func(i httptrace.GotConnInfo) { got = i },
			}), "GET", scheme+"://"+s.Addr().String()+"/", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatalf("%s: %v", proto, err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("%s: status %d", proto, resp.StatusCode)
			}
			return got.Reused, resp.Close
		}
		get()
		if reused, closes := get(); !reused || closes {
			t.Errorf("%s: before, the connection is used again: %v, ends: %v", proto, reused, closes)
		}
		s.Leave()
		bySign := proto == "plain" || proto == "HTTP/1.1" // a field says it
		reused, closes := get()
		if !reused || closes != bySign {
			t.Errorf("%s: the next request comes on the old connection: %v, which ends: %v", proto, reused, closes)
		}
		// A GOAWAY follows the answer it was asked for with, so that requests
		// may still come in between.
		for reused := true; reused; {
			reused, closes = get()
		}
		if bySign && !closes {
			t.Errorf("%s: a new connection stays", proto)
		}
		client.CloseIdleConnections()
		stop()
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", proto, err)
		}
	}
}
