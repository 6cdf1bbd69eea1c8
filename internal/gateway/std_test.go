package gateway

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
)

// certificate makes a key pair for localhost.
func certificate(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, pool
}

// overTLS runs a gateway on TLS, and returns clients that speak HTTP/2 and
// HTTP/1.1.
func overTLS(t *testing.T, d Doer, srv ServerConfig) (f *front, clients map[string]*http.Client, pool *x509.CertPool) {
	t.Helper()
	srv.TLS, pool = certificate(t)
	f = serve(t, Route{Doer: d, MaxBody: 1 << 20}, Config{}, srv)
	return f, tlsClients(t, pool), pool
}

// tlsClients speak HTTP/2 and HTTP/1.1.
func tlsClients(t *testing.T, pool *x509.CertPool) map[string]*http.Client {
	t.Helper()
	clients := make(map[string]*http.Client)
	for name, two := range map[string]bool{"HTTP/2.0": true, "HTTP/1.1": false} {
		tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: two, Protocols: new(http.Protocols)}
		tr.Protocols.SetHTTP2(two)
		tr.Protocols.SetHTTP1(!two)
		t.Cleanup(tr.CloseIdleConnections)
		clients[name] = &http.Client{Transport: tr, Timeout: patience}
	}
	return clients
}

func TestTLS(t *testing.T) {
	w := startWorker(t, func(c *workerConn) {
		for {
			r, body := c.request()
			if r == nil {
				return
			}
			c.send("HTTP/1.1 103 Early Hints\nLink: </x>\n\n")
			text := fmt.Sprintf("%s %s %s %s %s", r.Method, r.RequestURI, r.Header.Get("X-Forwarded-Proto"), body, r.Trailer.Get("X-Up"))
			c.send(fmt.Sprintf("HTTP/1.1 200 OK\nTrailer: X-Down\nConnection: X-Hop\nX-Hop: 1\nTransfer-Encoding: chunked\n\n%x\n%s\n0\nX-Down: 7\n\n", len(text), text))
		}
	})
	d := newDirect(t, w.addr)
	f, clients, _ := overTLS(t, d, ServerConfig{})
	for proto, client := range clients {
		hints := 0
		ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
			Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
				if code == 103 && h.Get("Link") == "</x>" {
					hints++
				}
				return nil
			},
		})
		req, err := http.NewRequestWithContext(ctx, "PUT", "https://"+f.addr+"/a%2Fb?c=%20", strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		req.ContentLength = -1
		req.Trailer = http.Header{"X-Up": {"6"}}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(body) != "PUT /a%2Fb?c=%20 https hello 6" || resp.Proto != proto {
			t.Errorf("%s: got %q, %v", resp.Proto, body, err)
		}
		if resp.Trailer.Get("X-Down") != "7" || resp.Header.Get("X-Hop") != "" || resp.Header.Get("X-Request-Id") == "" || hints != 1 {
			t.Errorf("%s: trailers %v, head %v, %d hints", proto, resp.Trailer, resp.Header, hints)
		}
		if got := d.work(); !got.Replayable || got.Fingerprint.IsZero() {
			t.Errorf("%s: work %+v", proto, got)
		}
	}
}

