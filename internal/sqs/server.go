package sqs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	headPatience = 10 * time.Second
	idlePatience = 10 * time.Minute // SDKs that close first tell us more
	grace        = 10 * time.Second
	maxHead      = 32 << 10
)

// Server answers on a listener of its own.
type Server struct {
	cfg     Config
	handler *Handler
	silent  sync.Map // of net.Conn: those whose first request is not read yet
}

// NewServer returns a server that Run runs.
func NewServer(c Config) (*Server, error) {
	h, err := New(c)
	if err != nil {
		return nil, err
	}
	return &Server{cfg: c.withDefaults(), handler: h}, nil
}

// Handler returns what answers.
func (s *Server) Handler() *Handler { return s.handler }

// Leave has each connection end with its next answer, so that clients come back
// elsewhere, before Serve is told to stop. New connections are still served.
func (s *Server) Leave() { s.handler.leaving.Store(true) }

// Run listens on Config.Address and answers until ctx is over: see Serve.
func (s *Server) Run(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.cfg.Address)
	if err != nil {
		return fmt.Errorf("listen for SQS calls: %w", err)
	}
	return s.Serve(ctx, l)
}

// Serve answers on l, which it closes, until ctx is over. Then it stops
// accepting, ends waiting receives at once, gives what has been asked up to ten
// seconds, and returns nil. It may be called once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: headPatience,
		IdleTimeout:       idlePatience,
		MaxHeaderBytes:    maxHead,
		ErrorLog:          slog.NewLogLogger(s.handler.log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, peerKey{}, c.(*limited).peer)
		},
		ConnState: s.state,
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(&limit{Listener: l, free: make(chan struct{}, s.cfg.MaxConnections)}) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve SQS calls on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	s.handler.Drain()
	s.silent.Range(func(c, _ any) bool {
		if p := c.(*limited).peer; !p.asked.Load() && !asks(p.conn) {
			_ = c.(net.Conn).Close() // or Shutdown would give it five seconds
		}
		return true
	})
	over, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if srv.Shutdown(over) != nil {
		_ = srv.Close() // calls that would not finish
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve SQS calls on %s: %w", l.Addr(), err)
	}
	return nil
}

// peer is who is at the other end of a connection.
type peer struct {
	conn      net.Conn
	asked     atomic.Bool  // it has sent something
	received  atomic.Bool  // messages were given to it
	announced atomic.Bool  // it said, or we decided, that the connection ends
	idleSince atomic.Int64 // Unix nanoseconds
}

type peerKey struct{}

// left reports whether the other end of a connection is closed.
func left(ctx context.Context) bool {
	p, ok := ctx.Value(peerKey{}).(*peer)
	return ok && gone(p.conn)
}

// received notes that messages have gone to the other end.
func received(ctx context.Context) {
	if p, ok := ctx.Value(peerKey{}).(*peer); ok {
		p.received.Store(true)
	}
}

// announce notes that a connection's end will mean nothing.
func announce(ctx context.Context) {
	if p, ok := ctx.Value(peerKey{}).(*peer); ok {
		p.announced.Store(true)
	}
}

// oneShot reports whether a program makes one call and ends.
func oneShot(agent string) bool {
	return strings.HasPrefix(agent, "aws-cli/") || strings.HasPrefix(agent, "curl/") || strings.HasPrefix(agent, "Wget/")
}

// state notices connections that end. It is evidence of a death, not proof:
// clients also drop connections that they do not need.
func (s *Server) state(c net.Conn, state http.ConnState) {
	p := c.(*limited).peer
	if state == http.StateNew {
		s.silent.Store(c, nil)
	} else {
		s.silent.Delete(c)
	}
	switch state {
	case http.StateIdle:
		p.idleSince.Store(time.Now().UnixNano())
	case http.StateActive:
		p.idleSince.Store(0)
	case http.StateClosed:
		since := p.idleSince.Load()
		ours := since != 0 && time.Since(time.Unix(0, since)) >= idlePatience || s.handler.drain.Err() != nil
		if p.received.Load() && !p.announced.Load() && !ours && s.cfg.Vanished != nil {
			s.cfg.Vanished(c.RemoteAddr().String())
		}
	case http.StateNew, http.StateHijacked:
	}
}

// limit accepts no more connections than there is room for.
type limit struct {
	net.Listener
	free chan struct{}
}

func (l *limit) Accept() (net.Conn, error) {
	l.free <- struct{}{}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &limited{Conn: c, peer: &peer{conn: c}, free: l.free}, nil
}

// limited is one of the connections, and who is at its other end.
type limited struct {
	net.Conn
	peer   *peer
	free   chan struct{}
	closed atomic.Bool
}

func (c *limited) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.peer.asked.Load() {
		c.peer.asked.Store(true)
	}
	return n, err
}

func (c *limited) Close() error {
	err := c.Conn.Close()
	if !c.closed.Swap(true) {
		<-c.free
	}
	return err
}
