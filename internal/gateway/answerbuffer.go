package gateway

import (
	"os"
	"slices"
	"sync"

	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// MaxSpooled bounds the bytes of answers that wait on disk for their callers, over all requests of a gateway. Beyond it,
// workers wait for callers.
const MaxSpooled = 1 << 30

// flowAt is how much of an answer is gathered before any of it is passed on. Until then it can be taken back.
const flowAt = 8 << 10

// answerBuffer is a caller's wire that takes an answer as fast as its worker sends it. A separate goroutine passes it on as
// fast as the caller takes it. Waiting data are held in memory up to a limit, and on disk beyond it. Streams are not
// buffered.
type answerBuffer struct {
	caller
	g     *Gateway
	limit int // bytes in memory

	head    *h1.Head
	through bool // the answer is not buffered

	mu       sync.Mutex // guards what follows
	news     sync.Cond  // signals changes
	mem      []byte     // waits before the data in the file
	passing  int        // bytes that are being passed on
	spool    spool
	flows    bool // the writer has begun
	ended    bool // nothing more comes
	cut      bool // nothing more is passed on
	trailers []h1.Field
	sent     int64 // bytes that the caller's wire has taken
	err      error // of the writing goroutine
	done     bool  // the writing goroutine has ended
}

// bufferAnswer puts the buffer between the request and its wire, if the route wants it.
func (j *job) bufferAnswer() {
	if j.route.BufferAnswer <= 0 || j.req.Upgrade != "" || j.isGRPC() {
		return
	}
	b := &answerBuffer{caller: j.meter.caller, g: j.g, limit: j.route.BufferAnswer}
	b.news.L = &b.mu
	j.meter.caller, j.answer = b, b
}

// drain drops a buffered body, and waits until the caller has got the buffered answer, or cannot get it. After that nothing touches the caller's wire.
func (j *job) drain() {
	if j.buffered != nil {
		j.buffered.clear()
	}
	b := j.answer
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.clear()
	if !b.flows {
		return
	}
	if !b.ended {
		b.cut = true
	}
	b.news.Broadcast()
	for !b.done {
		b.news.Wait()
	}
	j.rec.BytesOut = b.sent
	if b.cut || b.err != nil {
		j.rec.Cut = true
		b.caller.Abort()
	}
}

// clear drops the waiting data. The caller holds mu.
func (b *answerBuffer) clear() {
	b.g.held.Add(-int64(len(b.mem)))
	b.mem = nil
	b.g.spooled.Add(-b.spool.close())
}

func (b *answerBuffer) begun() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.flows
}

// Begin keeps the head.
func (b *answerBuffer) Begin(h *h1.Head) error {
	if b.through = admission.IsStream(h.Status, contentType(h.Fields)); b.through {
		return b.caller.Begin(h)
	}
	b.head = h
	return nil
}

// Write takes p. It waits for the caller only if there is no room at all.
func (b *answerBuffer) Write(p []byte) error {
	if b.through {
		return b.caller.Write(p)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.err == nil && !b.cut {
		n := b.take(p)
		p = p[n:]
		if len(p) > 0 || len(b.mem) >= flowAt || b.spool.size() > 0 {
			b.flow()
		}
		b.news.Broadcast()
		if len(p) == 0 {
			return nil
		}
		if n == 0 {
			b.news.Wait()
		}
	}
	return b.err
}

// take buffers as much of p as fits. The caller holds mu.
func (b *answerBuffer) take(p []byte) int {
	n := min(len(p), b.limit-len(b.mem)-b.passing)
	if n > 0 && b.spool.size() == 0 && b.reserve(n) {
		b.mem = append(b.mem, p[:n]...)
		return n
	}
	n = len(p)
	if b.g.spooled.Add(int64(n)) <= MaxSpooled && b.spool.write(p) == nil {
		return n
	}
	b.g.spooled.Add(-int64(n))
	if len(b.mem)+b.passing > 0 || b.spool.size() > 0 {
		return 0 // data being passed on will make room
	}
	// No other data would make room. Even without a buffer this much passes through memory.
	n = min(n, readSize)
	b.g.held.Add(int64(n))
	b.mem = append(b.mem, p[:n]...)
	return n
}

// reserve claims room for n bytes in the memory for all requests.
func (b *answerBuffer) reserve(n int) bool {
	if b.g.held.Add(int64(n)) <= b.g.now.Load().cfg.MaxBuffered {
		return true
	}
	b.g.held.Add(-int64(n))
	return false
}

// flow starts the writing goroutine, if it does not run. The caller holds mu.
func (b *answerBuffer) flow() {
	if !b.flows && b.head != nil {
		b.flows = true
		go b.write()
	}
}

// write passes the answer on.
func (b *answerBuffer) write() {
	err := b.caller.Begin(b.head)
	var buf []byte
	for err == nil {
		p, last := b.next(&buf)
		if last {
			break
		}
		if p == nil {
			err = b.caller.Flush()
			b.rest()
			continue
		}
		err = b.caller.Write(p)
		b.passed(len(p), err)
	}
	if err == nil && b.whole() {
		err = b.caller.End(b.trailers)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err, b.done = err, true
	b.news.Broadcast()
}

// whole reports whether the complete answer has been passed on.
func (b *answerBuffer) whole() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended && !b.cut
}

// next returns the next data to pass on, in buf or instead of it; nil if none wait. last means that nothing more comes.
func (b *answerBuffer) next(buf *[]byte) (p []byte, last bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.cut:
		return nil, true
	case len(b.mem) > 0:
		*buf, b.mem = b.mem, (*buf)[:0]
		b.passing = len(*buf)
		return *buf, false
	case b.spool.size() > 0:
		if cap(*buf) < readSize {
			*buf = make([]byte, readSize)
		}
		n, freed, err := b.spool.read((*buf)[:readSize])
		b.g.spooled.Add(-freed)
		if err != nil {
			b.cut = true // part of the answer is lost
			return nil, true
		}
		return (*buf)[:n], false
	}
	return nil, b.ended
}

