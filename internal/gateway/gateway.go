package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/problem"
)

// Gateway takes requests, has workers answer them, and passes the answers on. Create it with [New]. It is an
// [http.Handler]; a [Server] is faster.
type Gateway struct {
	now    atomic.Pointer[settings] // for new requests
	former former

	own [32]byte // a secret for routes without a Printer

	held    atomic.Int64 // body bytes held for all requests
	spooled atomic.Int64 // answer bytes on disk for all requests
	jobs    sync.Pool    // of *job
	large   sync.Pool    // of *[DefaultBuffer]byte
	reads   sync.Pool    // of *[readSize]byte, for bodies over net/http
}

// New returns a gateway, or every fault of cfg.
func New(cfg Config) (*Gateway, error) {
	g := new(Gateway)
	_, _ = rand.Read(g.own[:]) // never fails
	s, err := newSettings(cfg, g.own)
	if err != nil {
		return nil, err
	}
	g.now.Store(s)
	g.jobs.New = func() any { return &job{g: g} }
	return g, nil
}

// Held returns how many bytes of bodies are held now.
func (g *Gateway) Held() int64 { return g.held.Load() }

// serveExchange answers one request of package h1.
func (g *Gateway) serveExchange(ctx context.Context, x *h1.Exchange) {
	m, ok := x.ConnData.(*connCache)
	if !ok {
		m = new(connCache)
		x.ConnData = m
	}
	g.handle(ctx, x, &x.Req, peer{ip: x.Remote, secure: x.Secure(), cache: m, wire: x})
}

// handle answers one request, on any wire.
func (g *Gateway) handle(ctx context.Context, from caller, req *h1.Request, p peer) {
	j := g.jobs.Get().(*job)
	j.run(ctx, from, req, p)
	j.end()
	g.jobs.Put(j)
}

func (j *job) run(ctx context.Context, from caller, req *h1.Request, p peer) {
	j.begin(ctx, from, req, p)
	for !j.g.use(j.s) {
		j.begin(ctx, from, req, p)
	}
	defer j.s.drop()
	j.open()
	defer j.close() // also when a Doer panics
	defer j.drain() // when nothing else is held for the request
	j.g.answer(j)
}

func (g *Gateway) answer(j *job) {
	if j.status() {
		return
	}
	rt, path, status := j.s.table.choose(j.req.Method, j.req.Host, j.req.Path)
	if rt == nil {
		j.noRoute(status)
		return
	}
	j.route = rt
	j.takePath(path)
	if j.refuseNames() {
		return
	}
	if rt.HalfClose {
		j.from.KeepHalfClosed()
	}
	if rt.MaxBody > 0 && j.req.Length > rt.MaxBody {
		j.tooLarge()
		return
	}
	if rt.policy != nil {
		defer j.releaseAdmission()
		if !j.admit(j.lately()) {
			return
		}
	}
	if rt.Redirect != nil {
		j.redirect()
		return
	}
	if rt.Enqueue != nil {
		if err := j.gather(); err != nil {
			j.badUpload(err)
			return
		}
		j.enqueue()
		return
	}
	j.bufferAnswer()
	if err := j.prepare(); errors.Is(err, errAnswered) {
		return
	} else if err != nil {
		j.badUpload(err)
		return
	}
	j.conclude(j.do())
}

// errAnswered says that the request has been answered.
var errAnswered = errors.New("it has been answered")

// noRoute answers a request that no route matches.
func (j *job) noRoute(status int) {
	p := problem.Document{Status: status, Type: "no-route", Detail: "No route matches this host and path."}
	var extra []h1.Field
	switch status {
	case http.StatusBadRequest:
		p.Type, p.Detail = "ambiguous", "Servers can read the path in more than one way, so it could belong to another route."
	case http.StatusMethodNotAllowed:
		p.Type, p.Detail = "method", "The route does not allow this method."
		extra = []h1.Field{{Name: "Allow", Value: j.s.table.methods(j.req.Host, j.req.Path)}}
	}
	j.problem(p, extra...)
}
