package gateway

import (
	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/guardfront"
)

// heldBody is the held part of a request's body. It is also the memory for its guard.
type heldBody struct {
	g    *Gateway // whose memory limit applies
	s    *settings
	req  *h1.Request
	most int // limit of the route

	bytes    []byte
	borrowed bool // bytes is the connection's, and own the job's buffer
	own      []byte
	whole    bool  // bytes is the complete body
	crowded  bool  // there was no memory for more
	framed   int   // bytes after the body that frame it as chunks
	reserved int64 // part of Gateway.held
	lent     bool  // bytes are from Gateway.large
	trailers []h1.Field

	digest bezoar.Fingerprint // of a complete body that streamed; zero until then
	size   int64              // of that body
}

var _ guardfront.Room = (*heldBody)(nil)

// hold keeps p. It returns false if no more may be held after it; p is kept in any case, because it has been taken from the
// wire.
func (b *heldBody) hold(p []byte) bool {
	need := len(b.bytes) + len(p)
	fits := b.reserve(int64(need))
	if need > cap(b.bytes) {
		b.grow(need)
	}
	b.bytes = append(b.bytes, p...)
	return fits
}

// reserve claims memory for n bytes within the limit for all requests.
func (b *heldBody) reserve(n int64) bool {
	more := n - b.reserved
	if more <= 0 {
		return true
	}
	if b.reserved == 0 && b.req.Length > n {
		more = min(b.req.Length, int64(b.most)) // all at once, so that no request gets stuck halfway
	}
	held := b.g.held.Add(more)
	b.reserved += more
	return held <= b.s.cfg.MaxBuffered
}

// grow makes room for need bytes.
func (b *heldBody) grow(need int) {
	size := max(need, 2*cap(b.bytes))
	if n := b.req.Length; n > 0 && n <= int64(b.most) {
		size = max(need, int(n))
	}
	if size > smallBody && need <= DefaultBuffer && !b.lent {
		if p, ok := b.g.large.Get().(*[DefaultBuffer]byte); ok {
			b.bytes = append(p[:0], b.bytes...)
		} else {
			b.bytes = append(new([DefaultBuffer]byte)[:0], b.bytes...)
		}
		b.lent = true
		return
	}
	bigger := make([]byte, len(b.bytes), size)
	copy(bigger, b.bytes)
	b.giveBack()
	b.bytes = bigger
}

// giveBack returns a lent buffer.
func (b *heldBody) giveBack() {
	if b.lent {
		b.g.large.Put((*[DefaultBuffer]byte)(b.bytes[:DefaultBuffer]))
		b.bytes, b.lent = nil, false
	}
}

func (b *heldBody) release() {
	if b.reserved > 0 {
		b.g.held.Add(-b.reserved)
		b.reserved = 0
	}
	b.giveBack()
	if b.borrowed {
		b.bytes, b.own, b.borrowed = b.own, nil, false
	}
	if cap(b.bytes) > smallBody {
		b.bytes = nil
	}
}

// tail appends after the body.
func (b *heldBody) tail(parts ...string) {
	for _, s := range parts {
		if need := len(b.bytes) + len(s); need > cap(b.bytes) {
			b.grow(need + 256)
		}
		b.bytes = append(b.bytes, s...)
	}
}

// payload returns what follows the head at once: the held body, framed.
func (b *heldBody) payload() []byte { return b.bytes[:len(b.bytes)+b.framed] }

// Take reserves memory that the guard needs in addition to the body.
func (b *heldBody) Take(n int) bool {
	if !b.reserve(int64(len(b.bytes) + n)) {
		b.crowded = true
	}
	return !b.crowded
}

// Reserved returns how much memory is reserved.
func (b *heldBody) Reserved() int64 { return b.reserved }

// GiveBack reduces the reserved memory to to bytes.
func (b *heldBody) GiveBack(to int64) {
	b.g.held.Add(to - b.reserved)
	b.reserved = to
}

// Crowded reports whether there was no memory for the body or for Take.
func (b *heldBody) Crowded() bool { return b.crowded }
