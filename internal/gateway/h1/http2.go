package h1

import (
	"net"
	"time"
)

// A caller that knows that a server speaks HTTP/2 begins with this preface (RFC 9113, section 3.4). A parser of HTTP/1
// reads its first part as the head of a request.
const (
	prefaceHead = "PRI * HTTP/2.0\r\n\r\n"
	prefaceRest = "SM\r\n\r\n"
)

// pass gives a connection that begins with the preface of HTTP/2 to the handler in the server's settings, and waits for its
// end. It returns err, the error of the head, for a connection that is not passed. Over TLS callers agree on HTTP/2 in the
// handshake.
func (x *Exchange) pass(err error) error {
	if x.served || x.below != nil || x.srv.cfg.HTTP2 == nil {
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
	b := newBelow(x.nc, x)
	b.early = append([]byte(prefaceHead), x.buffered()...)
	x.free()
	x.passOn(b)
	return nil
}

// passOn gives nc to the handler of HTTP/2 and waits for its end. nc is a [*below], or runs over one with TLS.
func (x *Exchange) passOn(nc net.Conn) {
	b, ok := nc.(*below)
	if !ok {
		b = x.below
	}
	x.idle(true)
	if nc.SetDeadline(time.Time{}) == nil && x.srv.cfg.HTTP2(nc) {
		<-b.closed
	}
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
