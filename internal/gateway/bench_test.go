package gateway

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/gateway/accesslog"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/stale"
	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/quota"
)

// benchRequest is a request as browsers send them.
const benchRequest = "GET /search?q=stone HTTP/1.1\nHost: shop.example\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101\n" +
	"Accept: text/html,application/xhtml+xml,application/xml;q=0.9\nAccept-Language: en-US,en;q=0.5\nAccept-Encoding: gzip, deflate\n" +
	"Cookie: a=0123456789; b=0123456789\nConnection: keep-alive\n\n"

// sink is a caller that takes everything.
type sink struct{ recorder }

func (s *sink) Begin(*h1.Head) error { s.began = true; return nil }
func (s *sink) Write([]byte) error   { return nil }

// BenchmarkJob is a request's way through the gateway up to the worker's
// connection: route, body, fingerprint, head for the worker.
func BenchmarkJob(b *testing.B) {
	done := doFunc(func(context.Context, dispatch.Work, dispatch.Job) dispatch.Answer {
		return dispatch.Answer{Kind: dispatch.Answered}
	})
	for name, text := range map[string]string{
		"GET":       benchRequest,
		"POST-1KiB": strings.Replace(benchRequest, "GET", "POST", 1),
	} {
		b.Run(name, func(b *testing.B) {
			g := newGateway(b, Config{Routes: []Route{{Path: "/*", Doer: done, Printer: newPrinter(b), Client: "ip"}}})
			req := new(h1.Request)
			if err := req.Parse(crlf(text), h1.Limits{}); err != nil {
				b.Fatal(err)
			}
			req.Fields = append(req.Fields, h1.Field{Name: "X-Request-Id", Value: "r1", Key: h1.RequestID})
			from := &sink{}
			if name != "GET" {
				req.Length = 1024
				from.body = []byte(strings.Repeat("x", 1024))
			}
			p := peer{ip: "192.0.2.1", cache: new(connCache)}
			b.ReportAllocs()
			for b.Loop() {
				from.read = false
				g.handle(b.Context(), from, req, p)
			}
		})
	}
}

// BenchmarkAdmit is BenchmarkJob's GET with nothing asked of it, and with
// everything: two quotas, a plan, overrides, a breaker, a pool and a cache of
// copies, for a caller with an API key and a token.
func BenchmarkAdmit(b *testing.B) {
	done := doFunc(func(context.Context, dispatch.Work, dispatch.Job) dispatch.Answer {
		return dispatch.Answer{Kind: dispatch.Answered, Result: dispatch.Result{Status: 200}}
	})
	pool, err := overload.New(overload.Config{PerCaller: 100})
	if err != nil {
		b.Fatal(err)
	}
	circuits, err := circuit.New(circuit.Config{})
	if err != nil {
		b.Fatal(err)
	}
	br, err := circuits.Breaker("b", breaker.Config{})
	if err != nil {
		b.Fatal(err)
	}
	wide := quota.Quota{Limit: 1 << 40, Per: time.Hour}
	first, second, third := wide, wide, wide
	first.Name, second.Name, third.Name = "first", "second", "third"
	cfg := Config{
		Limiter:   newLimiter(b, first, second, third),
		Overrides: func(string, string, string) admission.Override { return admission.Override{} },
		Observe:   func(*accesslog.Record) {},
	}
	plain := Route{Path: "/*", Doer: done, Printer: newPrinter(b), Client: "header:X-Api-Key"}
	full := plain
	full.Limits = []admission.Limit{{Key: "client"}, {Quota: 1, Key: "jwt:sub+ip"}}
	full.Plans = []admission.Plan{{Name: "gold", Callers: func(c string) bool { return c == "k" }, Limits: []admission.Limit{{Quota: 2, Key: "client+route"}}}}
	full.Breaker, full.Pool, full.Slow = br, pool, time.Second
	full.Stale, full.Fallback = stale.New(stale.Config{}), []Fallback{{Stale: &admission.Stale{}}}
	for name, c := range map[string]Config{
		"nothing":    {Routes: []Route{plain}},
		"everything": {Routes: []Route{full}, Limiter: cfg.Limiter, Overrides: cfg.Overrides, Observe: cfg.Observe},
	} {
		b.Run(name, func(b *testing.B) {
			g := newGateway(b, c)
			req := new(h1.Request)
			if err := req.Parse(crlf(strings.Replace(benchRequest, "\n\n", "\nX-Request-Id: r1\nX-Api-Key: k\n"+bearerToken(`{"sub":"alice","iat":1700000000,"scope":"read"}`)+"\n\n", 1)), h1.Limits{}); err != nil {
				b.Fatal(err)
			}
			p := peer{ip: "192.0.2.1", cache: new(connCache)}
			from := &sink{}
			b.ReportAllocs()
			for b.Loop() {
				g.handle(b.Context(), from, req, p)
			}
		})
	}
}

