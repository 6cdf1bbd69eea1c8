package h1

import (
	"errors"
	"net"
	"os"
	"strconv"
	"time"
)

// Head is the head of an answer. The server writes Connection, Transfer-Encoding and Content-Length; fields with these
// names are left out.
type Head struct {
	Status int
	Reason string
	Fields []Field
	Lines  []byte    // further encoded fields, as AppendField writes them; package h1 does not interpret them
	Length int64     // of the body; below 0: unknown
	Bare   bool      // no body follows; a Content-Length among Fields is kept
	At     time.Time // for the Date field; zero: now
}

// reply is the writing part of an [Exchange].
type reply struct {
	out   []byte // not yet written
	vec   net.Buffers
	slots [3][]byte // the parts of vec

	headAt    time.Time // Head.At
	left      int64     // bytes of the body to come, if its length is known
	chunked   bool
	bare      bool
	began     bool
	ended     bool
	sent      bool // part of the final answer has reached the kernel
	continued bool
	shut      bool // the connection ends after this answer
	tunnel    bool
	aborted   bool
	err       error // of a write; stays
}

// flushAt is how much of an answer is gathered before it is written.
const flushAt = 8 << 10

var (
	errBodyTooLong = errors.New("the answer is longer than its Content-Length")
	errNotBegun    = errors.New("the answer has not begun")
)

func (x *Exchange) resetReply() {
	out, err := x.out, x.err
	if cap(out) > 2*flushAt {
		out = nil
	}
	x.reply = reply{} // in place: a literal with values would be built elsewhere and copied
	x.out, x.err = out[:0], err
	life := x.srv.cfg.Lifetime
	x.shut = x.Req.Close || life > 0 && x.Began.Sub(x.opened) >= life
}

// Hint sends an interim answer (1xx other than 101). Callers with HTTP/1.0 do not get it.
func (x *Exchange) Hint(status int, reason string, fields []Field) error {
	if x.Req.Minor == 0 || x.began {
		return nil
	}
	out := appendStatus(x.out, status, reason)
	for i := range fields {
		out = AppendField(out, fields[i].Name, fields[i].Value)
	}
	return x.interim(append(out, "\r\n"...))
}

// interim writes out at once; it does not count as part of the answer.
func (x *Exchange) interim(out []byte) error {
	x.out = out
	err := x.Flush()
	x.sent = false
	return err
}

// Begin starts the answer. Its bytes may stay buffered until Flush or End.
func (x *Exchange) Begin(h *Head) error {
	x.began = true
	x.bare = h.Bare || x.Req.Method == "HEAD"
	x.left, x.headAt = h.Length, h.At
	x.chunked = !x.bare && h.Length < 0 && x.Req.Minor == 1
	x.shut = x.shut || x.srv.draining.Load() || !x.bare && h.Length < 0 && x.Req.Minor == 0
	out := appendStatus(x.out, h.Status, h.Reason)
	dated := false
	for i := range h.Fields {
		f := &h.Fields[i]
		switch f.Key {
		case Connection, TransferEncoding, KeepAlive:
			continue
		case ContentLength:
			if !x.bare || h.Status < 200 || h.Status == 204 {
				continue
			}
		case Date:
			dated = true
		default:
		}
		out = AppendField(out, f.Name, f.Value)
	}
	out = append(out, h.Lines...)
	if !dated && h.Status != 101 {
		out = AppendField(out, "Date", x.srv.date(h.At))
	}
	switch {
	case h.Status == 101:
		out = append(out, "Connection: Upgrade\r\n"...)
	case x.shut:
		out = append(out, "Connection: close\r\n"...)
	case x.Req.Minor == 0:
		out = append(out, "Connection: keep-alive\r\n"...)
	}
	switch {
	case x.chunked:
		out = append(out, "Transfer-Encoding: chunked\r\n"...)
	case !x.bare && h.Length >= 0:
		out = append(out, "Content-Length: "...)
		out = strconv.AppendInt(out, h.Length, 10)
		out = append(out, "\r\n"...)
	}
	x.out = append(out, "\r\n"...)
	return x.err
}

func appendStatus(out []byte, status int, reason string) []byte {
	out = append(out, "HTTP/1.1 "...)
	out = strconv.AppendInt(out, int64(status), 10)
	out = append(out, ' ')
	out = append(out, reason...)
	return append(out, "\r\n"...)
}

