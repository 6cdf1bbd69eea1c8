package gateway

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/problem"
)

// bodyBuffer is a caller's wire whose request has come completely. The part of the body that is not held in memory is in a
// file. So a slow caller does not hold a worker, and the worker gets the body's length, which servers need that follow CGI.
type bodyBuffer struct {
	caller
	g        *Gateway
	spool    spool
	reserved int64 // part of Gateway.spooled
	declared int64 // the length that the caller gave; -1: none
	over     atomic.Bool
	buf      []byte
}

var (
	errNoLength = errors.New("the body has no length and is longer than the route buffers")
	errNoDisk   = errors.New("there is no room on the disk for the body")
)

// bufferBody reads the rest of the body into a file, if the route wants it and the body is not too long. A body with a length
// that is longer, or for which there is no room, is sent on as it comes.
func (j *job) bufferBody() error {
	most := j.route.BufferBody
	if most == 0 || j.body.whole || j.req.Length > most || j.isGRPC() {
		return nil
	}
	total := int64(len(j.body.bytes))
	b := &bodyBuffer{caller: j.from, g: j.g, declared: j.req.Length}
	if b.declared >= 0 && !b.reserve(b.declared-total) {
		return nil
	}
	j.at = time.Time{}
	j.from.Patience(0, j.deadline.by)
	defer j.from.Patience(0, time.Time{})
	for {
		p, err := j.from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		total += int64(len(p))
		switch {
		case err != nil:
		case j.route.MaxBody > 0 && total > j.route.MaxBody:
			err = errTooLarge
		case b.declared < 0 && total > most:
			err = errNoLength
		case b.declared < 0 && !b.reserve(int64(len(p))), b.spool.write(p) != nil:
			err = errNoDisk
		}
		if err != nil {
			b.clear()
			return err
		}
	}
	j.from, j.buffered, j.req.Length = b, b, total
	return nil
}

// reserve claims room on the disk.
func (b *bodyBuffer) reserve(n int64) bool {
	if b.g.spooled.Add(n) > MaxSpooled {
		b.g.spooled.Add(-n)
		return false
	}
	b.reserved += n
	return true
}

// clear drops the file.
func (b *bodyBuffer) clear() {
	b.spool.close()
	b.g.spooled.Add(-b.reserved)
	b.reserved = 0
}

// Next returns more of the body from the file.
func (b *bodyBuffer) Next() ([]byte, error) {
	switch {
	case b.over.Load():
		return nil, errSendingOver
	case b.spool.size() == 0:
		return nil, io.EOF
	case b.buf == nil:
		b.buf = make([]byte, min(readSize, b.spool.size()))
	}
	n, _, err := b.spool.read(b.buf)
	return b.buf[:n], err
}

// Ready reports whether Next returns without waiting, which it always does.
func (b *bodyBuffer) Ready() bool { return b.spool.size() > 0 }

// Trailers returns nothing: a body with a length has none.
func (b *bodyBuffer) Trailers() []h1.Field { return nil }

// Interrupt ends the reads.
func (b *bodyBuffer) Interrupt() { b.over.Store(true) }

// unbuffered answers a request whose body could not be buffered; false if err is something else.
func (j *job) unbuffered(err error) bool {
	switch {
	case errors.Is(err, errNoLength):
		j.problem(problem.Document{
			Type: "too-large", Status: http.StatusRequestEntityTooLarge,
			Detail: "The body has no Content-Length, and is longer than the " + strconv.FormatInt(j.route.BufferBody, 10) + " bytes that the route buffers.",
		})
	case errors.Is(err, errNoDisk):
		j.problem(problem.Document{
			Type: "unavailable", Status: http.StatusServiceUnavailable, Detail: "There is no room to buffer the body at the moment.",
		}, retryAfter(time.Second))
	default:
		return false
	}
	return true
}
