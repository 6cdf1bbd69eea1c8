package gateway

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// sending is the body of a request over HTTP/2: the held part, and then what the caller sends. net/http reads it on its own
// goroutine, and closes it.
type sending struct {
	j        *job
	trailers http.Header // announced ones; net/http sends them after the body

	closed atomic.Bool
	done   atomic.Bool // the caller has sent everything

	mu    sync.Mutex // held during a read
	held  []byte     // not sent yet
	sum   digester
	total int64 // bytes that have come
	taken bool  // some came from the caller after the head: they are lost if not sent
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

// trail sets an announced trailer. It must be called before the body ends for net/http.
func (b *sending) trail(name, value string) {
	name = http.CanonicalHeaderKey(name)
	if values, ok := b.trailers[name]; ok {
		b.trailers[name] = append(values, value)
	}
}

// ended reports whether the caller has sent the complete body.
func (b *sending) ended() bool { return b.done.Load() }

// kept reports whether the body can be sent again: the caller sends nothing more, and sent nothing since the head went out.
// Reads must have ended.
func (b *sending) kept() bool { return b.ended() && !b.taken }

// endAt records the end of a body whose length is known.
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
		return 0, errSendingOver // net/http may still read when the job serves another request
	}
	if u := b.j.up; u != nil {
		u.moved.Store(time.Now().UnixNano()) // the bytes of the previous read have been sent
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

// more waits for more of the body from the caller. The caller of more holds mu.
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

// end ends the body. After it, nothing is read from the caller.
func (b *sending) end() {
	b.stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = nil
	b.sum.close()
	b.sum = digester{}
}
