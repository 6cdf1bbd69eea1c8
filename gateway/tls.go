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

	"github.com/bezoar-dev/bezoar/internal/connlimit"
	"github.com/bezoar-dev/bezoar/internal/h1"
)

// maxStreams is how many requests an HTTP/2 connection has at once.
const maxStreams = 250

// runTLS is Run over net/http.
func (s *Server) runTLS(ctx context.Context) error {
	work, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	take := orDefault(s.cfg.WriteTimeout, time.Minute)
	limiter := connlimit.New(s.ln, cmp.Or(s.cfg.MaxConns, h1.DefaultConns()))
	var inside sync.WaitGroup // handlers; net/http forgets those of tunnels
	inside.Add(1)
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			inside.Add(1)
			defer inside.Done()
			if s.leaving.Load() || s.old(r) {
				w.Header().Set("Connection", "close") // HTTP/2 says GOAWAY instead
			}
			s.gateway.serveStd(w, r, orDefault(s.cfg.BodyTimeout, 30*time.Second), take)
		}),
		TLSConfig:         s.cfg.TLS.Clone(),
		ReadHeaderTimeout: orDefault(s.cfg.HeadTimeout, 10*time.Second),
		IdleTimeout:       orDefault(s.cfg.IdleTimeout, 2*time.Minute),
		MaxHeaderBytes:    s.cfg.MaxHead,
		ConnState:         limiter.State,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams, WriteByteTimeout: take},
		BaseContext:       func(net.Listener) context.Context { return work },
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, opened{}, time.Now())
		},
		ErrorLog: log.New(logWriter{s.cfg.Log}, "", 0),
	}
	if srv.MaxHeaderBytes == 0 {
		srv.MaxHeaderBytes = 64 << 10
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.ServeTLS(limiter, "", "") }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve TLS on %s: %w", s.ln.Addr(), err)
	case <-ctx.Done():
	}
	if d := time.Duration(s.lastCall.Load()); d > 0 {
		s.leaving.Store(true)
		_ = limiter.Close() // Shutdown would not wait for those that are idle
		limiter.LastCall(d)
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
		return fmt.Errorf("drain %s: %w", s.ln.Addr(), err)
	}
	return nil
}

// opened is the key of when a connection was accepted.
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
