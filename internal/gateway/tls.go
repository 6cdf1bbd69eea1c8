package gateway

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/connlimit"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// maxStreams bounds the requests at once on an HTTP/2 connection.
const maxStreams = 250

// runTLS is Run with TLS.
func (s *Server) runTLS(ctx context.Context) error {
	limiter := connlimit.New(s.ln, cmp.Or(s.cfg.MaxConns, h1.DefaultConns()))
	return s.runStd(ctx, stdRun{
		ln: limiter, tls: s.cfg.TLS.Clone(), state: limiter.State,
		lastCall: func(d time.Duration) {
			_ = limiter.Close() // Shutdown would not wait for idle connections
			limiter.LastCall(d)
		},
	})
}

// stdRun is a listener that net/http serves.
type stdRun struct {
	ln       net.Listener
	tls      *tls.Config // nil: only HTTP/2 without TLS
	state    func(net.Conn, http.ConnState)
	lastCall func(d time.Duration) // waits, for at most d, until no connections are left
}

// runStd is Run over net/http.
func (s *Server) runStd(ctx context.Context, run stdRun) error {
	work, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	var inside sync.WaitGroup // counts handlers; net/http forgets those of tunnels
	inside.Add(1)
	srv := s.std(work, run, &inside)
	failed := make(chan error, 1)
	go func() { failed <- run.serve(srv) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve on %s: %w", s.ln.Addr(), err)
	case <-ctx.Done():
	}
	if d := time.Duration(s.lastCall.Load()); d > 0 {
		s.leaving.Store(true)
		run.lastCall(d)
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

func (r stdRun) serve(srv *http.Server) error {
	if r.tls != nil {
		return srv.ServeTLS(r.ln, "", "")
	}
	return srv.Serve(r.ln)
}

// std returns the server. inside counts its handlers. Both uses have the same bounds.
func (s *Server) std(work context.Context, run stdRun, inside *sync.WaitGroup) *http.Server {
	take := orDefault(s.cfg.WriteTimeout, time.Minute)
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			inside.Add(1)
			defer inside.Done()
			if s.leaving.Load() || s.old(r) {
				w.Header().Set("Connection", "close") // HTTP/2 says GOAWAY instead
			}
			body := orDefault(s.cfg.BodyTimeout, 30*time.Second)
			if r.ProtoMajor > 1 { // such connections have a goroutine that writes for all requests
				s.gateway.serveStd(w, r, body, take)
				return
			}
			who := uint8(rand.Uint32())
			s.gateway.heads.Pass(time.Now(), who)
			s.gateway.serveStd(w, r, body, take)
			s.gateway.answers.Pass(time.Now(), who)
		}),
		TLSConfig:         run.tls,
		ReadHeaderTimeout: orDefault(s.cfg.HeadTimeout, 10*time.Second),
		IdleTimeout:       orDefault(s.cfg.IdleTimeout, 2*time.Minute),
		MaxHeaderBytes:    s.cfg.MaxHead,
		ConnState:         run.state,
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
	if run.tls == nil {
		srv.Protocols = new(http.Protocols)
		srv.Protocols.SetUnencryptedHTTP2(true)
	}
	return srv
}

// opened is the context key of the time when a connection was accepted.
type opened struct{}

// old reports whether the request's connection has exceeded its lifetime.
func (s *Server) old(r *http.Request) bool {
	at, ok := r.Context().Value(opened{}).(time.Time)
	return ok && s.cfg.Lifetime > 0 && time.Since(at) >= s.cfg.Lifetime
}

// logWriter passes net/http's log lines to a logger.
type logWriter struct{ log *slog.Logger }

var _ io.Writer = logWriter{}

func (w logWriter) Write(p []byte) (int, error) {
	level := slog.LevelDebug // mistakes of callers
	if bytes.Contains(p, []byte(": panic serving ")) {
		level = slog.LevelError // our mistakes: net/http goes on
	}
	w.log.Log(context.Background(), level, "net/http", "message", string(p))
	return len(p), nil
}
