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

	"github.com/bezoar-dev/bezoar/internal/gateway/connlimit"
)

const (
	headPatience = 10 * time.Second
	idlePatience = 10 * time.Minute // better evidence if SDKs close first
	grace        = 10 * time.Second
	maxHead      = 32 << 10
)

// Server answers on its own listener.
type Server struct {
	cfg     Config
	handler *Handler
	silent  sync.Map     // of net.Conn: those whose first request was not read yet
	last    atomic.Int64 // a time.Duration: see LastCall
}

// NewServer returns a server. Call Run.
func NewServer(c Config) (*Server, error) {
	h, err := New(c)
	if err != nil {
		return nil, err
	}
	return &Server{cfg: c.withDefaults(), handler: h}, nil
}

func (s *Server) Handler() *Handler { return s.handler }

// Leave ends each connection with its next answer, so that clients reconnect elsewhere before Serve stops. New connections
// are still served.
func (s *Server) Leave() { s.handler.leaving.Store(true) }

// LastCall keeps idle connections open for d when Serve stops. It answers calls that arrive on them meanwhile. It is for
// listeners that stay open in another process.
func (s *Server) LastCall(d time.Duration) { s.last.Store(int64(d)) }

// Run listens on Config.Address and answers until ctx ends: see Serve.
func (s *Server) Run(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.cfg.Address)
	if err != nil {
		return fmt.Errorf("listen for SQS calls: %w", err)
	}
	return s.Serve(ctx, l)
}

// Serve answers on l, which it closes, until ctx ends. Then it stops accepting, ends waiting receives at once, gives
// running requests up to ten seconds, and returns nil. It may be called once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	conns := connlimit.New(l, s.cfg.MaxConnections)
	srv := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: headPatience,
		IdleTimeout:       idlePatience,
		MaxHeaderBytes:    maxHead,
		ErrorLog:          slog.NewLogLogger(s.handler.log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, peerKey{}, below(c).peer)
		},
		ConnState: func(c net.Conn, state http.ConnState) {
			conns.State(below(c).Conn, state)
			s.state(below(c), state)
		},
	}
	served := make(chan error, 1)
	var from net.Listener = peers{conns}
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
	_ = conns.Close()
	accepted := <-served // all accepted connections are known now
	if d := time.Duration(s.last.Load()); d > 0 {
		s.Leave()
		conns.LastCall(d)
	}
	over, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	s.empty(over, srv, conns)
	if srv.Shutdown(over) != nil {
		_ = srv.Close() // cut off calls that do not finish
	}
	if !errors.Is(accepted, net.ErrClosed) {
		return fmt.Errorf("serve SQS calls on %s: %w", l.Addr(), accepted)
	}
	return nil
}

// empty waits until every connection has got its answer and is closed. Shutdown alone drops calls that arrive after it has
// begun.
func (s *Server) empty(ctx context.Context, srv *http.Server, conns *connlimit.Listener) {
	srv.SetKeepAlivesEnabled(false)
	s.silent.Range(func(c, _ any) bool {
		p := c.(*limited).peer
		p.first.Lock()
		defer p.first.Unlock()
		if !p.asked.Load() && !asks(p.conn) {
			_ = c.(net.Conn).Close()
		}
		return true
	})
	ctx, cancel := context.WithTimeout(ctx, grace/2) // an incomplete call delays the stop no longer
	defer cancel()
	conns.Empty(ctx)
}

// peer is the other end of a connection.
type peer struct {
	conn      net.Conn
	first     sync.Mutex             // held while its first bytes are read, so that they are either unread or recorded in asked
	asked     atomic.Bool            // it has sent something
	name      atomic.Pointer[string] // the receiver's name, if it gave one and its death matters
	kind      atomic.Pointer[string] // the program
	received  atomic.Bool            // it got messages
	announced atomic.Bool            // the end of the connection is expected
	idleSince atomic.Int64           // Unix nanoseconds
}

type peerKey struct{}

// left reports whether the other end of a connection is closed.
func left(ctx context.Context) bool {
	p, ok := ctx.Value(peerKey{}).(*peer)
	return ok && gone(p.conn)
}

// received records that messages were sent to the peer.
func received(ctx context.Context) {
	if p, ok := ctx.Value(peerKey{}).(*peer); ok {
		p.received.Store(true)
	}
}

// named records the receiver's name, without the number of the receive.
func named(ctx context.Context, name string) {
	if p, ok := ctx.Value(peerKey{}).(*peer); ok {
		if at := strings.LastIndexByte(name, '#'); at > 0 {
			name = name[:at]
		}
		p.name.Store(&name)
	}
}

// announce records that the connection's end will have no meaning.
func announce(ctx context.Context) {
	if p, ok := ctx.Value(peerKey{}).(*peer); ok {
		p.announced.Store(true)
	}
}

// oneShot reports whether a program makes one call and exits.
func oneShot(agent string) bool {
	return strings.HasPrefix(agent, "aws-cli/") || strings.HasPrefix(agent, "curl/") || strings.HasPrefix(agent, "Wget/")
}

// state handles connections that end. This is evidence of a death, not proof: clients also close connections that they do
// not need.
func (s *Server) state(c *limited, state http.ConnState) {
	p := c.peer
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
		ours := since != 0 && time.Since(time.Unix(0, since)) >= idlePatience || s.handler.drain.Err() != nil || c.evicted()
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

// peers records the peer of each accepted connection.
type peers struct{ net.Listener }

func (l peers) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &limited{Conn: c, peer: &peer{conn: c.(*connlimit.Conn).Conn}}, nil
}

// limited is a connection with its peer.
type limited struct {
	net.Conn
	peer *peer
}

// below returns the connection below TLS.
func below(c net.Conn) *limited {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	return c.(*limited)
}

// evicted reports whether this process has closed it to make room.
func (c *limited) evicted() bool { return c.Conn.(*connlimit.Conn).Evicted() }

func (c *limited) Read(b []byte) (int, error) {
	p := c.peer
	if p.asked.Load() {
		return c.Conn.Read(b)
	}
	if await(p.conn) { // the read does not block
		p.first.Lock()
		defer p.first.Unlock()
	}
	n, err := c.Conn.Read(b)
	p.asked.Store(n > 0)
	return n, err
}
