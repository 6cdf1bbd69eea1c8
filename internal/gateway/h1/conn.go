package h1

import (
	"errors"
	"net"
	"os"
	"time"
)

// Conn is a connection to a worker, used by one goroutine at a time. A second one may call Write and Shut.
type Conn struct {
	sock
	pool  *Pool
	Fresh bool // newly dialled

	Resp Response
	Body Body

	since      time.Time // idle since
	learns     bool      // how it is found tells the pool something new
	next, prev *Conn     // in the pool's ring of connections in use

	startFn func(fd uintptr) bool
	out     outbox
	scratch []byte // used by Start where startFn cannot be
}

// atOnce is how much the kernel's buffer takes for certain on a connection without data in flight.
const atOnce = 8 << 10

// outbox is what [Conn.Start] passes to its callback.
type outbox struct {
	head, body []byte
	more       bool // do not wait
	tried      bool
	wrote      int
	err        error // of the write
	n          int   // bytes of the answer
}

// Watch sets what bounds the waits of following reads.
func (c *Conn) Watch(w Watch) { c.watch = w }

// Start writes head and body, in one system call if possible. Unless more of the body follows, it waits for the first bytes
// of the answer. It returns how many bytes the kernel took. If these are fewer than all and err is nil, the caller writes
// the rest while it reads. [Conn.ReadHead] returns errors that come after the write. Nothing is ever written twice.
func (c *Conn) Start(head, body []byte, more bool) (wrote int, err error) {
	c.Resp.Keep = false
	now := c.lately()
	if c.raw == nil || !canStart {
		if len(head)+len(body) > atOnce {
			return 0, nil // it could block without a bound
		}
		c.scratch = append(append(c.scratch[:0], head...), body...)
		return c.nc.Write(c.scratch)
	}
	c.pool.crowd.Pass(now, c.who)
	c.out = outbox{head: head, body: body, more: more}
	for !c.out.tried {
		if err := c.arm(now, now); err != nil {
			return 0, err
		}
		err = c.raw.Read(c.startFn)
		if !c.out.tried && !errors.Is(err, os.ErrDeadlineExceeded) {
			return 0, err // closed
		}
		if !c.out.tried {
			now, c.armed = time.Now(), time.Time{} // an earlier exchange's deadline came just now
		}
	}
	wrote, werr := c.out.wrote, c.out.err
	c.w += c.out.n
	c.out = outbox{}
	return wrote, werr // the next read returns the error of the wait
}

// Write writes more of the request's body.
func (c *Conn) Write(p []byte) (int, error) { return c.nc.Write(p) }

// WriteBy sets the deadline of following writes.
func (c *Conn) WriteBy(t time.Time) error { return c.nc.SetWriteDeadline(t) }

// ReadHead reads one head into Resp, including a 1xx, and prepares Body. The error is an [*Error] if the worker does not
// speak HTTP, the [Watch]'s error if it gave up, and otherwise the connection's.
func (c *Conn) ReadHead(method string) error {
	n, err := c.head(c.pool.cfg.Limits)
	if err != nil {
		if c.w > c.r {
			err = short(err)
			if rule := otherProtocol(c.buffered()); rule != "" {
				err = &Error{Status: 502, Rule: rule}
			}
		}
		return err
	}
	head := string(c.buf[c.r : c.r+n])
	c.r += n
	if err := c.Resp.Parse(head, method, c.pool.cfg.Limits); err != nil {
		return err
	}
	c.Body.reset(&c.sock, c.Resp.Length, c.pool.cfg.Limits)
	c.Body.lenient = true
	return nil
}

// otherProtocol names the protocol of a worker that does not speak HTTP/1.1 without TLS, by its first bytes; "" if they are
// no sign of one.
func otherProtocol(b []byte) string {
	const alert, settings = 0x15, 4
	switch {
	case len(b) >= 2 && b[0] == alert && b[1] == 3:
		return "the worker speaks TLS; its address must begin with https://"
	case len(b) >= 4 && b[0] == 0 && b[3] == settings:
		return "the worker speaks HTTP/2 only; its fleet needs http2: true"
	}
	return ""
}

// Release gives the connection back, as [Conn.ReleaseAt] at the current time does.
func (c *Conn) Release(keep bool) { c.ReleaseAt(keep, time.Time{}) }

// ReleaseAt gives the connection back. A zero now is the current time. With keep, the exchange on it must be over on both
// sides. It is closed even then if the answer asks for that, or if more than the answer has come.
func (c *Conn) ReleaseAt(keep bool, now time.Time) {
	keep = keep && c.Resp.Keep && c.Body.Done() && c.r == c.w && !c.over && !c.more()
	c.Fresh = false
	c.watch = nil
	if keep {
		c.narrow()
		if c.since = now; now.IsZero() {
			c.since = time.Now()
		}
	}
	if !c.pool.put(c, keep) {
		c.shut()
	}
}

// shut closes the connection for good.
func (c *Conn) shut() {
	c.nc.Close()
	c.free()
}

// Shut closes the connection. A read or write in progress fails. The connection must still be released.
func (c *Conn) Shut() { c.cut() }

// NetConn returns the connection and the bytes that were read after the head, for a tunnel.
func (c *Conn) NetConn() (net.Conn, []byte) { return c.nc, c.buffered() }
