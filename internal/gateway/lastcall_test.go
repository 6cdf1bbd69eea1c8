package gateway

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"testing"
)

// Who has an idle connection when the server is told to stop may use it once more.
func TestLastCall(t *testing.T) {
	w := startWorker(t, answering(hello))
	for _, proto := range []string{"plain", "h2c", "HTTP/1.1", "HTTP/2.0"} {
		g, err := New(Config{Routes: []Route{{Path: "/*", Doer: newDirect(t, w.addr), Printer: newPrinter(t)}}})
		if err != nil {
			t.Fatal(err)
		}
		var ln net.Listener
		cfg := ServerConfig{On: func(addr string) (_ net.Listener, err error) {
			ln, err = net.Listen("tcp", addr)
			return ln, err
		}}
		client, scheme := &http.Client{Transport: &http.Transport{}, Timeout: patience}, "http"
		switch proto {
		case "plain":
		case "h2c":
			client = h2cClient(t)
		default:
			var own *tls.Config
			own, pool := certificate(t)
			client, scheme, cfg.TLS = tlsClients(t, pool)[proto], "https", own
		}
		if tr, ok := client.Transport.(*http.Transport); ok { // it may keep a connection for others only after the first answer on it
			tr.MaxConnsPerHost = 1
		}
		s, err := NewServer(g, cfg)
		if err != nil {
			t.Fatal(err)
		}
		s.LastCall(patience)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		get := func() (reused bool) {
			req, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
				GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused },
			}), "POST", scheme+"://"+s.Addr().String()+"/", http.NoBody)
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
			return reused
		}
		get()
		stop()
		_, _ = ln.Accept() // until it is closed
		if !get() {
			t.Errorf("%s: the connection was not there any more", proto)
		}
		client.CloseIdleConnections()
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", proto, err)
		}
	}
}
