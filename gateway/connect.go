package gateway

import (
	"time"

	"github.com/bezoar-dev/bezoar/internal/h1"
)

// Upstream is how a gateway connects to workers. Its zero value is useful.
type Upstream struct {
	DialTimeout time.Duration // default 1 s
	MaxIdle     int           // idle connections kept per worker; default 128
	IdleTimeout time.Duration // how long; default 30 s
	Fields      int           // of the head of an answer; default 1,000
}

// Validate names every field that makes no sense.
func (u Upstream) Validate() error { return u.pool().Validate() }

// answerFields is the default of Upstream.Fields. Workers are trusted with more than
// callers.
const answerFields = 1000

func (u Upstream) pool() h1.PoolConfig {
	if u.Fields == 0 {
		u.Fields = answerFields
	}
	return h1.PoolConfig{DialTimeout: u.DialTimeout, MaxIdle: u.MaxIdle, IdleTimeout: u.IdleTimeout, Limits: h1.Limits{Fields: u.Fields}}
}

// Connect makes what the gateway keeps for one life of a worker at addr,
// "host:port" or "http://host:port". It is the Connect of a fleet's Config. The
// result is an [io.Closer] that closes all connections, and a [Prober].
func (u Upstream) Connect(addr string) any { return h1.NewPool(addr, u.pool()) }

// Prober counts the idle connections that a worker holds open, and those that it
// has closed since the last time: evidence of whether it lives.
type Prober interface {
	Conns() (alive, broken int)
}