// rest waits until there is something to do.
func (b *answerBuffer) rest() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.mem) == 0 && b.spool.size() == 0 && !b.ended && !b.cut {
		b.news.Wait()
	}
}

// passed records that n bytes have been passed on.
func (b *answerBuffer) passed(n int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.g.held.Add(-int64(b.passing))
	b.passing = 0
	if b.sent += int64(n); err != nil {
		b.sent -= int64(n)
		b.err = err
	}
	b.news.Broadcast()
}

// Flush starts passing on the buffered data.
func (b *answerBuffer) Flush() error {
	if b.through {
		return b.caller.Flush()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flow()
	return b.err
}

// End marks the answer as complete. The caller may have got little of it yet.
func (b *answerBuffer) End(trailers []h1.Field) error {
	if b.through {
		return b.caller.End(trailers)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trailers, b.ended = slices.Clone(trailers), true
	b.flow()
	b.news.Broadcast()
	return b.err
}

// Sent reports whether the answer can no longer be taken back.
func (b *answerBuffer) Sent() bool { return b.begun() || b.caller.Sent() }

// Reset takes the answer back, unless some of it has been passed on.
func (b *answerBuffer) Reset() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.flows {
		return false
	}
	b.clear()
	b.head = nil
	return b.caller.Reset()
}

// Abort ends the answer where it is.
func (b *answerBuffer) Abort() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.flows {
		b.cut = true // drain ends the connection
		b.news.Broadcast()
		return
	}
	b.caller.Abort()
}

// Gone reports whether the caller has hung up.
func (b *answerBuffer) Gone() bool {
	b.mu.Lock()
	failed := b.err != nil
	b.mu.Unlock()
	return failed || b.caller.Gone()
}

// Close makes the connection end after the answer. Call it before the answer begins.
func (b *answerBuffer) Close() {
	if !b.begun() {
		b.caller.Close()
	}
}

// spool is a queue of bytes in a file without a name.
type spool struct {
	f    *os.File
	r, w int64
}

func (s *spool) size() int64 { return s.w - s.r }

func (s *spool) write(p []byte) error {
	if s.f == nil {
		f, err := os.CreateTemp("", "bezoar-answer-")
		if err != nil {
			return err
		}
		_ = os.Remove(f.Name()) // if that fails, close removes it
		s.f = f
	}
	if _, err := s.f.WriteAt(p, s.w); err != nil {
		return err
	}
	s.w += int64(len(p))
	return nil
}

// read returns the first waiting bytes, and how many bytes of the disk became free.
func (s *spool) read(p []byte) (n int, freed int64, err error) {
	n, err = s.f.ReadAt(p[:min(int64(len(p)), s.size())], s.r)
	if s.r += int64(n); err == nil && s.r == s.w {
		freed, s.r, s.w = s.w, 0, 0
		err = s.f.Truncate(0)
	}
	return n, freed, err
}

// close removes the file and returns how many bytes of the disk became free.
func (s *spool) close() (freed int64) {
	freed = s.w
	if s.f != nil {
		_ = s.f.Close()
		_ = os.Remove(s.f.Name())
	}
	*s = spool{}
	return freed
}
