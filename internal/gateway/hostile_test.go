package gateway

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// blind takes requests and writes answers without an end, until the gateway
// takes no more; it tells when that is.
func blind(ended chan<- struct{}) func(*workerConn) {
	return func(c *workerConn) {
		if r, _ := c.request(); r == nil {
			return
		}
		c.send("HTTP/1.1 200 OK\nContent-Type: text/plain\n\n")
		piece := make([]byte, 64<<10)
		for {
			if _, err := c.Write(piece); err != nil {
				ended <- struct{}{}
				return
			}
		}
	}
}

// shaken dials and shakes hands.
func shaken(t *testing.T, f *front, pool *x509.CertPool, proto string) *tls.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", f.addr)
	if err != nil {
		t.Fatal(err)
	}
	_ = nc.(*net.TCPConn).SetReadBuffer(4 << 10)
	c := tls.Client(nc, &tls.Config{RootCAs: pool, ServerName: "localhost", NextProtos: []string{proto}})
	t.Cleanup(func() { nc.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	return c
}

// Whatever protocol they speak, callers who take nothing of their answers are
// given up, and with them the worker's connection.
func TestWhoTakesNothingIsGivenUp(t *testing.T) {
	const settings = "\x00\x00\x06\x04\x00\x00\x00\x00\x00" + "\x00\x04\x7f\xff\xff\xff" // a window without an end
	const window = "\x00\x00\x04\x08\x00\x00\x00\x00\x00" + "\x7f\x00\x00\x00"
	const get = "\x00\x00\x06\x01\x05\x00\x00\x00\x01" + "\x82\x84\x87\x01\x01h" // GET / https, :authority h
	for name, text := range map[string]string{
		"http/1.1": "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
		"h2":       "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings + window + get,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // crypto/tls waits 5 s for a last alert to be taken
			ended := make(chan struct{}, 1)
			w := startWorker(t, blind(ended))
			f, _, pool := overTLS(t, newDirect(t, w.addr), ServerConfig{WriteTimeout: 100 * time.Millisecond})
			c := shaken(t, f, pool, name)
			if _, err := io.WriteString(c, text); err != nil {
				t.Fatal(err)
			}
			select {
			case <-ended:
			case <-time.After(patience):
				t.Error("the worker still writes")
			}
		})
	}
}

// A body that stops coming ends its request, over TLS as without.
func TestABodyThatStopsOverTLS(t *testing.T) {
	w := startWorker(t, answering(hello))
	f, clients, _ := overTLS(t, newDirect(t, w.addr), ServerConfig{BodyTimeout: 100 * time.Millisecond})
	for name, c := range clients {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		t.Cleanup(cancel)
		body, more := io.Pipe()
		t.Cleanup(func() { more.Close() })
		go func() { _, _ = io.WriteString(more, "ab") }()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+f.addr+"/", body)
		if err != nil {
			t.Fatal(err)
		}
		req.ContentLength = 5
		resp, err := c.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusRequestTimeout {
			t.Errorf("%s: status %d", name, resp.StatusCode)
		}
	}
}

// TLS bounds what a head may hold, and how many connections there are, as plain
// HTTP does: while all places are taken, the silent make room.
func TestTLSIsBounded(t *testing.T) {
	w := startWorker(t, answering(hello))
	d := newDirect(t, w.addr)
	f, clients, pool := overTLS(t, d, ServerConfig{MaxConns: 4})
	for name, c := range clients {
		for what, req := range map[string]struct {
			path   string
			fields int
			status int
		}{
			"many fields":   {"/", 250, http.StatusRequestHeaderFieldsTooLarge},
			"a long target": {"/" + strings.Repeat("a", 20<<10), 0, http.StatusRequestURITooLong},
			"neither":       {"/" + strings.Repeat("a", 10<<10), 150, http.StatusOK},
		} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+f.addr+req.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			for range req.fields {
				r.Header.Add("X-Many", "1")
			}
			resp, err := c.Do(r)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, what, err)
			}
			resp.Body.Close()
			if resp.StatusCode != req.status {
				t.Errorf("%s, %s: status %d, want %d", name, what, resp.StatusCode, req.status)
			}
		}
		c.CloseIdleConnections()
	}
	var silent []net.Conn
	for i := range 4 { // who never shakes hands, and who sends nothing then
		if i%2 == 0 {
			silent = append(silent, dial(t, f.addr).Conn)
		} else {
			silent = append(silent, shaken(t, f, pool, "http/1.1"))
		}
	}
	for range 4 { // each a new connection, which is kept
		c := shaken(t, f, pool, "http/1.1")
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(io.LimitReader(c, 12)); err != nil || string(b) != "HTTP/1.1 200" {
			t.Fatalf("got %q, %v", b, err)
		}
	}
	for i, c := range silent {
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("silent connection %d goes on: %v", i, err)
		}
	}
}

// Over TLS as without, what could be read in two ways is refused.
func TestNothingIsSmuggledOverTLS(t *testing.T) {
	const hidden = "GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n"
	const post = "POST / HTTP/1.1\r\nHost: h\r\n"
	const chunked = "Transfer-Encoding: chunked\r\n"
	for name, text := range map[string]string{
		"CL.TE":                 post + "Content-Length: 6\r\n" + chunked + "\r\n0\r\n\r\nG",
		"TE.CL":                 post + chunked + "Content-Length: 4\r\n\r\n24\r\n" + hidden + "\r\n0\r\n\r\n",
		"TE.TE":                 post + chunked + "Transfer-Encoding: cow\r\n\r\n0\r\n\r\n" + hidden,
		"TE VT":                 post + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n" + hidden,
		"TE space before colon": post + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + hidden,
		"TE folded":             post + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + hidden,
		"TE behind a bare LF":   post + "X: a\n" + chunked + "\r\n0\r\n\r\n" + hidden,
		"TE behind a bare CR":   post + "X: a\r" + chunked + "\r\n0\r\n\r\n" + hidden,
		"TE with NUL":           post + "Transfer-Encoding: chunked\x00\r\n\r\n0\r\n\r\n" + hidden,
		"two CL":                post + "Content-Length: 0\r\nContent-Length: 35\r\n\r\n" + hidden,
		"two equal CL":          post + "Content-Length: 0\r\nContent-Length: 0\r\n\r\n" + hidden,
		"CL sign":               post + "Content-Length: +35\r\n\r\n" + hidden,
		"bare LF everywhere":    strings.ReplaceAll(post+"X: y\r\n z\r\n\r\n"+hidden, "\r\n", "\n"),
		"two Hosts":             "GET / HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n" + hidden,
		"chunk size LF":         post + chunked + "\r\n5\nhello\r\n0\r\n\r\n" + hidden,
		"chunk size sign":       post + chunked + "\r\n+5\r\nhello\r\n0\r\n\r\n" + hidden,
		"chunk size overflow":   post + chunked + "\r\n10000000000000005\r\nhello\r\n0\r\n\r\n" + hidden,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startWorker(t, answering(hello))
			f, _, pool := overTLS(t, newDirect(t, w.addr), ServerConfig{})
			c := shaken(t, f, pool, "http/1.1")
			if _, err := io.WriteString(c, text); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(c)
			if err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the connection does not end: %v", err)
			}
			if s := string(got); !strings.HasPrefix(s, "HTTP/1.1 4") && !strings.HasPrefix(s, "HTTP/1.1 501") || strings.Count(s, "HTTP/1.1 ") != 1 {
				t.Errorf("got %q", got)
			}
			if raw := w.raw(); raw != "" {
				t.Errorf("the worker got %q", raw)
			}
		})
	}
}
