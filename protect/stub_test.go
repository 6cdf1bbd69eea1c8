package protect

import (
	"bufio"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/quota"
)

// patience is how long a test waits for what must happen.
const patience = time.Minute

// crlf turns the line ends of a literal into those of HTTP.
func crlf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

// caller is a raw connection to the gateway.
type rawCaller struct {
	t *testing.T
	net.Conn
	br *bufio.Reader
}

func dial(t *testing.T, addr string) *rawCaller {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return &rawCaller{t, c, bufio.NewReader(c)}
}

func (c *rawCaller) send(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c, crlf(s)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *rawCaller) answer(method string) (*http.Response, string) {
	c.t.Helper()
	resp, err := http.ReadResponse(c.br, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("read an answer: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatalf("read a body: %v", err)
	}
	return resp, string(body)
}

// ends waits for the end of the connection and reports whether it was clean.
func (c *rawCaller) ends() (rest string, clean bool) {
	c.t.Helper()
	b, err := io.ReadAll(c.br)
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() {
		c.t.Fatal("the connection does not end")
	}
	return string(b), err == nil
}

// perHour is long enough for no test to see it pass.
func perHour(name string, n int64) quota.Quota {
	return quota.Quota{Name: name, Limit: n, Per: time.Hour}
}

func newLimiter(t testing.TB, quotas ...quota.Quota) *quota.Limiter {
	t.Helper()
	l, err := quota.New(quota.Config{Quotas: quotas})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// ask sends one request and returns what comes back.
func (c *rawCaller) ask(lines ...string) (*http.Response, string) {
	c.t.Helper()
	method, _, _ := strings.Cut(lines[0], " ")
	c.send(strings.Join(append([]string{lines[0] + " HTTP/1.1", "Host: h"}, lines[1:]...), "\n") + "\n\n")
	return c.answer(method)
}

func newPool(t *testing.T, cfg overload.Config) *overload.Pool {
	t.Helper()
	p, err := overload.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		settled(t, func() bool { s := p.Stats(); return s.InFlight == 0 && s.Queued == 0 }) // no place is lost
	})
	return p
}

// newBreaker opens after two failures in a row, for longer than any test.
func newBreaker(t testing.TB) (*circuit.Breaker, *circuit.Circuits) {
	t.Helper()
	all, err := circuit.New(circuit.Config{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := all.Breaker("b", breaker.Config{Consecutive: 2, Open: time.Hour, MaxOpen: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return b, all
}

func stateOf(all *circuit.Circuits) breaker.State { return all.List()[0].State }

// records collects what a gateway notes.
type records struct {
	mu  sync.Mutex
	all []Record
}

func (r *records) note(rec *Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := *rec
	n.Caller = strings.Clone(rec.Caller)
	r.all = append(r.all, n)
}

// last waits for the record of a request with the id.
func (r *records) last(t *testing.T, id string) Record {
	t.Helper()
	late := time.After(patience)
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		r.mu.Lock()
		for _, rec := range r.all {
			if rec.RequestID == id {
				r.mu.Unlock()
				return rec
			}
		}
		r.mu.Unlock()
		select {
		case <-look.C:
		case <-late:
			t.Fatalf("no record of %s", id)
		}
	}
}

// settled waits until ok.
func settled(t *testing.T, ok func() bool) {
	t.Helper()
	late := time.After(patience)
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for !ok() {
		select {
		case <-look.C:
		case <-late:
			t.Fatal("it does not come to rest")
		}
	}
}

// bodiesOfGET are the ends of GETs with a body, on which the answer may depend.
func bodiesOfGET() []string {
	return []string{"Content-Length: 1\n\nq", "Transfer-Encoding: chunked\n\n1\nq\n0\n\n"}
}

// serve serves a handler behind its protection.
func serve(t *testing.T, p Config, h http.HandlerFunc) string {
	t.Helper()
	wrap, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(wrap(h))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}
