package h1

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// testCertificate is one of no authority.
var testCertificate = sync.OnceValue(func() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
})

// overTLS reports whether the servers and callers of the test speak TLS.
func overTLS(t *testing.T) bool { return strings.HasPrefix(t.Name(), "TestOverTLS/") }

// A server does the same over TLS as without.
func TestOverTLS(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"KeepsAlive":         TestServerKeepsAlive,
		"Pipelines":          TestServerPipelines,
		"Old":                TestServerOld,
		"Streams":            TestServerStreams,
		"RefusesSmuggling":   TestServerRefusesSmuggling,
		"Limits":             TestServerLimits,
		"SlowCallers":        TestServerSlowCallers,
		"SlowReader":         TestServerSlowReader,
		"Continue":           TestServerContinue,
		"UnreadBody":         TestServerUnreadBody,
		"NeverEndsCleanly":   TestServerNeverEndsCleanlyInTheMiddle,
		"Panic":              TestServerPanic,
		"Drains":             TestServerDrains,
		"DrainIsBounded":     TestServerDrainIsBounded,
		"LastCall":           TestServerLastCall,
		"BeganBeforeTheStop": TestAnswerThatBeganBeforeTheStop,
		"MakesRoom":          TestServerMakesRoom,
		"WakesFromRest":      TestServerWakesFromRest,
		"EarlyAnswer":        TestAnEarlyAnswerIsNotLost,
		"EmptyLines":         TestEmptyLinesBetweenRequests,
		"Gone":               TestExchangeGone,
		"GoneAfterClose":     TestExchangeGoneAfterClose,
		"Patience":           TestExchangePatience,
		"Interrupt":          TestExchangeInterrupt,
		"Reset":              TestExchangeReset,
		"Framing":            TestExchangeFraming,
		"Tunnel":             TestExchangeTunnel,
		"TakesItsTime":       TestWhoTakesItsTimeGetsAll,
	} {
		t.Run(name, test)
	}
}

// A write goes on for as long as its caller takes something, however long that is.
func TestWhoTakesItsTimeGetsAll(t *testing.T) {
	const timeout, patient = time.Second, 20
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	failed := make(chan error, 1)
	addr, _ := serve(t, ServerConfig{WriteTimeout: timeout}, func(x *Exchange) {
		err := x.Begin(&Head{Status: 200, Length: int64(len(want))})
		for at := 0; at < len(want) && err == nil; at += 64 << 10 {
			if err = x.Write(want[at : at+64<<10]); err != nil {
				err = fmt.Errorf("after %d bytes: %w", at, err)
			}
		}
		if err == nil {
			err = x.End(nil)
		}
		failed <- err
	})
	for range patient {
		got, slowest := take(t, addr, len(want), timeout/12)
		err := <-failed
		switch {
		case err == nil && !bytes.Equal(got, want):
			t.Error("the answer is another one")
		case err != nil && slowest > timeout/3: // the machine was busy with others
			t.Logf("once more: %v, and the caller took nothing for %v", err, slowest)
			continue
		case err != nil:
			t.Error(err)
		}
		return
	}
	t.Errorf("in %d tries the machine was too busy for a caller who takes something in time", patient)
}

// take takes an answer in 16 pieces with pauses, and returns the longest time between two of them.
func take(t *testing.T, addr string, size int, pause time.Duration) (got []byte, slowest time.Duration) {
	t.Helper()
	c := dial(t, addr)
	defer c.Close()
	c.send("GET / HTTP/1.1\nHost: x\n\n")
	resp, err := http.ReadResponse(c.br, nil)
	if err != nil {
		t.Fatal(err)
	}
	piece := make([]byte, size/16)
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for last := time.Now(); len(got) < size; {
		<-tick.C
		n, err := io.ReadFull(resp.Body, piece)
		got = append(got, piece[:n]...)
		slowest, last = max(slowest, time.Since(last)), time.Now()
		if err != nil {
			break // the server says why
		}
	}
	return got, slowest
}

// secure runs a server over TLS, whose handler waits until its caller is gone. It returns
// how the server sees the caller.
func secure(t *testing.T, cfg *tls.Config) (c *tls.Conn, tcp *net.TCPConn, look func() bool) {
	t.Helper()
	inside, asked, gone := make(chan bool), make(chan bool), make(chan bool)
	addr, _ := serve(t, ServerConfig{TLS: &tls.Config{Certificates: []tls.Certificate{testCertificate()}}}, func(x *Exchange) {
		inside <- x.Secure()
		for range asked {
			gone <- x.Gone()
		}
		x.Abort()
	})
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	cfg.InsecureSkipVerify = true
	c = tls.Client(nc, cfg)
	t.Cleanup(func() {
		close(asked)
		nc.Close()
	})
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if !<-inside {
		t.Error("the server does not know that it speaks TLS")
	}
	return c, nc.(*net.TCPConn), func() bool { asked <- true; return <-gone }
}