// TestTLSStreams: over TLS too, caller and worker can talk in turns, and what a
// caller breaks off is broken off.
func TestTLSStreams(t *testing.T) {
	w := startWorker(t, func(c *workerConn) {
		r, err := http.ReadRequest(c.br)
		if err != nil {
			return
		}
		c.send("HTTP/1.1 200 OK\nConnection: close\nTransfer-Encoding: chunked\n\n")
		buf := make([]byte, 100)
		for {
			n, err := r.Body.Read(buf)
			if n > 0 {
				c.send(fmt.Sprintf("%x\n%s\n", n, strings.ToUpper(string(buf[:n]))))
			}
			if err != nil {
				break
			}
		}
		c.send("0\n\n")
		c.hungUp()
	})
	d := newDirect(t, w.addr)
	f, clients, _ := overTLS(t, d, ServerConfig{})
	for proto, client := range clients {
		for _, abort := range []bool{false, true} {
			pr, pw := io.Pipe()
			ctx, cancel := context.WithCancel(context.Background())
			req, err := http.NewRequestWithContext(ctx, "POST", "https://"+f.addr+"/", pr)
			if err != nil {
				t.Fatal(err)
			}
			go func() { _, _ = io.WriteString(pw, "ping") }()
			resp, err := client.Do(req)
			if err != nil {
				t.Fatalf("%s: %v", proto, err)
			}
			read := func(want string) {
				buf := make([]byte, len(want))
				if _, err := io.ReadFull(resp.Body, buf); err != nil || string(buf) != want {
					t.Fatalf("%s: got %q, %v", proto, buf, err)
				}
			}
			read("PING")
			_, _ = io.WriteString(pw, "pong")
			read("PONG")
			want := dispatch.NoFault
			if abort {
				cancel()
				pw.CloseWithError(io.ErrUnexpectedEOF) // net/http's client looks at ctx only between reads
				want = dispatch.CallerGone
			} else {
				pw.Close()
				read("")
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if r := d.result(); r.Fault != want {
				t.Errorf("%s, abort %v: fault %d, %v", proto, abort, r.Fault, r.Err)
			}
			pw.Close()
			cancel()
		}
	}
}

// TestTLSCut: over TLS too, a cut answer does not end cleanly.
func TestTLSCut(t *testing.T) {
	for _, answer := range []string{
		"HTTP/1.1 200 OK\nContent-Length: 100\n\nhello", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nhello\n",
	} {
		w := startWorker(t, func(c *workerConn) {
			c.request()
			c.send(answer)
		})
		f, clients, _ := overTLS(t, newDirect(t, w.addr), ServerConfig{})
		for proto, client := range clients {
			resp, err := client.Get("https://" + f.addr + "/")
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			if err == nil {
				t.Errorf("%s: %q ends cleanly", proto, answer)
			}
		}
	}
}

func TestTLSProblems(t *testing.T) {
	w := startWorker(t, func(c *workerConn) { c.request() })
	f, clients, _ := overTLS(t, newDirect(t, w.addr), ServerConfig{})
	for proto, client := range clients {
		for _, tc := range []struct {
			method string
			body   int
			status int
		}{{"GET", 0, 502}, {"HEAD", 0, 502}, {"POST", 2 << 20, 413}} {
			req, err := http.NewRequest(tc.method, "https://"+f.addr+"/", bytes.NewReader(make([]byte, tc.body)))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatalf("%s %s: %v", proto, tc.method, err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != tc.status || (len(body) == 0) != (tc.method == "HEAD") || resp.Header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s %s: %d %q %v", proto, tc.method, resp.StatusCode, body, resp.Header)
			}
		}
	}
}

func TestTLSWebSocket(t *testing.T) {
	w := startWorker(t, func(c *workerConn) {
		if r, _ := c.request(); r == nil {
			return
		}
		c.send(switchWeb)
		_, _ = io.Copy(c, c.br)
	})
	d := newDirect(t, w.addr)
	f, _, pool := overTLS(t, d, ServerConfig{})
	nc, err := tls.Dial("tcp", f.addr, &tls.Config{RootCAs: pool})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(patience))
	c := &rawCaller{t, nc, bufio.NewReader(nc)}
	first := frame(1, true, "early")
	c.raw(crlf(askWeb) + first)
	c.opens("websocket")
	for range 2 {
		got := make([]byte, len(first))
		if _, err := io.ReadFull(c.br, got); err != nil || string(got) != first {
			t.Fatalf("got %q, %v", got, err)
		}
		c.raw(first)
	}
	nc.Close()
	if r := d.result(); r.Fault != dispatch.NoFault && r.Fault != dispatch.CallerGone {
		t.Errorf("fault %d, %v", r.Fault, r.Err)
	}
}

// TestTLSDrains: what is in flight over TLS finishes as well.
func TestTLSDrains(t *testing.T) {
	inside, goOn := make(chan bool), make(chan bool)
	w := startWorker(t, func(c *workerConn) {
		c.request()
		inside <- true
		<-goOn
		c.send(hello)
	})
	f, clients, _ := overTLS(t, newDirect(t, w.addr), ServerConfig{})
	got := make(chan string, 1)
	go func() {
		resp, err := clients["HTTP/2.0"].Get("https://" + f.addr + "/")
		if err != nil {
			got <- err.Error()
			return
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		got <- string(body)
	}()
	<-inside
	stopped := make(chan error, 1)
	go func() { stopped <- f.stop() }()
	goOn <- true
	if body := <-got; body != "hello" {
		t.Errorf("got %q", body)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// TestTLSDrainIsBounded: a tunnel that nobody ends is cut, and over when Run
// returns.
func TestTLSDrainIsBounded(t *testing.T) {
	over := make(chan bool)
	w := startWorker(t, func(c *workerConn) {
		if r, _ := c.request(); r == nil {
			return
		}
		c.send(switchWeb)
		c.hungUp()
		close(over)
	})
	d := newDirect(t, w.addr)
	f, _, pool := overTLS(t, d, ServerConfig{DrainTimeout: 50 * time.Millisecond})
	nc, err := tls.Dial("tcp", f.addr, &tls.Config{RootCAs: pool})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(patience))
	c := &rawCaller{t, nc, bufio.NewReader(nc)}
	c.send(askWeb)
	c.opens("websocket")
	if err := f.stop(); err == nil || !strings.Contains(err.Error(), "drain") {
		t.Errorf("Run: %v", err)
	}
	select {
	case r := <-d.done:
		if r.Fault != dispatch.CallerGone {
			t.Errorf("fault %d, %v", r.Fault, r.Err)
		}
	default:
		t.Error("Run returned with an attempt in flight")
	}
	<-over
}

// TestMounted: a program can mount the gateway in its own server.
func TestMounted(t *testing.T) {
	w := startWorker(t, answering(hello))
	g := newGateway(t, Config{Routes: []Route{{Path: "/in/*", Doer: newDirect(t, w.addr), Printer: newPrinter(t)}}})
	mux := http.NewServeMux()
	mux.Handle("/in/", g)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: mux}
	go func() { _ = srv.Serve(ln) }()
	defer srv.Close()
	c := dial(t, ln.Addr().String())
	for range 2 {
		c.send("GET /in/x HTTP/1.1\nHost: h\n\n")
		if resp, body := c.answer("GET"); body != "hello" || resp.Header.Get("Content-Type") != "" {
			t.Fatalf("got %q, %v", body, resp.Header)
		}
	}
}
