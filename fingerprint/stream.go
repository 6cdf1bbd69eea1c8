package fingerprint

import (
	"crypto/sha256"
	"hash"

	"github.com/bezoar-dev/bezoar"
)

// Stream digests a body beyond [Printer.MaxBody] while it passes by. Its work
// was admitted by its head; the sum tells, afterwards, whether two pieces of
// work with one head were the same to the last byte. It is not for concurrent
// use.
type Stream struct {
	p   *Printer
	h   hash.Hash
	buf [sha256.Size + sha256.Size]byte
}

// Stream begins the digest of the body of the work whose fingerprint at
// admission is work. The caller writes the whole body, head included, and must
// Close the stream.
func (p *Printer) Stream(work bezoar.Fingerprint) *Stream {
	s := p.streams.Get().(*Stream)
	s.h.Reset()
	b := append(append(append(s.buf[:0], p.key[:]...), tagStream...), work[:]...)
	s.h.Write(b)
	return s
}

// Write adds b to the digest. It never fails.
func (s *Stream) Write(b []byte) (int, error) { return s.h.Write(b) }

// Sum returns the fingerprint of what was written so far; more may follow.
func (s *Stream) Sum() bezoar.Fingerprint {
	return bezoar.Fingerprint(s.h.Sum(s.buf[:0])[:16])
}

// Close gives the stream back; it must not be used afterwards.
func (s *Stream) Close() {
	clear(s.buf[:])
	s.p.streams.Put(s)
}
