package h1

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// serverTLS returns the settings of a server's TLS. Callers choose between HTTP/2, if the
// server has a handler for it, and HTTP/1. The name of HTTP/1.0 is in the list because
// crypto/tls refuses callers whose names are all unknown, such as curl --http1.0.
func serverTLS(cfg *tls.Config, http2 bool) *tls.Config {
	cfg = cfg.Clone()
	protos := []string{"http/1.1", "http/1.0"}
	if http2 {
		protos = append([]string{"h2"}, protos...)
	}
	for _, p := range protos {
		if !slices.Contains(cfg.NextProtos, p) {
			cfg.NextProtos = append(cfg.NextProtos, p)
		}
	}
	return cfg
}

// below is the connection below a caller's TLS, or the connection of a caller who speaks
// HTTP/2 without TLS. net/http gets both kinds when HTTP/2 is passed on.
//
// Below TLS, a write continues for as long as the caller takes bytes, as writes without TLS
// do, because a tls.Conn cannot be used after a write deadline has expired. Records that
// TLS writes one by one can be sent in one system call.
type below struct {
	net.Conn
	x     *Exchange
	raw   syscall.RawConn // of Conn; nil when that is not a file descriptor
	early []byte          // read already, and to be read first
	in    rawIO

	patience atomic.Int64 // for the caller to take anything; 0: the deadline of Conn counts

	mu    sync.Mutex // guards what follows
	out   rawOut
	vec   net.Buffers // what out is given, of slot
	slot  [1][]byte
	moved int64 // bytes that the kernel took

	corked bool
	held   []byte // not yet sent; a buffer of the server's pool, or nil

	once   sync.Once
	closed chan struct{}
}

func newBelow(nc net.Conn, x *Exchange) *below {
	return &below{Conn: nc, x: x, raw: rawOf(nc), closed: make(chan struct{})}
}

var errNoFile = errors.New("the connection is not a file descriptor")

// SyscallConn lets a sock look below TLS.
func (b *below) SyscallConn() (syscall.RawConn, error) {
	if b.raw == nil {
		return nil, errNoFile
	}
	return b.raw, nil
}

// Read reads what came early, then on.
func (b *below) Read(p []byte) (int, error) {
	if len(b.early) > 0 {
		n := copy(p, b.early)
		b.early = b.early[n:]
		return n, nil
	}
	return b.in.recv(b.raw, b.Conn, p)
}

// Write sends p, or keeps it until uncork.
func (b *below) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.corked {
		if len(b.held)+len(p) <= cap(b.held) {
			b.held = append(b.held, p...)
			return len(p), nil
		}
		err := b.send(b.held)
		b.held = b.held[:0]
		if err != nil {
			return 0, err
		}
	}
	before := b.moved
	err := b.send(p)
	return int(b.moved - before), err
}

// cork keeps what is written, about size bytes, until uncork.
func (b *below) cork(size int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.corked, b.moved = true, 0
	if size > smallBuffer/2 {
		b.held = b.x.pool.getLarge()[:0]
	} else {
		b.held = b.x.pool.getSmall()[:0]
	}
}

// uncork sends what was kept. It returns how much the kernel took since cork.
func (b *below) uncork() (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.send(b.held)
	b.x.pool.put(b.held[:cap(b.held)])
	b.corked, b.held = false, nil
	return b.moved, err
}

// send writes p. A deadline that was set for an earlier write only makes it set a new one.
func (b *below) send(p []byte) error {
	for stalled := false; len(p) > 0; {
		b.slot[0], b.vec = p, b.slot[:]
		n, err := b.out.write(b.raw, b.Conn, &b.vec)
		b.slot[0] = nil
		p = p[n:]
		b.moved += n
		patience := time.Duration(b.patience.Load())
		switch {
		case err == nil:
		case patience == 0 || !errors.Is(err, os.ErrDeadlineExceeded) || stalled && n == 0:
			return err
		default:
			stalled = true
			if err := b.Conn.SetWriteDeadline(time.Now().Add(patience)); err != nil {
				return err
			}
		}
	}
	return nil
}

