package gateway

import (
	"errors"
	"io"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// upload sends the rest of a request's body, after the part that went out with the head, while Send reads the answer. Its
// goroutine ends before Send returns.
type upload struct {
	done   chan struct{}
	moved  atomic.Int64 // when a byte last went to the worker, Unix nanoseconds
	caller atomic.Bool  // it waits for the caller, not for the worker
	whole  atomic.Bool  // the caller's body has been read to its end

	// Valid once done is closed.
	cause error // of the end; nil: the complete body was sent
	lost  bool  // because of the caller, not the worker

	small []byte // pieces that are sent together
	chunk []byte
}

// stalls returns when the worker will have made no progress for d; zero while the upload waits for the caller.
func (u *upload) stalls(d time.Duration) time.Time {
	if u.caller.Load() {
		return time.Time{}
	}
	return time.Unix(0, u.moved.Load()).Add(d)
}

// finished reports whether everything has been sent.
func (u *upload) finished() bool {
	if u == nil {
		return true
	}
	select {
	case <-u.done:
		return u.cause == nil
	default:
		return false
	}
}

// sent waits a moment for the end of the upload, and reports whether everything has been sent.
func (u *upload) sent() bool {
	if u == nil {
		return true
	}
	timer := time.NewTimer(finishing)
	defer timer.Stop()
	select {
	case <-u.done:
		return u.cause == nil
	case <-timer.C:
		return false
	}
}

// upload starts sending: what is left of the payload, then what the caller sends.
func (j *job) upload(c *h1.Conn, rest []byte) {
	u := &upload{done: make(chan struct{})}
	u.moved.Store(time.Now().UnixNano())
	// Set before the goroutine runs: the worker may have everything and answer first.
	u.whole.Store(j.body.whole || int64(len(j.body.bytes)) == j.req.Length)
	j.up = u
	go func() {
		defer close(u.done)
		u.cause, u.lost = j.copyBody(u, c, rest)
		if u.lost {
			c.Shut() // the worker must not take the body for complete
		}
	}()
}

// finishing bounds the last write of an upload after the answer has come.
const finishing = time.Second

// join ends the upload and waits for it. An upload that has all of the caller's body ends by itself: the worker may answer
// before the last write has returned.
func (j *job) join(c *h1.Conn, failed bool) {
	u := j.up
	if u == nil {
		return
	}
	if failed {
		c.Shut()
	}
	if u.whole.Load() {
		select {
		case <-u.done:
			return
		case <-time.After(finishing):
		}
	}
	j.from.Interrupt()
	if j.buffered == nil {
		j.from.Close() // the end of the body is unknown
	}
	c.Shut()
	<-u.done
}

// gatherAt is the size from which a piece is sent alone. Small pieces that come together are sent together; otherwise a
// caller could cause a write for every byte.
const gatherAt = 4 << 10

var errTooLarge = errors.New("the body is longer than the route allows")

// copyBody sends the body. If that fails, lost tells whether the caller is the cause.
func (j *job) copyBody(u *upload, c *h1.Conn, rest []byte) (cause error, lost bool) {
	if err := u.push(c, rest); err != nil || j.body.whole {
		return err, false
	}
	chunked := j.req.Length < 0
	total := int64(len(j.body.bytes))
	sum := j.digester()
	defer sum.close()
	sum.write(j.body.bytes)
	for {
		u.caller.Store(true)
		p, err := j.from.Next()
		u.caller.Store(false)
		if errors.Is(err, io.EOF) {
			u.whole.Store(true)
			j.body.digest, j.body.size = sum.sum(), total
			break
		}
		if err != nil {
			return err, true
		}
		if total += int64(len(p)); j.route.MaxBody > 0 && total > j.route.MaxBody {
			return errTooLarge, true
		}
		sum.write(p)
		u.whole.Store(total == j.req.Length) // before the worker can know it
		if len(u.small)+len(p) < gatherAt && j.from.Ready() {
			u.small = append(u.small, p...)
			continue
		}
		if len(u.small) > 0 {
			u.small = append(u.small, p...)
			p = u.small
		}
		if chunked {
			p = u.frame(p)
		}
		u.small = u.small[:0]
		if err := u.push(c, p); err != nil {
			return err, false
		}
	}
	if !chunked {
		return u.push(c, u.small), false
	}
	if len(u.small) > 0 {
		if err := u.push(c, u.frame(u.small)); err != nil {
			return err, false
		}
	}
	end := append(u.chunk[:0], "0\r\n"...)
	for _, f := range j.from.Trailers() {
		if !j.mayTrail(&f) {
			continue
		}
		end = h1.AppendField(end, f.Name, f.Value)
	}
	return u.push(c, append(end, "\r\n"...)), false
}

// frame frames p as a chunk.
func (u *upload) frame(p []byte) []byte {
	b := strconv.AppendInt(u.chunk[:0], int64(len(p)), 16)
	b = append(append(append(b, "\r\n"...), p...), "\r\n"...)
	u.chunk = b
	return b
}

// push writes p to the worker and records the progress.
func (u *upload) push(c *h1.Conn, p []byte) error {
	u.moved.Store(time.Now().UnixNano())
	if len(p) == 0 {
		return nil
	}
	_, err := c.Write(p)
	u.moved.Store(time.Now().UnixNano())
	return err
}
