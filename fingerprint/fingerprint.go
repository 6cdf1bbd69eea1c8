package fingerprint

import (
	"crypto/sha256"
	"sync"

	"github.com/bezoar-dev/bezoar"
)

// Header gives access to the fields of a request. net/http.Header implements it, and
// storing one in an Input allocates nothing.
type Header interface {
	// Values returns all values of the field, in order. The name is in the
	// form that the Config used.
	Values(name string) []string
}

// Input is one request as it arrived. Its head must be shorter than 128 MiB.
type Input struct {
	Method      string
	Path        string // as received, still percent-encoded
	RawQuery    string // without the '?'
	ContentType string
	Header      Header // nil if there are no fields
	// Fields are all fields, for Variant and Features, which do not read Header; nil if
	// unknown.
	Fields Fields
	// Body is the whole body, or its head if Complete is false. A head must have at least
	// [Printer.MaxBody] bytes; otherwise identity would depend on how much was buffered.
	Body     []byte
	Complete bool
	Length   int64 // as declared by the sender; -1 if it was not
}

// Printer makes fingerprints. It is immutable and safe for concurrent use.
type Printer struct {
	key        Key
	shapeKey   sipKey
	featureKey sipKey
	rules      rules
	repeats    repeats
	pool       sync.Pool // of *scratch
	streams    sync.Pool // of *Stream
}

// Domain tags, one for each kind of hash under the secret. The digit is the version of the canonical form.
const (
	tagWork       = "W1"
	tagClient     = "C1"
	tagStream     = "S1"
	tagVariant    = "V1"
	tagShapeKey   = "K1"
	tagFeatureKey = "K2"
	tagEndpoint   = "\x00E1" // no skeleton of a whole request has a byte 0 there
)

// New returns a Printer, or all faults of c.
func New(key Key, c Config) (*Printer, error) {
	r, err := c.compile()
	if err != nil {
		return nil, err
	}
	p := &Printer{key: key, rules: r}
	p.repeats.init()
	p.shapeKey = newSIPKey(sha256.Sum256(append(key[:], tagShapeKey...)))
	p.featureKey = newSIPKey(sha256.Sum256(append(key[:], tagFeatureKey...)))
	p.pool.New = func() any { return new(scratch) }
	p.streams.New = func() any { return &Stream{p: p, h: sha256.New()} }
	return p, nil
}

// MaxBody returns how many bytes of a body count at admission.
func (p *Printer) MaxBody() int { return p.rules.maxBody }

// Work returns the identity of the work and its shape.
func (p *Printer) Work(in *Input) (work, shape bezoar.Fingerprint) {
	s := p.pool.Get().(*scratch)
	id := p.repeats.work(p, s, in)
	p.put(s)
	return id.work, id.shape
}

// identify makes the identity.
func (s *scratch) identify(p *Printer, in *Input) identity {
	s.run(p, in)
	sum := sha256.Sum256(s.buf)
	return identity{work: bezoar.Fingerprint(sum[:16]), shape: sip128(p.shapeKey, s.skel)}
}

// Skeleton returns the text whose keyed hash is the shape: names, structure and classes of
// values. It contains no value of the request except words of its path.
func (p *Printer) Skeleton(in *Input) string {
	s := p.pool.Get().(*scratch)
	s.run(p, in)
	text := string(s.skel)
	p.put(s)
	return text
}

// Shape returns the shape for a skeleton from a reader that knows the work better, such as
// a reader of queries. Its first byte is 0, which no skeleton of this package begins with.
func (p *Printer) Shape(skeleton []byte) bezoar.Fingerprint { return sip128(p.shapeKey, skeleton) }

// Endpoint returns the fingerprint of the method and of the path in the skeleton. All
// shapes of requests to one resource share it.
func (p *Printer) Endpoint(in *Input) bezoar.Fingerprint {
	s := p.pool.Get().(*scratch)
	s.target(p, in)
	endpoint := sip128(p.shapeKey, append(s.skel, tagEndpoint...))
	p.put(s)
	return endpoint
}

// Client returns the fingerprint of the id of a caller; for "" it is zero.
func (p *Printer) Client(id string) bezoar.Fingerprint {
	if id == "" {
		return bezoar.Fingerprint{}
	}
	s := p.pool.Get().(*scratch)
	s.buf = append(append(append(s.buf[:0], p.key[:]...), tagClient...), id...)
	sum := sha256.Sum256(s.buf)
	p.put(s)
	return bezoar.Fingerprint(sum[:16])
}

// put returns s to the pool, unless a huge request has enlarged it.
func (p *Printer) put(s *scratch) {
	size := cap(s.buf) + cap(s.skel) + cap(s.tmp) + cap(s.in) + cap(s.spare) + 8*(cap(s.pieces)+cap(s.list))
	if size <= 16*p.rules.maxBody+256<<10 && max(cap(s.keys), cap(s.fields)) <= 16*maxSorted {
		if s.feat != nil && cap(s.feat.path) > 1<<10 {
			s.feat.path = nil
		}
		p.pool.Put(s)
	}
}
