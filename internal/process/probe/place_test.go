package probe

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
)

// lines is a log that may be read meanwhile.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A worker by TLS is up when its certificate is trusted, and the log says so when it is
// not. Health checks ask it by the same connection that requests get.
func TestWorkerByTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	defer s.Close()
	trust := x509.NewCertPool()
	trust.AddCert(s.Certificate())
	name := "https://" + s.Listener.Addr().String()
	for _, trusted := range []bool{true, false} {
		reg, log := newRecorder(), new(lines)
		x := keep(t, reg, func(c *Config) {
			c.Workers = []string{name}
			c.tellAfter = time.Millisecond
			c.Log = slog.New(slog.NewTextHandler(log, nil))
			if trusted {
				c.TLS = func(host string) *tls.Config { return &tls.Config{RootCAs: trust, ServerName: host} }
			}
		})
		if !trusted {
			until(t, "the log says why", func() bool { return strings.Contains(log.String(), "signed by unknown authority") })
			continue
		}
		reg.wait(t, "up", 1)
		conn, err := x.Dial(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := conn.(*tls.Conn); !ok {
			t.Errorf("Dial returned a %T", conn)
		}
		conn.Close()
		if h := x.Check(t.Context(), name, reg.epoch(name), fleet.Overdue); h != fleet.Alive {
			t.Errorf("Check of a live worker = %v", h)
		}
	}
}

// A worker that listens on a unix socket is up, is asked there, and a fast restart is
// seen by the socket.
func TestWorkerOnAUnixSocket(t *testing.T) {
	file := filepath.Join(t.TempDir(), "w.sock")
	hosts := make(chan string, 64)
	start := func() *http.Server {
		ln, err := net.Listen("unix", file)
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case hosts <- r.Host:
			default:
			}
			_, _ = io.WriteString(w, "well")
		})}
		go func() { _ = s.Serve(ln) }()
		t.Cleanup(func() { s.Close() })
		return s
	}
	s := start()
	reg := newRecorder()
	name := "unix:" + file
	x := keep(t, reg, func(c *Config) { c.Workers, c.Health.Path = []string{name}, "/healthz" })
	reg.wait(t, "up", 1)
	if got := <-hosts; got != "localhost" {
		t.Errorf("the health check asked for the host %q", got)
	}
	if len(x.workers[name].current().inodes) == 0 {
		t.Error("/proc/net/unix does not show the worker's socket")
	}
	first := reg.epoch(name)
	s.Close()
	start()
	if h := x.Check(t.Context(), name, first, fleet.Broken); h != fleet.Gone {
		t.Errorf("Check after a fast restart = %v, want gone", h)
	}
	reg.wait(t, "up", 2)
	if got := reg.count("down crash"); got != 1 {
		t.Errorf("%d crashes were reported, want 1", got)
	}
	if r := Open(t.Context(), "unix:"+file+"x", time.Second); r.Outcome != Refused {
		t.Errorf("a socket that is not there is %v, want refused", r.Outcome)
	}
}
