package h1

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// A caller who knows that a server speaks HTTP/2 begins with this (RFC 9113, section
// 3.4). To a parser of HTTP/1 the first part is the head of a request.
const (
	prefaceHead = "PRI * HTTP/2.0\r\n\r\n"
	prefaceRest = "SM\r\n\r\n"
)

// HTTP2Conn is the connection of a caller who speaks HTTP/2 from the first byte. It
// keeps its place among the connections of the [Server].
type HTTP2Conn struct {
	net.Conn
	x      *Exchange
	early  []byte // read already
	once   sync.Once
	closed chan struct{}
}

// pass hands a connection that has begun as HTTP/2 does to whom the server's settings
// name, and waits for its end. It returns why err, the error of the head, stands.
func (x *Exchange) pass(err error) error {
	if x.served || x.srv.cfg.HTTP2 == nil {
		return err
	}
	x.phase.Store(phaseHead)
	for x.w-x.r < len(prefaceRest) {
		if err := x.fill(); err != nil {
			return err
		}
	}
	if string(x.buf[x.r:x.r+len(prefaceRest)]) != prefaceRest {
		return err
	}
	c := &HTTP2Conn{Conn: x.nc, x: x, early: append([]byte(prefaceHead), x.buffered()...), closed: make(chan struct{})}
	x.free()
	x.idle(true)
	if x.nc.SetDeadline(time.Time{}) == nil && x.srv.cfg.HTTP2(c) {
		<-c.closed
	}
	return nil
}

// idle notes whether a connection that was passed on has no request.
func (x *Exchange) idle(yes bool) {
	if !yes {
		x.phase.Store(phaseBody)
		return
	}
	x.mark.Store(time.Now().UnixNano())
	x.phase.Store(phaseHTTP2)
}

// State hears from net/http what becomes of the connection. While it has no request it
// makes room for others, as all that are silent do.
func (c *HTTP2Conn) State(s http.ConnState) {
	switch s {
	case http.StateActive:
		c.x.idle(false)
	case http.StateIdle:
		c.x.idle(true)
	case http.StateNew, http.StateHijacked, http.StateClosed:
	}
}

// Read reads the first bytes again, then on.
func (c *HTTP2Conn) Read(p []byte) (int, error) {
	if len(c.early) > 0 {
		n := copy(p, c.early)
		c.early = c.early[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

// Close ends the connection, and gives its place back.
func (c *HTTP2Conn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { close(c.closed) })
	return err
}