// The server notices a caller that hangs up over TLS, also behind records that it has not
// decrypted: a close_notify, or another request.
func TestGoneOverTLS(t *testing.T) {
	if !canRest {
		t.Skip("this system cannot tell the end of a connection below TLS")
	}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for name, end := range map[string]func(c *tls.Conn, tcp *net.TCPConn) error{
			"closes":       func(c *tls.Conn, _ *net.TCPConn) error { return c.Close() },
			"says nothing": func(_ *tls.Conn, tcp *net.TCPConn) error { return tcp.Close() },
			"resets": func(c *tls.Conn, tcp *net.TCPConn) error {
				_ = tcp.SetLinger(0)
				return tcp.Close()
			},
		} {
			t.Run(tls.VersionName(version)+" "+name, func(t *testing.T) {
				c, tcp, look := secure(t, &tls.Config{MaxVersion: version})
				if look() {
					t.Fatal("gone while it waits")
				}
				if _, err := io.WriteString(c, "GET /next HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
				if err := c.CloseWrite(); err != nil { // it says goodbye, and waits for its answer
					t.Fatal(err)
				}
				if look() {
					t.Fatal("gone while it waits for its answer")
				}
				if err := end(c, tcp); err != nil {
					t.Fatal(err)
				}
				for late := time.Now().Add(patience); !look(); {
					if time.Now().After(late) {
						t.Fatal("nobody notices that the caller has hung up")
					}
				}
			})
		}
	}
}

// A request that comes with the end of a slow handshake is not forgotten: TLS has it, and
// the socket shows nothing.
func TestARequestBehindASlowHandshake(t *testing.T) {
	addr, _ := serve(t, ServerConfig{TLS: &tls.Config{Certificates: []tls.Certificate{testCertificate()}}}, echo)
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	held := &gatherer{Conn: nc}
	c := tls.Client(held, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the test's own certificate
	_ = c.SetDeadline(time.Now().Add(patience))
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-time.After(restAfter + 10*time.Millisecond) // then an idle connection rests
	if _, err := nc.Write(held.kept); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(c); err != nil || !strings.HasSuffix(string(got), "GET /a ") {
		t.Errorf("got %q, %v", got, err)
	}
}

// gatherer keeps all that is written but the first piece.
type gatherer struct {
	net.Conn
	began bool
	kept  []byte
}

func (g *gatherer) Write(p []byte) (int, error) {
	if !g.began {
		g.began = true
		return g.Conn.Write(p)
	}
	g.kept = append(g.kept, p...)
	return len(p), nil
}

// Who speaks HTTP without TLS is told so, and who speaks neither is not.
func TestPlainCallersOfTLS(t *testing.T) {
	var log syncBuffer
	cfg := ServerConfig{
		TLS: &tls.Config{Certificates: []tls.Certificate{testCertificate()}},
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	addr, stop := serve(t, cfg, echo)
	for text, want := range map[string]string{
		"GET / HTTP/1.1\nHost: x\n\n": "HTTP/1.0 400 Bad Request\r\n\r\nThis port takes HTTPS only.\n",
		"SSH-2.0-OpenSSH_9.2\n":       "",
	} {
		c := dial(t, addr)
		c.send(text)
		got, _ := io.ReadAll(c.br) // its end may be a reset
		if string(got) != want {
			t.Errorf("%q: got %q", text, got)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if s := log.String(); !strings.Contains(s, "the caller speaks HTTP without TLS") || !strings.Contains(s, "first record does not look like a TLS handshake") {
		t.Errorf("log: %s", s)
	}
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// Who never begins a handshake, or does not end it, has as long as for a head.
func TestHandshakesAreBounded(t *testing.T) {
	addr, _ := serve(t, ServerConfig{
		TLS: &tls.Config{Certificates: []tls.Certificate{testCertificate()}}, HeadTimeout: 50 * time.Millisecond,
	}, echo)
	for _, begin := range []string{"", "\x16\x03\x01\x02\x00"} {
		c := dial(t, addr)
		c.send(begin)
		if got, err := io.ReadAll(c.br); errors.Is(err, os.ErrDeadlineExceeded) || len(got) > 0 {
			t.Errorf("after %q: %q, %v", begin, got, err)
		}
	}
}

// Over TLS callers agree on HTTP/2 in the handshake, or do not speak it.
func TestAgreedProtocols(t *testing.T) {
	passed := make(chan net.Conn, 1)
	cfg := ServerConfig{
		TLS: &tls.Config{Certificates: []tls.Certificate{testCertificate()}},
		HTTP2: func(c net.Conn) bool {
			passed <- c
			return true
		},
	}
	addr, stop := serve(t, cfg, echo)
	for _, offered := range []string{"", "http/1.0", "http/1.1", "h2"} {
		caller := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the test's own certificate
		if offered != "" {
			caller.NextProtos = []string{offered}
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		nc, err := (&tls.Dialer{Config: caller}).DialContext(ctx, "tcp", addr)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		c := nc.(*tls.Conn)
		if got := c.ConnectionState().NegotiatedProtocol; got != offered {
			t.Errorf("%q became %q", offered, got)
		}
		_, _ = io.WriteString(c, prefaceHead+prefaceRest)
		if offered == "h2" {
			own, ok := (<-passed).(*tls.Conn)
			begin := make([]byte, len(prefaceHead))
			if _, err := io.ReadFull(own, begin); !ok || err != nil || string(begin) != prefaceHead {
				t.Errorf("passed on: %v, %q, %v", ok, begin, err)
			}
			own.Close() // or the server would wait for it
		} else if got, _ := io.ReadAll(c); !strings.HasPrefix(string(got), "HTTP/1.1 505 ") {
			t.Errorf("%q: HTTP/2 without an agreement: %q", offered, got)
		}
		c.Close()
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
