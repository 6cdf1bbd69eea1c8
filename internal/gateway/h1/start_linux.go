package h1

import "syscall"

const canStart = true

// start runs inside one RawConn.Read. The runtime clears the readiness flag before the first call, so after the write start
// can wait for the answer at once, without a read that would find nothing.
func (c *Conn) start(fd uintptr) bool {
	o := &c.out
	if !o.tried {
		o.tried = true
		o.write(fd)
		return o.more || o.err != nil || o.wrote < len(o.head)+len(o.body)
	}
	n, e := rawRead(fd, c.buf[c.w:])
	if e == syscall.EAGAIN || e == syscall.EINTR {
		return false
	}
	o.n = n
	return true
}

func (o *outbox) write(fd uintptr) {
	parts := [...][]byte{o.head, o.body}
	for {
		n, e := rawWrite(fd, parts[:])
		switch e {
		case 0:
			o.wrote = n
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
		default:
			o.err = e
		}
		return
	}
}