// Write adds to the body. p may be used again when it returns.
func (x *Exchange) Write(p []byte) error {
	switch {
	case x.err != nil:
		return x.err
	case !x.began:
		return errNotBegun
	case x.bare || len(p) == 0:
		return nil
	case x.chunked:
		x.out = strconv.AppendUint(x.out, uint64(len(p)), 16)
		x.out = append(x.out, "\r\n"...)
		return x.add(p, "\r\n")
	case x.left >= 0:
		if x.left -= int64(len(p)); x.left < 0 {
			x.err = errBodyTooLong
			return x.err
		}
	}
	return x.add(p, "")
}

// add buffers p and tail, or writes them with what is buffered.
func (x *Exchange) add(p []byte, tail string) error {
	if len(x.out)+len(p) <= flushAt {
		x.out = append(append(x.out, p...), tail...)
		return nil
	}
	head := len(x.out)
	x.out = append(x.out, tail...)
	x.slots = [3][]byte{x.out[:head], p, x.out[head:]}
	x.vec = x.slots[:]
	err := x.writeVec()
	x.out = x.out[:0]
	return err
}

// Flush writes what is buffered.
func (x *Exchange) Flush() error {
	if x.err != nil || len(x.out) == 0 {
		return x.err
	}
	x.slots[0] = x.out
	x.vec = x.slots[:1]
	err := x.writeVec()
	x.out = x.out[:0]
	return err
}

// writeVec writes vec. It sets a new write deadline only if the current one passes. A write that makes no progress for
// WriteTimeout, or up to twice as long, fails.
func (x *Exchange) writeVec() error {
	if x.below != nil {
		n, err := x.writeTLS()
		x.sent, x.err = x.sent || n > 0, err
		return err
	}
	for stalled := false; ; {
		n, err := x.send.write(x.raw, x.nc, &x.vec)
		x.sent = x.sent || n > 0
		switch {
		case err == nil && len(x.vec) == 0:
			return nil
		case err == nil:
			continue
		case !errors.Is(err, os.ErrDeadlineExceeded) || stalled && n == 0:
			x.err = err
			return err
		}
		stalled = true
		if err := x.nc.SetWriteDeadline(time.Now().Add(x.srv.cfg.WriteTimeout)); err != nil {
			x.err = err
			return err
		}
	}
}

func writeNet(nc net.Conn, parts *net.Buffers) (int64, error) {
	if len(*parts) > 1 {
		return parts.WriteTo(nc) // skips empty ones
	}
	n, err := nc.Write((*parts)[0])
	if (*parts)[0] = (*parts)[0][n:]; len((*parts)[0]) == 0 {
		*parts = nil
	}
	return int64(n), err
}

// End completes the answer. The trailers are sent if the answer is chunked.
func (x *Exchange) End(trailers []Field) error {
	switch {
	case x.err != nil:
		return x.err
	case !x.began:
		return errNotBegun
	case x.chunked:
		x.out = append(x.out, "0\r\n"...)
		for i := range trailers {
			x.out = AppendField(x.out, trailers[i].Name, trailers[i].Value)
		}
		x.out = append(x.out, "\r\n"...)
	case !x.bare && x.left > 0:
		x.err = errors.New("the answer is shorter than its Content-Length")
		return x.err
	}
	now := x.headAt
	if x.sent || now.IsZero() {
		now = time.Now() // it has waited since the head
	}
	x.srv.answers.Pass(now, x.who)
	err := x.Flush()
	x.ended = err == nil
	x.last = time.Now()
	return err
}

// EndedAt returns when the answer had been sent; zero: it has not been.
func (x *Exchange) EndedAt() time.Time {
	if !x.ended {
		return time.Time{}
	}
	return x.last
}

// Sent reports whether part of the final answer has reached the caller.
func (x *Exchange) Sent() bool { return x.sent }

// Reset takes back an answer if nothing of it has been sent, so that another can begin. It reports whether it did.
func (x *Exchange) Reset() bool {
	if x.sent || x.err != nil {
		return false
	}
	x.out = x.out[:0]
	x.began, x.ended, x.chunked, x.bare = false, false, false, false
	return true
}

// Close makes the connection end after the answer. Call it before Begin.
func (x *Exchange) Close() { x.shut = true }

// Abort cuts the connection, so that the caller cannot take the bytes that it got for the complete answer.
func (x *Exchange) Abort() { x.aborted = true }
