package h1

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
)

// ErrPoolClosed is returned for connections to a worker whose epoch has ended.
var ErrPoolClosed = errors.New("the worker's epoch has ended")

// PoolConfig is how a [Pool] connects. Its zero value is useful.
type PoolConfig struct {
	DialTimeout time.Duration // default 1 s
	MaxIdle     int           // idle connections kept; default 128
	IdleTimeout time.Duration // how long; default 30 s
	Limits      Limits        // of the heads of answers

	// Dial connects to the worker, ready for the first byte; nil means TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
}

// Validate reports every invalid field.
func (c PoolConfig) Validate() error {
	var errs faults.List
	errs.If(c.DialTimeout < 0, "DialTimeout is %v, want at least 0", c.DialTimeout)
	errs.If(c.MaxIdle < 0, "MaxIdle is %d, want at least 0", c.MaxIdle)
	errs.If(c.IdleTimeout < 0, "IdleTimeout is %v, want at least 0", c.IdleTimeout)
	return errors.Join(errs...)
}

func (c PoolConfig) orDefaults() PoolConfig {
	c.DialTimeout = cmp.Or(c.DialTimeout, time.Second)
	c.MaxIdle = cmp.Or(c.MaxIdle, 128)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, 30*time.Second)
	if c.Dial == nil {
		c.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		}
	}
	c.Limits = c.Limits.orDefaults()
	return c
}

// Pool holds the connections to one worker in one epoch. All methods are safe
// for concurrent use.
type Pool struct {
	addr string
	cfg  PoolConfig
	bufs buffers

	crowd Crowd // of requests

	mu     sync.Mutex // guards what follows
	idle   []*Conn    // the newest last
	busy   Conn       // ring of the connections in use, linked through next and prev
	closed bool
	habits
}

// NewPool returns a pool for the worker at addr: "host:port", "http://host:port" or another form that Dial accepts. It
// connects to nothing yet.
func NewPool(addr string, cfg PoolConfig) *Pool {
	addr = strings.TrimSuffix(strings.TrimPrefix(addr, "http://"), "/")
	p := &Pool{addr: addr, cfg: cfg.orDefaults()}
	p.busy.next, p.busy.prev = &p.busy, &p.busy
	return p
}

// Addr returns the worker's address.
func (p *Pool) Addr() string { return p.addr }

// Get returns the idle connection that was used last, if the worker has not closed it, or a new one. Give it back with
// [Conn.Release].
func (p *Pool) Get(ctx context.Context) (*Conn, error) { return p.GetBy(ctx, time.Time{}) }

// GetBy is Get with a deadline; zero means none.
func (p *Pool) GetBy(ctx context.Context, by time.Time) (*Conn, error) {
	return p.GetAt(ctx, by, time.Now(), false)
}

// GetAt is GetBy at the current time. An idle connection comes without a wait: now is still current then. A request that
// cannot be repeated, once, gets an idle connection only if the worker is known not to close it.
func (p *Pool) GetAt(ctx context.Context, by, now time.Time, once bool) (*Conn, error) {
	for {
		c, err := p.pop(now, once)
		if err != nil {
			return nil, err
		}
		if c == nil {
			return p.dial(ctx, by)
		}
		seen := c.peek()
		if seen != quiet || c.learns {
			p.learn(c, seen, now)
		}
		if seen == quiet {
			return c, nil
		}
		c.Release(false) // the worker closed it, or sent data unasked
	}
}

// pop takes the newest idle connection, or nil, and closes expired ones. While the worker's habit is unknown, a request that
// cannot be repeated gets the oldest one, if it has been idle for some time.
func (p *Pool) pop(now time.Time, once bool) (*Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrPoolClosed
	}
	n := len(p.idle)
	if n == 0 {
		return nil, nil
	}
	if once && p.habit != keeps && !p.oldest(now) {
		return nil, nil
	}
	c := p.idle[n-1]
	c.at, c.learns = now, p.habit == unknown
	idle := p.cfg.IdleTimeout
	if most := c.Resp.Idle; most > 0 && most < idle {
		idle = most
	}
	switch age := c.at.Sub(c.since); {
	case age > idle: // all older ones are expired too
		p.drop(n)
		return nil, nil
	case once && age > onceIdle && c.Resp.Idle == 0:
		p.idle[n-1] = nil
		p.idle = p.idle[:n-1]
		c.shut()
		return nil, nil
	}
	p.idle[n-1] = nil
	p.idle = p.idle[:n-1]
	p.link(c)
	return c, nil
}

// drop closes the n oldest idle connections.
func (p *Pool) drop(n int) {
	for _, c := range p.idle[:n] {
		c.shut()
	}
	kept := copy(p.idle, p.idle[n:])
	clear(p.idle[kept:])
	p.idle = p.idle[:kept]
}

func (p *Pool) link(c *Conn) {
	c.next, c.prev = &p.busy, p.busy.prev
	c.prev.next, c.next.prev = c, c
}

func (p *Pool) unlink(c *Conn) {
	c.prev.next, c.next.prev = c.next, c.prev
	c.next, c.prev = nil, nil
}

func (p *Pool) dial(ctx context.Context, by time.Time) (*Conn, error) {
	end := time.Now().Add(p.cfg.DialTimeout)
	if !by.IsZero() && by.Before(end) {
		end = by
	}
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	nc, err := p.cfg.Dial(ctx, p.addr)
	if err != nil {
		return nil, fmt.Errorf("connect to worker %s: %w", p.addr, err)
	}
	c := &Conn{pool: p, Fresh: true}
	c.open(nc, &p.bufs)
	c.startFn = c.start
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		nc.Close()
		return nil, ErrPoolClosed
	}
	p.link(c)
	return c, nil
}

// put takes a connection back and reports whether it was kept.
func (p *Pool) put(c *Conn, keep bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unlink(c)
	if !keep || p.closed || p.habit == closes && !p.mayKeep(c.since) {
		return false
	}
	if len(p.idle) > 0 && c.since.Sub(p.idle[0].since) > p.cfg.IdleTimeout {
		p.drop(1)
	}
	if len(p.idle) >= p.cfg.MaxIdle {
		return false
	}
	p.idle = append(p.idle, c)
	return true
}

// Conns checks every idle connection without waiting. It returns how many the worker holds open and how many it has closed,
// as evidence of whether it lives. It drops closed ones. It does not count connections in use.
func (p *Pool) Conns() (alive, broken int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.idle[:0]
	for _, c := range p.idle {
		if c.peek() != quiet {
			now := time.Now()
			p.sawClosed(now.Sub(c.since), now)
			broken++
			c.shut()
			continue
		}
		kept = append(kept, c)
	}
	clear(p.idle[len(kept):])
	p.idle = kept
	return len(kept), broken
}

// Close closes every connection, also those in use, and refuses new ones.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.drop(len(p.idle))
	for c := p.busy.next; c != &p.busy; c = c.next {
		c.cut() // its user gets the error and releases it
	}
	return nil
}
