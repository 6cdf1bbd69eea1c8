package gateway

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// maxStreams is the maximum number of concurrent requests on an HTTP/2 connection.
const maxStreams = 250

// passed is a listener for connections of callers who speak HTTP/2. They come from another
// listener, which has read their first bytes or completed the TLS handshake.
type passed struct {
	addr   net.Addr
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPassed(addr net.Addr) *passed {
	return &passed{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{})}
}

var _ net.Listener = (*passed)(nil)

func (p *passed) Addr() net.Addr { return p.addr }

func (p *passed) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *passed) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// take passes a connection on. It returns false if passed is no longer served.
func (p *passed) take(c net.Conn) bool {
	select {
	case p.conns <- c:
		return true
	case <-p.closed:
		return false
	}
}

// runHTTP2 serves passed connections until ctx is done. over is closed when no connections are left.
func (s *Server) runHTTP2(ctx context.Context, p *passed, over <-chan struct{}) error {
	defer func() { _ = p.Close() }()
	work, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	var inside sync.WaitGroup // handlers
	inside.Add(1)
	srv := s.http2(work, &inside)
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(p) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve on %s: %w", p.addr, err)
	case <-ctx.Done():
	}
	if d := time.Duration(s.lastCall.Load()); d > 0 {
		s.leaving.Store(true)
		select {
		case <-time.After(d):
		case <-over:
		}
	}
	drain, cancel := context.WithTimeout(work, s.cfg.DrainTimeout)
	defer cancel()
	err := srv.Shutdown(drain)
	empty := make(chan struct{})
	go func() {
		inside.Done()
		inside.Wait()
		close(empty)
	}()
	select {
	case <-empty:
	case <-drain.Done():
		err = errors.Join(drain.Err(), srv.Close())
		cut()
		<-empty
	}
	if closed := <-failed; !errors.Is(closed, http.ErrServerClosed) && !errors.Is(closed, net.ErrClosed) {
		err = errors.Join(err, closed)
	}
	if err != nil {
		return fmt.Errorf("drain %s: %w", p.addr, err)
	}
	return nil
}

// http2 returns the server for passed connections. inside counts its running handlers.
func (s *Server) http2(work context.Context, inside *sync.WaitGroup) *http.Server {
	take := orDefault(s.cfg.WriteTimeout, time.Minute)
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			inside.Add(1)
			defer inside.Done()
			if s.leaving.Load() || s.old(r) {
				w.Header().Set("Connection", "close") // becomes a GOAWAY
			}
			s.gateway.serveStd(w, r, orDefault(s.cfg.BodyTimeout, 30*time.Second), take)
		}),
		ReadHeaderTimeout: orDefault(s.cfg.HeadTimeout, 10*time.Second),
		IdleTimeout:       orDefault(s.cfg.IdleTimeout, 2*time.Minute),
		MaxHeaderBytes:    s.cfg.MaxHead,
		ConnState:         h1.State,
		Protocols:         new(http.Protocols),
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams, WriteByteTimeout: take},
		BaseContext:       func(net.Listener) context.Context { return work },
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, opened{}, time.Now())
		},
		ErrorLog: log.New(logWriter{s.cfg.Log}, "", 0),
	}
	srv.Protocols.SetHTTP2(true)
	srv.Protocols.SetUnencryptedHTTP2(true)
	srv.MaxHeaderBytes = cmp.Or(srv.MaxHeaderBytes, 64<<10)
	return srv
}

// opened is the key of when a connection was passed on.
type opened struct{}

// old reports whether the request's connection has lived for long enough.
func (s *Server) old(r *http.Request) bool {
	at, ok := r.Context().Value(opened{}).(time.Time)
	return ok && s.cfg.Lifetime > 0 && time.Since(at) >= s.cfg.Lifetime
}

// logWriter passes net/http's lines on to a logger.
type logWriter struct{ log *slog.Logger }

var _ io.Writer = logWriter{}

func (w logWriter) Write(p []byte) (int, error) {
	level := slog.LevelDebug // what callers do wrong
	if bytes.Contains(p, []byte(": panic serving ")) {
		level = slog.LevelError // what we do wrong: net/http goes on
	}
	w.log.Log(context.Background(), level, "net/http", "message", string(p))
	return len(p), nil
}
