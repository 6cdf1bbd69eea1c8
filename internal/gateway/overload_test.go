package gateway

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/accesslog"
	"github.com/bezoar-dev/bezoar/internal/gateway/problem"
	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/policy/shed"
)

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

// held is a worker whose answers wait to be let go.
type held struct {
	came chan bool
	go_  chan bool
}

func startHeld(t *testing.T) (*held, *direct) {
	h := &held{came: make(chan bool, 100), go_: make(chan bool)}
	d := newDirect(t, startWorker(t, func(c *workerConn) {
		for {
			if r, _ := c.request(); r == nil {
				return
			}
			h.came <- true
			<-h.go_
			c.send(hello)
		}
	}).addr)
	t.Cleanup(func() { close(h.go_) })
	return h, d
}

// let lets one answer go.
func (h *held) let(t *testing.T) {
	t.Helper()
	select {
	case h.go_ <- true:
	case <-time.After(patience):
		t.Fatal("no answer is held")
	}
}

// records collects what a gateway notes.
type records struct {
	mu  sync.Mutex
	all []accesslog.Record
}

func (r *records) note(rec *accesslog.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := *rec
	n.Caller = strings.Clone(rec.Caller)
	r.all = append(r.all, n)
}

// last waits for the record of a request with the id.
func (r *records) last(t *testing.T, id string) accesslog.Record {
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

// TestPoolRefuses: what does not fit is refused before its body, with the rule and
// the numbers, and by priority.
func TestPoolRefuses(t *testing.T) {
	h, d := startHeld(t)
	var recs records
	pool := newPool(t, overload.Config{Limit: shed.Config{Fixed: 1}, Queue: overload.Off})
	f := serve(t, Route{
		Doer: d, Pool: pool, Client: "header:X-Api-Key", Priority: admission.PriorityRule{Default: shed.Sheddable, Header: "X-Priority"},
	}, Config{Observe: recs.note}, ServerConfig{})
	first := dial(t, f.addr)
	first.send("GET / HTTP/1.1\nHost: h\n\n")
	<-h.came
	c := dial(t, f.addr)
	for _, tc := range []struct{ header, want string }{
		{"X-Priority: critical-plus", "critical-plus"},
		{"X-Priority: nonsense", "sheddable"},
		{"X: y", "sheddable"},
		{"X-Priority: critical\nX-Priority: critical-plus", "sheddable"},
	} {
		resp, body := c.ask("POST /", "X-Api-Key: k", "X-Request-Id: "+tc.want, "Content-Length: 0", tc.header)
		g := decode(t, body)
		if resp.StatusCode != 503 || resp.Close || resp.Header.Get("Retry-After") == "" || g.Type != problem.Prefix+"overloaded" ||
			g.Rule != "concurrency" || g.Limit != 1 || *g.InFlight != 1 || *g.Queued != 0 || g.Priority != tc.want || g.RetryAfter <= 0 || g.Reason == "" {
			t.Errorf("%s: %d %v %s", tc.header, resp.StatusCode, resp.Header, body)
		}
		if rec := recs.last(t, tc.want); rec.Rule != "concurrency" || rec.Caller != "k" || rec.Status != 503 || rec.Attempts != 0 {
			t.Errorf("record %+v", rec)
		}
	}
	h.let(t)
	if resp, _ := first.answer("GET"); resp.StatusCode != 200 {
		t.Errorf("status %d", resp.StatusCode)
	}
	settled(t, func() bool { return pool.Stats().InFlight == 0 })
	c.send("GET / HTTP/1.1\nHost: h\n\n")
	h.let(t)
	if resp, _ := c.answer("GET"); resp.StatusCode != 200 {
		t.Errorf("afterwards: status %d", resp.StatusCode)
	}
}

// TestPoolPerCaller: one caller's work is bounded, others' is not touched; and
// an operator may bound it further.
func TestPoolPerCaller(t *testing.T) {
	h, d := startHeld(t)
	pool := newPool(t, overload.Config{Limit: shed.Config{Fixed: 10}, PerCaller: 2})
	f := serve(t, Route{Doer: d, Pool: pool, Client: "header:X-Api-Key"}, Config{
		Overrides: func(_, caller, _ string) admission.Override {
			if caller == "tight" {
				return admission.Override{Concurrency: 0.5}
			}
			return admission.Override{}
		},
	}, ServerConfig{})
	started := 0
	for _, key := range []string{"a", "a", "b", "tight"} {
		c := dial(t, f.addr)
		c.send("GET / HTTP/1.1\nHost: h\nX-Api-Key: " + key + "\n\n")
		<-h.came
		started++
	}
	for key, limit := range map[string]int64{"a": 2, "tight": 1} {
		resp, body := dial(t, f.addr).ask("GET /", "X-Api-Key: "+key)
		if g := decode(t, body); resp.StatusCode != 503 || g.Rule != "per_caller" || g.Limit != limit || int64(*g.InFlight) != limit {
			t.Errorf("%s: %d %s", key, resp.StatusCode, body)
		}
	}
	for range started {
		h.let(t)
	}
	settled(t, func() bool { return pool.Stats().InFlight == 0 })
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

// TestPoolGetsEveryPlaceBack: however a request ends, its place is free again.
func TestPoolGetsEveryPlaceBack(t *testing.T) {
	w := startWorker(t, func(c *workerConn) {
		for {
			r, _ := c.request()
			if r == nil {
				return
			}
			switch r.URL.Path {
			case "/reset":
				c.reset()
				return
			case "/cut":
				c.send("HTTP/1.1 200 OK\nContent-Length: 10\n\nhal")
				return
			case "/junk":
				c.send("junk\n\n")
				return
			}
			c.send(hello)
		}
	})
	d := newDirect(t, w.addr)
	pool := newPool(t, overload.Config{Limit: shed.Config{Fixed: 1}, Queue: overload.Off})
	b, all := newBreaker(t)
	panics := doFunc(func(ctx context.Context, work dispatch.Work, j dispatch.Job) dispatch.Answer {
		if work.Route == "/panic" {
			panic("a Doer")
		}
		return d.Do(ctx, work, j)
	})
	r := Route{Doer: panics, Printer: newPrinter(t), Pool: pool, MaxBody: 10}
	withBreaker := r
	withBreaker.Path, withBreaker.Breaker = "/ok", b
	boom := r
	boom.Path, boom.Breaker = "/panic", b
	f := serveConfig(t, Config{Routes: []Route{r, withBreaker, boom}}, ServerConfig{})
	for _, raw := range []string{
		"GET / HTTP/1.1\nHost: h\n\n",
		"GET /ok HTTP/1.1\nHost: h\n\n",
		"GET /reset HTTP/1.1\nHost: h\n\n",
		"GET /cut HTTP/1.1\nHost: h\n\n",
		"GET /junk HTTP/1.1\nHost: h\n\n",
		"GET /panic HTTP/1.1\nHost: h\n\n",
		"POST / HTTP/1.1\nHost: h\nContent-Length: 11\n\n",
		"POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\nz\n",
		"POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n14\n" + strings.Repeat("x", 20) + "\n0\n\n",
	} {
		c := dial(t, f.addr)
		c.send(raw)
		_ = c.Conn.(interface{ CloseWrite() error }).CloseWrite()
		if _, err := c.br.ReadByte(); err != nil && !strings.Contains(raw, "/panic") {
			t.Errorf("%.30q: no answer: %v", raw, err)
		}
		c.Close()
		settled(t, func() bool { return pool.Stats().InFlight == 0 })
	}
	settled(t, func() bool { return all.List()[0].Counts.Calls >= 2 })
	if s := all.List()[0]; s.Counts.Calls != 2 || s.Counts.Failed != 1 {
		t.Errorf("the breaker has seen %+v, want one good call and one that panicked", s.Counts)
	}
}

// TestOutcomes: what counts as the fleet's failure, and what is no sign of it.
func TestOutcomes(t *testing.T) {
	for _, tc := range []struct {
		name string
		a    dispatch.Answer
		want admission.Outcome
	}{
		{"good", dispatch.Answer{Kind: dispatch.Answered, Result: dispatch.Result{Status: 200}}, admission.Outcome{}},
		{"the caller's fault", dispatch.Answer{Kind: dispatch.Answered, Result: dispatch.Result{Status: 404}}, admission.Outcome{}},
		{"a worker's own limit", dispatch.Answer{Kind: dispatch.Answered, Result: dispatch.Result{Status: 429}}, admission.Outcome{Dropped: true}},
		{"an error", dispatch.Answer{Kind: dispatch.Answered, Result: dispatch.Result{Status: 500}}, admission.Outcome{Failed: true}},
		{"busy", dispatch.Answer{Kind: dispatch.Answered, Result: dispatch.Result{Status: 503}}, admission.Outcome{Failed: true, Dropped: true}},
		{"well after a retry", dispatch.Answer{Kind: dispatch.Answered, Attempts: 2, Result: dispatch.Result{Status: 200}}, admission.Outcome{}},
		{"overdue", dispatch.Answer{Kind: dispatch.TimedOut}, admission.Outcome{Failed: true, Dropped: true}},
		{"broken", dispatch.Answer{Kind: dispatch.Failed}, admission.Outcome{Failed: true}},
		{"cut", dispatch.Answer{Kind: dispatch.Cut}, admission.Outcome{Failed: true}},
		{"poison", dispatch.Answer{Kind: dispatch.Refused, Crashed: true}, admission.Outcome{Ignored: true}},
		{"nobody there", dispatch.Answer{Kind: dispatch.Unavailable}, admission.Outcome{Ignored: true}},
		{"the caller left", dispatch.Answer{Kind: dispatch.Aborted}, admission.Outcome{Ignored: true}},
	} {
		if got := outcomeOf(tc.a); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

// TestNobodyIsWorkedForInVain: what cannot be done in its caller's time is
// refused, and a caller who gave up in the queue costs no worker.
func TestNobodyIsWorkedForInVain(t *testing.T) {
	h, d := startHeld(t)
	recs := new(records)
	pool := newPool(t, overload.Config{Limit: shed.Config{Fixed: 1}, Wait: patience})
	f := serve(t, Route{Doer: d, Pool: pool}, Config{Observe: recs.note}, ServerConfig{})
	first := dial(t, f.addr)
	first.send("GET / HTTP/1.1\nHost: h\n\n")
	<-h.came
	resp, body := dial(t, f.addr).ask("POST /", "Content-Length: 0", "X-Request-Timeout: 30ms")
	if g := decode(t, body); resp.StatusCode != 503 || g.Rule != overload.RuleDeadline {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	left := dial(t, f.addr)
	left.send("GET / HTTP/1.1\nHost: h\nX-Request-Id: left\n\n")
	settled(t, func() bool { return pool.Stats().Queued == 1 })
	left.Close()
	h.let(t)
	if resp, _ := first.answer("GET"); resp.StatusCode != 200 {
		t.Errorf("status %d", resp.StatusCode)
	}
	if rec := recs.last(t, "left"); rec.Attempts != 0 || rec.Waited <= 0 {
		t.Errorf("%+v", rec)
	}
	if n := d.sends.Load(); n != 1 {
		t.Errorf("%d deliveries", n)
	}
}
