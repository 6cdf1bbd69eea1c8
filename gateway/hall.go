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
	hallFresh = 250 * time.Millisecond
	// Of so many connections the one that has been silent for the longest goes.
	hallSample = 64
)

// hall is a listener that bounds the connections of net/http's server, as
// internal/h1's bounds its own: while it is full, who is silent makes room for
// who comes.
type hall struct {
	net.Listener
	seats  chan struct{} // one per open connection
	closed chan struct{}
	once   sync.Once

	mu     sync.Mutex // guards what follows, and silent of guests
	guests map[*guest]struct{}
}

// guest is a connection that gives its seat back when it is closed.
type guest struct {
	net.Conn
	hall   *hall
	once   sync.Once
	silent time.Time // since when it has no request in progress; zero: it has one
}

func newHall(ln net.Listener, seats int) *hall {
	if seats == 0 {
		seats = h1.DefaultConns()
	}
	return &hall{
		Listener: ln, seats: make(chan struct{}, seats),
		closed: make(chan struct{}), guests: make(map[*guest]struct{}),
	}
}

// Accept waits for a connection, and then for a seat for it.
func (h *hall) Accept() (net.Conn, error) {
	c, err := h.Listener.Accept()
	if err != nil {
		h.makeRoom() // out of file descriptors, most likely
		return nil, err
	}
	if !h.seat() {
		c.Close()
		return nil, net.ErrClosed
	}
	g := &guest{Conn: c, hall: h, silent: time.Now()}
	h.mu.Lock()
	h.guests[g] = struct{}{}
	h.mu.Unlock()
	return g, nil
}

// Close ends Accept, also while it waits for a seat.
func (h *hall) Close() error {
	h.once.Do(func() { close(h.closed) })
	return h.Listener.Close()
}

func (h *hall) seat() bool {
	select {
	case h.seats <- struct{}{}:
		return true
	default:
	}
	again := time.NewTicker(hallFresh / 8)
	defer again.Stop()
	for {
		h.makeRoom()
		select {
		case h.seats <- struct{}{}:
			return true
		case <-again.C:
		case <-h.closed:
			return false
		}
	}
}

func (h *hall) makeRoom() {
	var found *guest
	oldest, left := time.Now().Add(-hallFresh), hallSample
	h.mu.Lock()
	for g := range h.guests { // begins anywhere
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
func (h *hall) state(c net.Conn, s http.ConnState) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	g, ok := c.(*guest)
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

// Close gives the seat back.
func (g *guest) Close() error {
	err := g.Conn.Close()
	g.once.Do(func() {
		g.hall.mu.Lock()
		delete(g.hall.guests, g)
		g.hall.mu.Unlock()
		<-g.hall.seats
	})
	return err
}