// wait makes each write go on until the caller has taken nothing for d, or up to twice as
// long.
func (b *below) wait(d time.Duration) error {
	b.patience.Store(int64(d))
	return b.Conn.SetWriteDeadline(time.Now().Add(d))
}

// SetWriteDeadline sets one that ends a write.
func (b *below) SetWriteDeadline(t time.Time) error {
	b.patience.Store(0)
	return b.Conn.SetWriteDeadline(t)
}

// SetDeadline sets one that ends a write, or a read.
func (b *below) SetDeadline(t time.Time) error {
	b.patience.Store(0)
	return b.Conn.SetDeadline(t)
}

// Close ends the connection. One that was passed on gives its place back.
func (b *below) Close() error {
	err := b.Conn.Close()
	b.once.Do(func() { close(b.closed) })
	return err
}

// shake does the handshake, once the caller begins it. It reports whether HTTP/1.1
// follows.
func (x *Exchange) shake(t *tls.Conn) bool {
	if canRest && x.base != nil {
		x.phase.Store(phaseShake)
		if x.rest() != nil {
			return false
		}
	}
	x.phase.Store(phaseHead)
	end := x.opened.Add(x.srv.cfg.HeadTimeout)
	if t.SetDeadline(end) != nil || x.leave.Load() { // which may have woken it before
		return false
	}
	if err := t.HandshakeContext(context.Background()); err != nil { // its deadline ends it
		x.unshaken(err)
		return false
	}
	if t.ConnectionState().NegotiatedProtocol == "h2" {
		x.free()
		x.passOn(t)
		return false
	}
	x.armed = end
	return x.below.wait(x.srv.cfg.WriteTimeout) == nil
}

// unshaken notes why a handshake failed. A caller who speaks HTTP without TLS is told.
func (x *Exchange) unshaken(err error) {
	var e tls.RecordHeaderError
	if errors.As(err, &e) && e.Conn != nil && looksLikeHTTP(e.RecordHeader) {
		_, _ = io.WriteString(e.Conn, "HTTP/1.0 400 Bad Request\r\n\r\nThis port takes HTTPS only.\n")
		err = errors.New("the caller speaks HTTP without TLS")
	}
	x.srv.cfg.Log.Debug("no TLS handshake", "client", x.Remote, "error", err)
}

func looksLikeHTTP(begins [5]byte) bool {
	switch string(begins[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "DELET", "PATCH", "PRI *":
		return true
	}
	return false
}

// writeTLS writes vec, in one system call where it can.
func (x *Exchange) writeTLS() (int64, error) {
	const direct = 1 << 10 // becomes one record, whatever TLS has sent
	if len(x.vec) == 1 && len(x.vec[0]) <= direct {
		n, err := x.nc.Write(x.vec[0])
		return int64(n), err
	}
	size := 0
	for _, p := range x.vec {
		size += len(p)
	}
	x.below.cork(size)
	var err error
	for _, p := range x.vec {
		if len(p) > 0 && err == nil {
			_, err = x.nc.Write(p)
		}
	}
	n, sent := x.below.uncork()
	err = cmp.Or(err, sent)
	return n, err
}

// Secure reports whether the caller speaks TLS.
func (x *Exchange) Secure() bool { return x.below != nil }

// Local returns our end of the connection.
func (x *Exchange) Local() net.Addr { return x.nc.LocalAddr() }

// State hears from net/http what becomes of a connection that [ServerConfig.HTTP2] took.
// While it has no request it makes room for others, as all that are silent do.
func State(c net.Conn, s http.ConnState) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	b, ok := c.(*below)
	if !ok {
		return
	}
	switch s {
	case http.StateActive:
		b.x.idle(false)
	case http.StateIdle:
		b.x.idle(true)
	case http.StateNew, http.StateHijacked, http.StateClosed:
	}
}
