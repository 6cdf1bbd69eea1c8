package fingerprint

import (
	"crypto/sha256"
	"hash"

	"github.com/bezoar-dev/bezoar"
)

// Stream computes the digest of a body beyond Printer.MaxBody while it passes. The work
// was admitted by its head; afterwards the sum tells whether two pieces of work with one
// head were equal to the last byte. It is not safe for concurrent use.
type Stream struct {
	p   *Printer
	h   hash.Hash
	buf [sha256.Size + sha256.Size]byte
}

// Stream begins the digest of a body. work is the fingerprint of the work at admission.
// The caller writes the whole body, including the head, and must Close the stream.
func (p *Printer) Stream(work bezoar.Fingerprint) *Stream {
	s := p.streams.Get().(*Stream)
	s.h.Reset()
	b := append(append(append(s.buf[:0], p.key[:]...), tagStream...), work[:]...)
	s.h.Write(b)
	return s
}

// Write adds b to the digest. It never fails.
func (s *Stream) Write(b []byte) (int, error) { return s.h.Write(b) }

// Sum returns the fingerprint of everything written so far. More may follow.
func (s *Stream) Sum() bezoar.Fingerprint {
	return bezoar.Fingerprint(s.h.Sum(s.buf[:0])[:16])
}

// Close returns the resources of the stream. Do not use it afterwards.
func (s *Stream) Close() {
	clear(s.buf[:])
	s.p.streams.Put(s)
}