// BenchmarkRefuse is a request over its quota, answered.
func BenchmarkRefuse(b *testing.B) {
	once := doFunc(func(context.Context, dispatch.Work, dispatch.Job) dispatch.Answer { return dispatch.Answer{} })
	g := newGateway(b, Config{
		Routes:  []Route{{Doer: once, Printer: newPrinter(b), Limits: []admission.Limit{{Key: "ip"}}}},
		Limiter: newLimiter(b, quota.Quota{Name: "q", Limit: 1, Per: 24 * time.Hour}),
	})
	req := new(h1.Request)
	if err := req.Parse(crlf(benchRequest), h1.Limits{}); err != nil {
		b.Fatal(err)
	}
	p := peer{ip: "192.0.2.1", cache: new(connCache)}
	from := &sink{}
	b.ReportAllocs()
	for b.Loop() {
		g.handle(b.Context(), from, req, p)
	}
}

// BenchmarkObserved is BenchmarkJob's GET with everything on that looks at
// requests, and with a deadline and a trace of the caller's.
func BenchmarkObserved(b *testing.B) {
	done := doFunc(func(context.Context, dispatch.Work, dispatch.Job) dispatch.Answer {
		return dispatch.Answer{Kind: dispatch.Answered}
	})
	log, err := accesslog.New(accesslog.Config{Log: slog.New(slog.DiscardHandler), Every: -1})
	if err != nil {
		b.Fatal(err)
	}
	g := newGateway(b, Config{Observe: log.Observe, Routes: []Route{{Path: "/*", Doer: done, Printer: newPrinter(b), Client: "ip"}}})
	req := new(h1.Request)
	text := strings.Replace(benchRequest, "\n\n", "\nX-Request-Timeout: 10s\nTraceparent: "+someTrace+"\nX-Request-Id: r1\n\n", 1)
	if err := req.Parse(crlf(text), h1.Limits{}); err != nil {
		b.Fatal(err)
	}
	from, p := &sink{}, peer{ip: "192.0.2.1", cache: new(connCache)}
	b.ReportAllocs()
	for b.Loop() {
		g.handle(b.Context(), from, req, p)
	}
}

// BenchmarkSend is one exchange with a worker on loopback, both sides of it in
// this process.
func BenchmarkSend(b *testing.B) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				buf, answer := make([]byte, 4096), []byte(crlf(hello))
				for {
					if _, err := nc.Read(buf); err != nil {
						nc.Close()
						return
					}
					if _, err := nc.Write(answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	defer ln.Close()
	f, err := fleet.New(fleet.Config{Name: "bench", Connect: Upstream{}.Connect})
	if err != nil {
		b.Fatal(err)
	}
	epoch := f.Up("w", ln.Addr().String())
	defer f.Down("w", epoch, fleet.End{Planned: true})
	w := f.TryAcquire(fleet.Want{})
	send := doFunc(func(ctx context.Context, _ dispatch.Work, j dispatch.Job) dispatch.Answer {
		t := dispatch.Target{Worker: w}
		if err := j.Connect(ctx, &t); err != nil {
			b.Fatal(err)
		}
		r := j.Send(ctx, &t)
		if r.Fault != dispatch.NoFault {
			b.Fatal(r.Err)
		}
		return dispatch.Answer{Kind: dispatch.Answered, Result: r}
	})
	g := newGateway(b, Config{Routes: []Route{{Doer: send, Printer: newPrinter(b)}}})
	req := new(h1.Request)
	if err := req.Parse(crlf(benchRequest), h1.Limits{}); err != nil {
		b.Fatal(err)
	}
	from := &sink{}
	b.ReportAllocs()
	for b.Loop() {
		from.began = false
		g.handle(b.Context(), from, req, peer{ip: "192.0.2.1"})
	}
}
