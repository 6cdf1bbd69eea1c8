package fingerprint

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/bezoar-dev/bezoar"
)

// repeats remembers the identities of requests that came before. A request that comes again byte by byte need not be made
// canonical again, which takes ten times as long as the lookup with a body, and twice as long without. The result is always
// the same as without it.
//
// A request is recognised by its tag: GMAC with a body, SipHash without one, under secrets that only this process has, so
// nobody can make two requests with one tag. No body is kept.
type repeats struct {
	mac    cipher.AEAD
	sip    sipKey
	seed   maphash.Seed                             // for samples
	tables [repeatKinds]atomic.Pointer[repeatTable] // nil until the first such request
	off    bool                                     // for tests
}

// Requests with and without a body do not displace each other.
const (
	bodiless = iota
	bodied
	repeatKinds
)

// These bounds give a printer 400 KB for 8,192 requests of each kind that it sees.
const (
	repeatSets = 1024 // a power of two
	repeatWays = 8
	leastBody  = 256 // shorter bodies gain too little
)

type repeatTable [repeatSets]repeatSet

// repeatSet holds the requests whose tags have the same bits.
type repeatSet struct {
	mu   sync.Mutex // guards what follows
	next int        // the way to replace
	tags [repeatWays][16]byte
	ids  [repeatWays]identity
}

type identity struct{ work, shape bezoar.Fingerprint }

func (r *repeats) init() {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	block, err := aes.NewCipher(key[:])
	if err == nil {
		r.mac, err = cipher.NewGCM(block)
	}
	r.off = err != nil // never: the sizes are right
	_, _ = rand.Read(key[:])
	r.sip, r.seed = newSIPKey(key), maphash.MakeSeed()
}

// work is [Printer.Work] for a request that may have come before.
func (r *repeats) work(p *Printer, s *scratch, in *Input) identity {
	kind := bodied
	if len(in.Body) == 0 {
		kind = bodiless
	}
	if r.off || !in.Complete || kind == bodied && (len(in.Body) < leastBody || len(in.Body) > p.rules.maxBody) {
		return s.identify(p, in)
	}
	g := &s.gains[kind]
	if g.sampling && r.sample(in)%gainSample != 0 {
		return s.identify(p, in)
	}
	t := r.tables[kind].Load()
	if t == nil {
		r.tables[kind].CompareAndSwap(nil, new(repeatTable))
		t = r.tables[kind].Load()
	}
	tag := r.tag(p, s, in)
	set := t.set(&tag)
	id, ok := set.get(&tag)
	if g.count(ok); !ok {
		id = s.identify(p, in)
		set.put(&tag, &id)
	}
	return id
}

// tag authenticates everything that the identity depends on. Every part has its length, except the body, which is last.
func (r *repeats) tag(p *Printer, s *scratch, in *Input) (tag [16]byte) {
	b := s.buf[:0]
	for _, part := range [...]string{in.Method, in.Path, in.RawQuery, in.ContentType} {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(part)))
		b = append(b, part...)
	}
	for _, name := range p.rules.headers {
		b = appendValues(b, in.Header, name)
	}
	if len(in.Body) == 0 {
		s.buf = b
		return sip128(r.sip, b)
	}
	b = appendValues(b, in.Header, "Content-Encoding")
	b = append(b, in.Body...)
	s.buf = b
	var nonce [12]byte // always the same: the tag is compared, never shown
	s.tag = r.mac.Seal(s.tag[:0], nonce[:], nil, b)
	return [16]byte(s.tag)
}

func appendValues(b []byte, h Header, name string) []byte {
	var vs []string
	if h != nil {
		vs = h.Values(name)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(vs)))
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(v)))
		b = append(b, v...)
	}
	return b
}

// set returns the set of a tag. GMAC is linear: tags of requests that differ in a few digits have few different low bits. The
// product spreads them over all sets.
func (t *repeatTable) set(tag *[16]byte) *repeatSet {
	return &t[stir(0, tag[:])>>32%repeatSets]
}

func (s *repeatSet) get(tag *[16]byte) (id identity, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.tags {
		if s.tags[i] == *tag {
			return s.ids[i], !s.ids[i].work.IsZero()
		}
	}
	return id, false
}

func (s *repeatSet) put(tag *[16]byte, id *identity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tags[s.next], s.ids[s.next] = *tag, *id
	s.next = (s.next + 1) % repeatWays
}

// gain decides whether lookups are worth their time. If requests rarely repeat, only a sample of them is looked up. The same
// request is always in the sample or never, so that the sample shows when requests begin to repeat.
type gain struct {
	tries, hits int
	sampling    bool
	vain        int // how often in a row it looked up all in vain: more bodies repeat than a table holds
}

const (
	gainAll    = 2 * repeatSets * repeatWays // lookups until it decides to sample: a table can fill before
	gainSome   = 512                         // lookups of the sample until it decides to look up all; twice as many after each vain try
	gainSample = 16                          // one in so many
	maxVain    = 6
)

func (g *gain) count(hit bool) {
	g.tries++
	if hit {
		g.hits++
	}
	rare := g.hits < g.tries/8
	switch {
	case g.sampling && g.tries == gainSome<<g.vain:
		*g = gain{sampling: rare, vain: g.vain}
	case !g.sampling && g.tries == gainAll && rare:
		*g = gain{sampling: true, vain: min(g.vain+1, maxVain)}
	case !g.sampling && g.tries == gainAll:
		*g = gain{}
	}
}

// sample returns a number that is the same for equal requests, and mostly differs between others. It reads a few words of
// the body.
func (r *repeats) sample(in *Input) uint64 {
	n := maphash.String(r.seed, in.Path) + 3*maphash.String(r.seed, in.RawQuery) + uint64(len(in.Body))
	if len(in.Body) < 8 {
		return n
	}
	var words [18 * 8]byte
	w := words[:0]
	for at := 0; at+8 <= len(in.Body); at += max(8, len(in.Body)/16) {
		w = append(w, in.Body[at:at+8]...)
	}
	return n + 5*maphash.Bytes(r.seed, append(w, in.Body[len(in.Body)-8:]...))
}

// stir mixes eight bytes into n. The upper half of the result depends on all of them.
func stir(n uint64, b []byte) uint64 {
	return bits.RotateLeft64(n^binary.LittleEndian.Uint64(b), 29) * 0x9e3779b97f4a7c15
}
