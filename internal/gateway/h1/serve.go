package h1

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"runtime/debug"
	"time"
)

// serve runs a connection until it ends.
func (x *Exchange) serve() {
	defer x.nc.Close()
	defer func() {
		if p := recover(); p != nil {
			x.buf = nil // a goroutine may still use it: it must not go back to the pool
			x.srv.cfg.Log.Error("handler panicked", "panic", p, "stack", string(debug.Stack()))
			x.cut()
		}
	}()
	if t, ok := x.nc.(*tls.Conn); ok {
		if !x.shake(t) {
			return
		}
	} else if err := x.nc.SetWriteDeadline(time.Now().Add(x.srv.cfg.WriteTimeout)); err != nil {
		return
	}
	for x.accept() {
		x.srv.heads.Pass(x.Began, x.who)
		x.srv.handler(x)
		if !x.settle() {
			break
		}
		x.srv.nexts.Pass(x.last, x.who)
	}
	x.free()
}

// accept reads the next request's head. If it is malformed, accept answers and ends the connection.
func (x *Exchange) accept() bool {
	for empty := 0; ; empty++ {
		x.phase.Store(phaseIdle)
		if x.w == x.r && !x.await() {
			return false
		}
		if empty == maxEmpty || !x.skipEmpty() {
			break
		}
	}
	x.Began, x.at = time.Now(), time.Time{}
	x.mark.Store(x.Began.UnixNano())
	x.phase.Store(phaseHead)
	var head string
	n, err := x.head(x.srv.cfg.Limits)
	if err == nil {
		head = string(x.buf[x.r : x.r+n])
		x.r += n
		err = x.Req.Parse(head, x.srv.cfg.Limits)
	}
	x.phase.Store(phaseBody)
	x.leave.Store(false)
	x.halfClosed = false
	x.resetReply()
	if head == prefaceHead {
		err = x.pass(err)
		if err == nil {
			return false
		}
	}
	if err != nil {
		x.refuse(err)
		return false
	}
	x.patience, x.readBy = 0, time.Time{}
	x.body.reset(&x.sock, x.Req.Length, x.srv.cfg.Limits)
	return true
}

// maxEmpty bounds the empty lines before a request.
const maxEmpty = 2

// skipEmpty consumes an empty line before a request, which some clients send after a body or first of all (RFC 9112, section
// 2.2). It reports whether there was one.
func (x *Exchange) skipEmpty() bool {
	if x.buf[x.r] != '\r' || x.w-x.r == 1 && x.fill() != nil || x.buf[x.r+1] != '\n' {
		return false
	}
	x.r += 2
	return true
}

// refuse answers a malformed head, if the caller is still there.
func (x *Exchange) refuse(err error) {
	status, rule := 0, ""
	var e *Error
	switch {
	case errors.As(err, &e):
		status, rule = e.Status, e.Rule
	case errors.Is(err, ErrTooSlow):
		status, rule = http.StatusRequestTimeout, "the head took too long"
	default:
		return
	}
	x.Req.Method, x.Req.Minor = "", 1
	x.shut = true
	body := []byte(http.StatusText(status) + ": " + rule + "\n")
	h := Head{
		Status: status,
		Reason: http.StatusText(status),
		Fields: []Field{{Name: "Content-Type", Value: "text/plain; charset=utf-8", Key: ContentType}},
		Length: int64(len(body)),
	}
	if status == http.StatusMethodNotAllowed {
		h.Fields = append(h.Fields, Field{Name: "Allow", Value: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"})
	}
	if x.Begin(&h) == nil && x.Write(body) == nil && x.End(nil) == nil {
		x.linger()
	}
}

// These bound what is read only so that the caller can see its answer: before the connection is used again, and before it
// is closed. Many clients read an answer only after they have sent everything, and lose it if the connection is reset
// before.
const (
	maxDiscard = 256 << 10
	discardFor = time.Second

	maxLinger  = 256 << 20
	lingerFor  = 10 * time.Second
	lingerIdle = time.Second // without a byte
)

// settle ends an exchange and reports whether the connection goes on.
func (x *Exchange) settle() bool {
	switch {
	case x.tunnel:
		return false
	case x.aborted || !x.ended || x.err != nil:
		x.cut()
		return false
	case !x.body.Done():
		if !x.discard() {
			x.linger()
			return false
		}
		x.last = time.Now()
	}
	if x.shut { // the answer said so; a drain that began later is reported by the next answer
		if x.r < x.w {
			x.linger()
		}
		return false
	}
	x.served = true
	x.at = x.last
	x.mark.Store(x.last.UnixNano())
	return true
}

// discard reads the rest of a request's body if it is short and arrives soon.
func (x *Exchange) discard() bool {
	if x.stop.Load() || x.Req.Expect && !x.continued || x.body.state == bodyPlain && x.body.left > maxDiscard {
		return false
	}
	x.patience, x.readBy = 0, time.Now().Add(discardFor)
	for n := 0; n <= maxDiscard; {
		p, err := x.body.Next()
		if err != nil {
			return x.body.Done()
		}
		n += len(p)
	}
	return false
}

// linger finishes sending and reads on for a moment: closing with unread bytes would reset the connection, and the caller
// might never see its answer.
func (x *Exchange) linger() {
	nc := x.nc
	if x.below != nil { // what comes now is not worth decrypting
		_ = x.nc.(*tls.Conn).CloseWrite()
		nc = x.below.Conn
	}
	if c, ok := nc.(interface{ CloseWrite() error }); !ok || c.CloseWrite() != nil {
		return
	}
	x.r, x.w = 0, 0
	x.widen()
	end := time.Now().Add(lingerFor)
	for n := 0; n <= maxLinger && !x.srv.draining.Load(); {
		by := time.Now().Add(lingerIdle)
		if by.After(end) {
			by = end
		}
		if nc.SetReadDeadline(by) != nil {
			return
		}
		m, err := nc.Read(x.buf)
		if err != nil {
			return
		}
		n += m
	}
}

// cut resets the connection, so that an answer that would end with it cannot be taken for a complete one.
func (x *Exchange) cut() {
	nc := x.nc
	if x.below != nil {
		nc = x.below.Conn // TLS would say goodbye
	}
	if c, ok := nc.(*net.TCPConn); ok {
		_ = c.SetLinger(0)
	}
	nc.Close()
}
