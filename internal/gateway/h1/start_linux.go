package h1

import "syscall"

const canStart = true

// start runs inside one RawConn.Read. The runtime clears the readiness flag before the first call, so after the write start
// can wait for the answer at once, without a read that would find nothing.
func (c *Conn) start(fd uintptr) bool {
	o := &c.out
	if !o.tried {
		o.tried = true
		o.write(fd, c.joined())
		return o.more || o.err != nil || o.wrote < len(o.head)+len(o.body)
	}
	n, e := rawRead(fd, c.buf[c.w:])
	if e == syscall.EAGAIN || e == syscall.EINTR {
		return false
	}
	o.n = n
	return true
}

// joined returns head and body, as one where that is short: two pieces cost the kernel
// more than a copy. It is made in the read buffer, which is empty until the answer comes.
func (c *Conn) joined() [2][]byte {
	const short = 4 << 10
	o := &c.out
	if n := len(o.head) + len(o.body); len(o.body) > 0 && n <= short && c.w == 0 && n <= len(c.buf) {
		copy(c.buf[copy(c.buf, o.head):], o.body)
		return [2][]byte{c.buf[:n]}
	}
	return [2][]byte{o.head, o.body}
}

func (o *outbox) write(fd uintptr, parts [2][]byte) {
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
