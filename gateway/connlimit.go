package gateway

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/h1"
)

const (
	// Who came, or was answered, as recently as this keeps its place.
	minSilence = 250 * time.Millisecond
	// Of so many connections the one that has been silent for the longest goes.
	evictionSample = 64
)

// connLimiter is a listener that bounds the connections of net/http's server, as
// internal/h1's bounds its own: while it is full, who is silent makes room for
// who comes.
type connLimiter struct {
	net.Listener
	slots  chan struct{} // one per open connection
	closed chan struct{}
	once   sync.Once

	mu    sync.Mutex // guards what follows, and silent of conns
	conns map[*limitedConn]struct{}
}

// limitedConn is a connection that gives its slot back when it is closed.
type limitedConn struct {
	net.Conn
	limiter *connLimiter
	once    sync.Once
	silent  time.Time // since when it has no request in progress; zero: it has one
}

func newConnLimiter(ln net.Listener, slots int) *connLimiter {
	if slots == 0 {
		slots = h1.DefaultConns()
	}
	return &connLimiter{
		Listener: ln, slots: make(chan struct{}, slots),
		closed: make(chan struct{}), conns: make(map[*limitedConn]struct{}),
	}
}

// Accept waits for a connection, and then for a slot for it.
func (h *connLimiter) Accept() (net.Conn, error) {
	c, err := h.Listener.Accept()
	if err != nil {
		h.evictIdle() // out of file descriptors, most likely
		return nil, err
	}
	if !h.acquire() {
		c.Close()
		return nil, net.ErrClosed
	}
	g := &limitedConn{Conn: c, limiter: h, silent: time.Now()}
	h.mu.Lock()
	h.conns[g] = struct{}{}
	h.mu.Unlock()
	return g, nil
}

// Close ends Accept, also while it waits for a slot.
func (h *connLimiter) Close() error {
	h.once.Do(func() { close(h.closed) })
	return h.Listener.Close()
}

// lastCall waits until nobody has a connection any more, for d at most.
func (h *connLimiter) lastCall(d time.Duration) {
	late, tick := time.NewTimer(d), time.NewTicker(minSilence/16)
	defer late.Stop()
	defer tick.Stop()
	for len(h.slots) > 0 {
		select {
		case <-tick.C:
		case <-late.C:
			return
		}
	}
}

func (h *connLimiter) acquire() bool {
	select {
	case h.slots <- struct{}{}:
		return true
	default:
	}
	again := time.NewTicker(minSilence / 8)
	defer again.Stop()
	for {
		h.evictIdle()
		select {
		case h.slots <- struct{}{}:
			return true
		case <-again.C:
		case <-h.closed:
			return false
		}
	}
}

func (h *connLimiter) evictIdle() {
	var found *limitedConn
	oldest, left := time.Now().Add(-minSilence), evictionSample
	h.mu.Lock()
	for g := range h.conns { // begins anywhere
		if !g.silent.IsZero() && g.silent.Before(oldest) {
			found, oldest = g, g.silent
		}
		if left--; left == 0 {
			break
		}
	}
	h.mu.Unlock()
	if found != nil {
		_ = found.Close() // it is gone either way
	}
}

// state hears from net/http what becomes of a connection. A handshake, and a
// head that has not come whole, are silence.
func (h *connLimiter) state(c net.Conn, s http.ConnState) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	g, ok := c.(*limitedConn)
	if !ok {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch s {
	case http.StateIdle:
		g.silent = time.Now()
	case http.StateActive, http.StateHijacked:
		g.silent = time.Time{}
	case http.StateNew, http.StateClosed:
	}
}

// Close gives the slot back.
func (g *limitedConn) Close() error {
	err := g.Conn.Close()
	g.once.Do(func() {
		g.limiter.mu.Lock()
		delete(g.limiter.conns, g)
		g.limiter.mu.Unlock()
		<-g.limiter.slots
	})
	return err
}
