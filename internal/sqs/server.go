package sqs

import (
	"context"
	"crypto/tls"
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
			return context.WithValue(ctx, peerKey{}, below(c).peer)
		},
		ConnState: s.state,
	}
	served, seats, shut := make(chan error, 1), make(chan struct{}, s.cfg.MaxConnections), make(chan struct{})
	var from net.Listener = &limit{Listener: l, free: seats, shut: shut}
	if s.cfg.TLS != nil {
		tc := s.cfg.TLS.Clone()
		tc.NextProtos = []string{"http/1.1"}
		from = tls.NewListener(from, tc)
	}
	go func() { served <- srv.Serve(from) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve SQS calls on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	s.handler.Drain()
	close(shut)
	_ = l.Close()
	accepted := <-served // whoever came before is known now
	over, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	s.empty(over, srv, seats)
	if srv.Shutdown(over) != nil {
		_ = srv.Close() // calls that would not finish
	}
	if !errors.Is(accepted, net.ErrClosed) {
		return fmt.Errorf("serve SQS calls on %s: %w", l.Addr(), accepted)
	}
	return nil
}

// empty waits until everybody has got an answer and has left. Shutdown alone
// drops each call that is read after it has begun.
func (s *Server) empty(ctx context.Context, srv *http.Server, seats chan<- struct{}) {
	srv.SetKeepAlivesEnabled(false)
	s.silent.Range(func(c, _ any) bool {
		p := below(c.(net.Conn)).peer
		p.first.Lock()
		defer p.first.Unlock()
		if !p.asked.Load() && !asks(p.conn) {
			_ = c.(net.Conn).Close()
		}
		return true
	})
	late := time.NewTimer(grace / 2) // half of a call holds nobody up for longer
	defer late.Stop()
	for range cap(seats) {
		select {
		case seats <- struct{}{}:
		case <-late.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// peer is who is at the other end of a connection.
type peer struct {
	conn      net.Conn
	first     sync.Mutex             // held while its first bytes are taken, so that they are either there or in asked
	asked     atomic.Bool            // it has sent something
	name      atomic.Pointer[string] // who receives, if it says so and is to be missed
	kind      atomic.Pointer[string] // what program it is
	received  atomic.Bool            // messages were given to it
	announced atomic.Bool            // it said, or we decided, that the connection ends
	idleSince atomic.Int64           // Unix nanoseconds
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

// named notes who receives over a connection: its name, without the number of the
// receive.
func named(ctx context.Context, name string) {
	if p, ok := ctx.Value(peerKey{}).(*peer); ok {
		if at := strings.LastIndexByte(name, '#'); at > 0 {
			name = name[:at]
		}
		p.name.Store(&name)
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
	p := below(c).peer
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
			who, tell := c.RemoteAddr().String(), s.cfg.Vanished
			if kind := p.kind.Load(); kind != nil && s.cfg.Viewed != nil && s.handler.kinds.views(*kind) {
				tell = s.cfg.Viewed
			}
			if name := p.name.Load(); name != nil {
				who, tell = *name, s.cfg.Vanished
			}
			tell(who)
		}
	case http.StateNew, http.StateHijacked:
	}
}

// limit accepts no more connections than there is room for.
type limit struct {
	net.Listener
	free chan struct{}
	shut <-chan struct{} // nobody is waited for any more
}

func (l *limit) Accept() (net.Conn, error) {
	select {
	case l.free <- struct{}{}:
	case <-l.shut:
		return nil, net.ErrClosed
	}
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

// below is the connection that another one may be over, for TLS.
func below(c net.Conn) *limited {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	return c.(*limited)
}

func (c *limited) Read(b []byte) (int, error) {
	p := c.peer
	if p.asked.Load() {
		return c.Conn.Read(b)
	}
	if await(p.conn) { // the read does not wait
		p.first.Lock()
		defer p.first.Unlock()
	}
	n, err := c.Conn.Read(b)
	p.asked.Store(n > 0)
	return n, err
}

func (c *limited) Close() error {
	err := c.Conn.Close()
	if !c.closed.Swap(true) {
		<-c.free
	}
	return err
}
