package h1

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// A caller that knows that a server speaks HTTP/2 begins with this preface (RFC 9113, section 3.4). A parser of HTTP/1
// reads its first part as the head of a request.
const (
	prefaceHead = "PRI * HTTP/2.0\r\n\r\n"
	prefaceRest = "SM\r\n\r\n"
)

// HTTP2Conn is the connection of a caller that speaks HTTP/2 from the first byte. It keeps its place among the connections
// of the [Server].
type HTTP2Conn struct {
	net.Conn
	x      *Exchange
	early  []byte // read already
	once   sync.Once
	closed chan struct{}
}

// pass gives an HTTP/2 connection to the handler in the server's settings, and waits for its end. It returns the error for
// a connection that is not passed.
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

// idle records whether a connection that was passed on has no request.
func (x *Exchange) idle(yes bool) {
	if !yes {
		x.phase.Store(phaseBody)
		return
	}
	x.mark.Store(time.Now().UnixNano())
	x.phase.Store(phaseHTTP2)
}

// State gets the changes of the connection from net/http. Without a request it makes room for others, like all silent
// connections.
func (c *HTTP2Conn) State(s http.ConnState) {
	switch s {
	case http.StateActive:
		c.x.idle(false)
	case http.StateIdle:
		c.x.idle(true)
	case http.StateNew, http.StateHijacked, http.StateClosed:
	}
}

// Read returns the bytes that were read before, and then reads on.
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
