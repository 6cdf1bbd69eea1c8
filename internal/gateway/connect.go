package gateway

import (
	"context"
	"net"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/h2"
)

// Upstream is how a gateway connects to workers. Its zero value is useful.
type Upstream struct {
	DialTimeout time.Duration // default 1 s
	Fields      int           // of the head of an answer; default 1,000
	// Dial connects to a worker, within DialTimeout, ready for the first byte of a request. It is for TLS, Unix sockets and
	// others. nil: TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// HTTP2 sends requests over HTTP/2, many at once on one connection. With TLS, Dial must negotiate it by ALPN.
	HTTP2 bool
}

// Validate reports every invalid field.
func (u Upstream) Validate() error { return u.pool().Validate() }

// answerFields is the default of Upstream.Fields. Workers are trusted with more fields than callers.
const answerFields = 1000

func (u Upstream) pool() h1.PoolConfig {
	if u.Fields == 0 {
		u.Fields = answerFields
	}
	return h1.PoolConfig{DialTimeout: u.DialTimeout, Limits: h1.Limits{Fields: u.Fields}, Dial: u.Dial}
}

// Connect makes the gateway's state for one life of a worker at addr: "host:port", "http://host:port" or another form that
// Dial accepts. It is the Connect of a fleet's Config. The result is a [Prober], and an [io.Closer] that closes all
// connections.
func (u Upstream) Connect(addr string) any {
	if !u.HTTP2 {
		return h1.NewPool(addr, u.pool())
	}
	dial := u.Dial
	if dial == nil {
		dial = func(ctx context.Context, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		}
	}
	return h2.NewPool(strings.TrimPrefix(addr, "http://"), h2.Config{Dial: dial, DialTimeout: u.DialTimeout, Fields: u.pool().Limits.Fields})
}

// Prober counts the idle connections that a worker holds open, and those that it has closed since the last call, as
// evidence of whether the worker lives.
type Prober interface {
	Conns() (alive, broken int)
}
