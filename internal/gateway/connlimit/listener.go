package connlimit

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// MinSilence is how long a connection keeps its place after it came or was answered.
	MinSilence = 250 * time.Millisecond
	// Sample is the number of connections that are compared to find one that has been silent for long.
	Sample = 64
)

// Listener bounds the connections of another listener. Its State must be the ConnState of the server.
type Listener struct {
	net.Listener
	slots  chan struct{} // one per open connection
	closed chan struct{}
	once   sync.Once

	mu    sync.Mutex // guards what follows, and silent of conns
	conns map[*Conn]struct{}
}

// Conn is a connection that gives its place back when it is closed.
type Conn struct {
	net.Conn
	listener *Listener
	once     sync.Once
	silent   time.Time // since when it has no request in progress; zero: it has one
	evicted  atomic.Bool
}

// New bounds the connections of ln to most at once.
func New(ln net.Listener, most int) *Listener {
	return &Listener{Listener: ln, slots: make(chan struct{}, most), closed: make(chan struct{}), conns: make(map[*Conn]struct{})}
}

// Accept waits for a connection, which is a [*Conn], and then for a place for it.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		l.evictIdle() // probably out of file descriptors
		return nil, err
	}
	if !l.acquire() {
		c.Close()
		return nil, net.ErrClosed
	}
	g := &Conn{Conn: c, listener: l, silent: time.Now()}
	l.mu.Lock()
	l.conns[g] = struct{}{}
	l.mu.Unlock()
	return g, nil
}

// Close ends Accept, also while it waits for a place.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// Empty waits until every connection has been closed, or ctx is over. The listener
// must be closed.
func (l *Listener) Empty(ctx context.Context) {
	for range cap(l.slots) {
		select {
		case l.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
	}
}

// LastCall waits, for at most d, until no connections are left. The listener may still be open.
func (l *Listener) LastCall(d time.Duration) {
	late, tick := time.NewTimer(d), time.NewTicker(MinSilence/16)
	defer late.Stop()
	defer tick.Stop()
	for len(l.slots) > 0 {
		select {
		case <-tick.C:
		case <-late.C:
			return
		}
	}
}

func (l *Listener) acquire() bool {
	select {
	case l.slots <- struct{}{}:
		return true
	default:
	}
	again := time.NewTicker(MinSilence / 8)
	defer again.Stop()
	for {
		l.evictIdle()
		select {
		case l.slots <- struct{}{}:
			return true
		case <-again.C:
		case <-l.closed:
			return false
		}
	}
}

func (l *Listener) evictIdle() {
	var found *Conn
	oldest, left := time.Now().Add(-MinSilence), Sample
	l.mu.Lock()
	for g := range l.conns { // the iteration begins at a random place
		if !g.silent.IsZero() && g.silent.Before(oldest) {
			found, oldest = g, g.silent
		}
		if left--; left == 0 {
			break
		}
	}
	l.mu.Unlock()
	if found != nil {
		found.evicted.Store(true)
		_ = found.Close() // it is closed in any case
	}
}

// State gets the changes of a connection from net/http. A handshake and an incomplete head count as silence.
func (l *Listener) State(c net.Conn, s http.ConnState) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	g, ok := c.(*Conn)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch s {
	case http.StateIdle:
		g.silent = time.Now()
	case http.StateActive, http.StateHijacked:
		g.silent = time.Time{}
	case http.StateNew, http.StateClosed:
	}
}

// Evicted reports whether the connection was closed to make room.
func (c *Conn) Evicted() bool { return c.evicted.Load() }

// Close gives the place back.
func (c *Conn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.listener.mu.Lock()
		delete(c.listener.conns, c)
		c.listener.mu.Unlock()
		<-c.listener.slots
	})
	return err
}
