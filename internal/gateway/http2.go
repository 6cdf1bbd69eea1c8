package gateway

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// passed is a listener for connections of callers who speak HTTP/2 without TLS. They come from another listener, which has
// read their first bytes.
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
func (p *passed) take(c *h1.HTTP2Conn) bool {
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
	return s.runStd(ctx, stdRun{
		ln: p,
		state: func(c net.Conn, state http.ConnState) {
			if c, ok := c.(*h1.HTTP2Conn); ok {
				c.State(state)
			}
		},
		lastCall: func(d time.Duration) {
			late := time.NewTimer(d)
			defer late.Stop()
			select {
			case <-late.C:
			case <-over:
			}
		},
	})
}
