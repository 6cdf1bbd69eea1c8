package h1

import "golang.org/x/sys/unix"

const canStart = true

// start runs inside one RawConn.Read. The runtime's readiness flag is cleared
// before the first call, so after the write it can wait for the answer at once,
// without the read that would find nothing.
func (c *Conn) start(fd uintptr) bool {
	o := &c.out
	if !o.tried {
		o.tried = true
		o.write(int(fd))
		return o.more || o.err != nil || o.wrote < len(o.head)+len(o.body)
	}
	n, err := unix.Read(int(fd), c.buf[c.w:])
	if err == unix.EAGAIN || err == unix.EINTR {
		return false
	}
	o.n, o.rerr = n, err
	return true
}

func (o *outbox) write(fd int) {
	for {
		var n int
		var err error
		if len(o.body) == 0 {
			n, err = unix.Write(fd, o.head)
		} else {
			n, err = unix.Writev(fd, [][]byte{o.head, o.body})
		}
		switch err {
		case nil:
			o.wrote = n
		case unix.EINTR:
			continue
		case unix.EAGAIN:
		default:
			o.err = err
		}
		return
	}
}
