package gateway

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// ServerConfig says where and how a gateway is served, over HTTP/1.1 and HTTP/2. Its zero value listens on a free port of
// the loopback interface. Without TLS, callers may speak HTTP/2 from the first byte (h2c with prior knowledge), as gRPC
// does.
type ServerConfig struct {
	Listen string                                  // host:port; default 127.0.0.1:0
	On     func(addr string) (net.Listener, error) // makes the listener; default: net.Listen over TCP
	TLS    *tls.Config                             // with certificates: serves both protocols over TLS; nil: no TLS

	MaxHead      int           // bytes of a request's head; default and at most 65,536
	HeadTimeout  time.Duration // for a head to arrive; default 10 s
	BodyTimeout  time.Duration // for the next bytes of a body; default 30 s
	WriteTimeout time.Duration // for a caller to take any bytes of its answer; default 60 s
	IdleTimeout  time.Duration // between requests; default 120 s
	Lifetime     time.Duration // of a connection: the first answer after that is its last; 0: no limit
	DrainTimeout time.Duration // for requests in flight when Run is told to stop; default 30 s
	MaxConns     int           // connections at once; default 16,384, but at most half of the files that the process may open

	Log *slog.Logger // default: none
}

// Validate reports every invalid field.
func (c ServerConfig) Validate() error {
	var errs faults.List
	if c.Listen != "" {
		if _, _, err := net.SplitHostPort(c.Listen); err != nil {
			errs = append(errs, fmt.Errorf("Listen is %q, want host:port", c.Listen))
		}
	}
	errs.If(c.MaxHead < 0 || c.MaxHead > 64<<10, "MaxHead is %d, want at most 65,536", c.MaxHead)
	return errors.Join(append(errs, c.plain().Validate())...)
}

func (c ServerConfig) plain() h1.ServerConfig {
	return h1.ServerConfig{
		Limits:      h1.Limits{Head: c.MaxHead},
		HeadTimeout: c.HeadTimeout, BodyTimeout: c.BodyTimeout, WriteTimeout: c.WriteTimeout,
		IdleTimeout: c.IdleTimeout, Lifetime: c.Lifetime, DrainTimeout: c.DrainTimeout, MaxConns: c.MaxConns, TLS: c.TLS, Log: c.Log,
	}
}

// Server is one listener of a gateway. Create it with [NewServer].
type Server struct {
	gateway  *Gateway
	cfg      ServerConfig
	ln       net.Listener
	leaving  atomic.Bool  // connections end after their next answer
	lastCall atomic.Int64 // a time.Duration
}

// NewServer opens the listener. The caller must call Run or Close.
func NewServer(g *Gateway, cfg ServerConfig) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("gateway server: %w", err)
	}
	cfg.Listen = cmp.Or(cfg.Listen, "127.0.0.1:0")
	cfg.DrainTimeout = cmp.Or(cfg.DrainTimeout, 30*time.Second)
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	if cfg.On == nil {
		cfg.On = func(addr string) (net.Listener, error) { return net.Listen("tcp", addr) }
	}
	ln, err := cfg.On(cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("gateway server: %w", err)
	}
	return &Server{gateway: g, cfg: cfg, ln: ln}, nil
}

func (s *Server) Addr() net.Addr { return s.ln.Addr() }

// Close closes the listener of a server that will not run.
func (s *Server) Close() error { return s.ln.Close() }

// Leave makes each connection end with its next answer, so that callers come back elsewhere before Run is told to stop. New
// connections are still served.
func (s *Server) Leave() { s.leaving.Store(true) }

// LastCall keeps idle connections open for d after Run is told to stop. A request that comes on one of them in this time is
// answered. It is for listeners that another process keeps open: new connections wait there, so nobody is refused.
func (s *Server) LastCall(d time.Duration) { s.lastCall.Store(int64(d)) }

// Run serves until ctx is done. Then it stops accepting, closes idle connections, and waits for requests in flight, for at
// most DrainTimeout. It returns nil if everything could finish. Call it once.
func (s *Server) Run(ctx context.Context) error {
	// Work in flight outlives the order to stop, but not the time to drain: it
	// may be waiting for a worker, where nothing that happens to the connection
	// ends it.
	work, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(s.cfg.DrainTimeout):
			cut()
		case <-work.Done():
		}
	})
	defer stop()
	http2 := newPassed(s.ln.Addr())
	cfg := s.cfg.plain()
	cfg.LastCall = func() time.Duration { return time.Duration(s.lastCall.Load()) }
	cfg.HTTP2 = http2.take
	srv := h1.NewServer(cfg, func(x *h1.Exchange) {
		if s.leaving.Load() {
			x.Close()
		}
		s.gateway.serveExchange(work, x)
	})
	serving, end := context.WithCancel(ctx)
	over, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- s.runHTTP2(serving, http2, over) }()
	err := srv.Serve(ctx, s.ln)
	close(over)
	end()
	err = cmp.Or(err, <-ended)
	if err == nil && work.Err() != nil {
		err = fmt.Errorf("drain %s: work was still waiting after %v", s.ln.Addr(), s.cfg.DrainTimeout)
	}
	return err
}
