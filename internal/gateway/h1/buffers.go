package h1

import "sync"

// Read buffers come in two sizes. A socket starts with a small one and moves to a
// large one for a long head or once a read has filled the small one.
const (
	smallBuffer = 8 << 10
	largeBuffer = 64 << 10
)

// buffers recycles read buffers. The zero value is ready.
type buffers struct {
	small sync.Pool // of *[smallBuffer]byte
	large sync.Pool // of *[largeBuffer]byte
}

func (b *buffers) getSmall() []byte {
	if p, ok := b.small.Get().(*[smallBuffer]byte); ok {
		return p[:]
	}
	return new([smallBuffer]byte)[:]
}

func (b *buffers) getLarge() []byte {
	if p, ok := b.large.Get().(*[largeBuffer]byte); ok {
		return p[:]
	}
	return new([largeBuffer]byte)[:]
}

func (b *buffers) put(buf []byte) {
	switch len(buf) {
	case smallBuffer:
		b.small.Put((*[smallBuffer]byte)(buf))
	case largeBuffer:
		b.large.Put((*[largeBuffer]byte)(buf))
	}
}

// widen moves the unread bytes into a large buffer. It returns false if the buffer is large already.
func (s *sock) widen() bool {
	if s.pool == nil || len(s.buf) >= largeBuffer {
		return false
	}
	buf := s.pool.getLarge()
	s.w = copy(buf, s.buffered())
	s.r = 0
	s.pool.put(s.buf)
	s.buf = buf
	return true
}

// narrow moves back to a small buffer if the unread bytes fit.
func (s *sock) narrow() {
	if len(s.buf) <= smallBuffer || s.w-s.r > smallBuffer {
		return
	}
	buf := s.pool.getSmall()
	s.w = copy(buf, s.buffered())
	s.r = 0
	s.pool.put(s.buf)
	s.buf = buf
}
