package h1

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
)

// ServerConfig bounds what callers may do. Its zero value is useful.
type ServerConfig struct {
	Limits       Limits
	HeadTimeout  time.Duration // from a request's first byte to the end of its head; default 10 s
	BodyTimeout  time.Duration // for the next bytes of a body; default 30 s
	WriteTimeout time.Duration // for a caller to take any bytes of its answer; default 60 s
	IdleTimeout  time.Duration // between two requests; default 120 s
	Lifetime     time.Duration // of a connection: the first answer after that is its last; 0: no limit
	DrainTimeout time.Duration // for requests in flight when Serve is told to stop; default 30 s
	MaxConns     int           // connections at once; see [DefaultConns] for the default
	// LastCall returns, when Serve is told to stop, how long idle connections may still send a request. They end after its
	// answer. nil: not at all.
	LastCall func() time.Duration
	// HTTP2 takes a connection whose caller speaks HTTP/2, and closes it at the end. It returns false if it does not take it.
	// With TLS the connection is a *tls.Conn after its handshake. The handler reports the connection's states to [State].
	// nil: such callers are refused.
	HTTP2 func(net.Conn) bool
	TLS   *tls.Config  // with certificates; nil: no TLS
	Log   *slog.Logger // default: none
}

// Validate reports every invalid field.
func (c ServerConfig) Validate() error {
	var errs faults.List
	for _, f := range []struct {
		name  string
		value time.Duration
	}{
		{"HeadTimeout", c.HeadTimeout},
		{"BodyTimeout", c.BodyTimeout},
		{"WriteTimeout", c.WriteTimeout},
		{"IdleTimeout", c.IdleTimeout},
		{"Lifetime", c.Lifetime},
		{"DrainTimeout", c.DrainTimeout},
	} {
		errs.If(f.value < 0, "%s is %v, want at least 0", f.name, f.value)
	}
	errs.If(c.MaxConns < 0, "MaxConns is %d, want at least 0", c.MaxConns)
	return errors.Join(errs...)
}

func (c ServerConfig) orDefaults() ServerConfig {
	c.Limits = c.Limits.orDefaults()
	for _, f := range []struct {
		value *time.Duration
		deflt time.Duration
	}{
		{&c.HeadTimeout, 10 * time.Second},
		{&c.BodyTimeout, 30 * time.Second},
		{&c.WriteTimeout, time.Minute},
		{&c.IdleTimeout, 2 * time.Minute},
		{&c.DrainTimeout, 30 * time.Second},
	} {
		if *f.value == 0 {
			*f.value = f.deflt
		}
	}
	if c.MaxConns == 0 {
		c.MaxConns = DefaultConns()
	}
	if c.TLS != nil {
		c.TLS = serverTLS(c.TLS, c.HTTP2 != nil)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Server serves HTTP/1.1, and passes HTTP/2 on.
type Server struct {
	cfg     ServerConfig
	handler func(*Exchange)
	bufs    buffers
	clock   atomic.Pointer[stamp]
	heads   Crowd // exchanges about to be handled
	answers Crowd // answers about to be sent
	nexts   Crowd // heads about to be read

	draining atomic.Bool
	closes   atomic.Int64  // Unix nanoseconds when idle connections end, while draining
	slots    chan struct{} // one per open connection

	mu    sync.Mutex // guards conns
	conns map[*Exchange]struct{}
}

// NewServer returns a server that calls handler for every request. The handler answers with Begin, Write and End, or calls
// Abort.
func NewServer(cfg ServerConfig, handler func(*Exchange)) *Server {
	cfg = cfg.orDefaults()
	return &Server{
		cfg:     cfg,
		handler: handler,
		slots:   make(chan struct{}, cfg.MaxConns),
		conns:   make(map[*Exchange]struct{}),
	}
}

// Serve accepts connections until ctx is done. Then it closes ln and, after the last call, idle connections. It lets
// requests in flight finish, and cuts them after DrainTimeout. It returns when every connection is closed. Call it once.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	var wg sync.WaitGroup
	end := sync.OnceFunc(func() {
		if s.cfg.LastCall != nil {
			s.closes.Store(time.Now().Add(s.cfg.LastCall()).UnixNano())
		}
		s.draining.Store(true)
		ln.Close()
	})
	defer context.AfterFunc(ctx, end)()
	err := s.accept(ctx, ln, &wg)
	end()
	cut := s.drain(&wg)
	if ctx.Err() == nil {
		return fmt.Errorf("accept on %s: %w", ln.Addr(), err)
	}
	if cut > 0 {
		return fmt.Errorf("drain %s: %d connections were still busy after %v", ln.Addr(), cut, s.cfg.DrainTimeout)
	}
	return nil
}

func (s *Server) accept(ctx context.Context, ln net.Listener, wg *sync.WaitGroup) error {
	const maxPause = time.Second
	for pause := time.Duration(0); ; {
		nc, err := ln.Accept()
		if err == nil {
			pause = 0
			if err := s.acquire(ctx); err != nil {
				nc.Close()
				return err
			}
			s.start(nc, wg)
			continue
		}
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			return err
		}
		// Probably out of file descriptors: connections must end first.
		s.evictIdle()
		pause = min(max(2*pause, 5*time.Millisecond), maxPause)
		s.cfg.Log.Warn("cannot accept a connection", "address", ln.Addr().String(), "error", err, "pause", pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Server) start(nc net.Conn, wg *sync.WaitGroup) {
	x := &Exchange{srv: s, Remote: hostOf(nc.RemoteAddr())}
	if s.cfg.TLS != nil {
		x.below = newBelow(nc, x)
		nc = tls.Server(x.below, s.cfg.TLS)
	}
	x.open(nc, &s.bufs)
	x.watch = x
	x.last = time.Now()
	x.opened = x.last
	x.mark.Store(x.last.UnixNano())
	s.mu.Lock()
	s.conns[x] = struct{}{}
	s.mu.Unlock()
	wg.Go(func() {
		x.serve()
		s.mu.Lock()
		delete(s.conns, x)
		s.mu.Unlock()
		<-s.slots
	})
}

func hostOf(a net.Addr) string {
	if a == nil {
		return ""
	}
	if t, ok := a.(*net.TCPAddr); ok {
		return t.AddrPort().Addr().Unmap().String()
	}
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return host
}

// drain waits for the connections and returns how many it had to cut.
func (s *Server) drain(wg *sync.WaitGroup) int {
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	s.each(func(x *Exchange) {
		if p := x.phase.Load(); p == phaseIdle || p == phaseShake {
			x.wake()
		}
	})
	select {
	case <-done:
		return 0
	case <-time.After(s.cfg.DrainTimeout):
	}
	cut := 0
	s.each(func(x *Exchange) {
		cut++
		x.sock.cut() // TLS's goodbye would wait for a write
	})
	<-done
	return cut
}

func (s *Server) each(f func(*Exchange)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for x := range s.conns {
		f(x)
	}
}

// stamp is the Date field of one second.
type stamp struct {
	unix int64
	text string
}

// date returns the time for a Date field, formatted once a second. A zero now is now.
func (s *Server) date(now time.Time) string {
	if now.IsZero() {
		now = time.Now()
	}
	if t := s.clock.Load(); t != nil && t.unix == now.Unix() {
		return t.text
	}
	t := &stamp{now.Unix(), now.UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")}
	s.clock.Store(t)
	return t.text
}
