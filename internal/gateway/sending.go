package gateway

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// sending is the body of a request over HTTP/2: what is held of it, and then what the
// caller sends. net/http reads it on a goroutine of its own, and closes it.
type sending struct {
	j        *job
	trailers http.Header // that are announced; net/http sends them behind the body

	closed atomic.Bool
	done   atomic.Bool // all of it has come from the caller

	mu    sync.Mutex // held while it is read
	held  []byte     // not sent yet
	sum   digester
	total int64 // bytes that have come
	taken bool  // some of them from the caller, after the head: gone if they are not sent
}

var errSendingOver = errors.New("the request is over")

func newSending(j *job, trailers http.Header) *sending {
	b := &sending{j: j, trailers: trailers, held: j.body.bytes, total: int64(len(j.body.bytes))}
	b.done.Store(j.body.whole)
	if j.body.whole {
		for i := range j.body.trailers {
			b.trail(j.body.trailers[i].Name, j.body.trailers[i].Value)
		}
		return b
	}
	b.sum = j.digester()
	b.sum.write(j.body.bytes)
	b.endAt(j.req.Length)
	return b
}

// trail sets a trailer that has been announced. It is called before the body has ended
// for net/http.
func (b *sending) trail(name, value string) {
	name = http.CanonicalHeaderKey(name)
	if values, ok := b.trailers[name]; ok {
		b.trailers[name] = append(values, value)
	}
}

// ended reports whether the caller has sent all of the body.
func (b *sending) ended() bool { return b.done.Load() }

// kept reports whether the body can be sent again: nothing more is to come from the
// caller, and nothing has since the head went out. Reads must have ended.
func (b *sending) kept() bool { return b.ended() && !b.taken }

// endAt takes note of the end of a body whose length is known.
func (b *sending) endAt(length int64) {
	if b.total == length {
		b.finish()
	}
}

func (b *sending) finish() {
	b.j.body.digest, b.j.body.size = b.sum.sum(), b.total
	b.j.up.whole.Store(true)
	b.done.Store(true)
}

// Read implements [io.Reader].
func (b *sending) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed.Load() {
		return 0, errSendingOver // net/http may ask still, when the job is another's
	}
	if u := b.j.up; u != nil {
		u.moved.Store(time.Now().UnixNano()) // what was read before has gone
	}
	for len(b.held) == 0 {
		if b.done.Load() {
			return 0, io.EOF
		}
		if err := b.more(); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.held)
	b.held = b.held[n:]
	return n, nil
}

// more waits for more of the body from the caller. mu is held.
func (b *sending) more() error {
	j := b.j
	j.up.caller.Store(true)
	p, err := j.from.Next()
	j.up.caller.Store(false)
	j.up.moved.Store(time.Now().UnixNano())
	if errors.Is(err, io.EOF) {
		for _, f := range j.from.Trailers() {
			if j.mayTrail(&f) {
				b.trail(f.Name, f.Value)
			}
		}
		b.finish()
		return nil
	}
	if b.total += int64(len(p)); err == nil && j.route.MaxBody > 0 && b.total > j.route.MaxBody {
		err = errTooLarge
	}
	if err != nil {
		if !b.closed.Load() {
			j.up.cause, j.up.lost = err, true
		}
		return err
	}
	b.sum.write(p)
	b.held, b.taken = p, true
	b.endAt(j.req.Length)
	return nil
}

// stop ends the reads.
func (b *sending) stop() {
	if !b.closed.Swap(true) && !b.ended() {
		b.j.from.Interrupt()
	}
}

// Close implements [io.Closer].
func (b *sending) Close() error {
	b.end()
	return nil
}

// end ends the body. Nothing is read from the caller once it has returned.
func (b *sending) end() {
	b.stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = nil
	b.sum.close()
	b.sum = digester{}
}
