package elastic

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"io"
	"strings"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// inflater keeps what decoding needs.
type inflater struct {
	in    bytes.Reader
	gz    *gzip.Reader
	zl    io.ReadCloser
	plain []byte
}

func (f *inflater) end() {
	f.in.Reset(nil)
	if cap(f.plain) > cost.FreeRoom {
		f.plain = nil
	}
}

// plainBody is the body without its Content-Encoding.
func (r *Reader) plainBody() (body []byte, derived, ok bool) {
	body = r.q.Body
	switch encoding := strings.TrimSpace(r.q.ContentEncoding); {
	case encoding == "" || strings.EqualFold(encoding, "identity"):
	case strings.EqualFold(encoding, "gzip"), strings.EqualFold(encoding, "x-gzip"), strings.EqualFold(encoding, "deflate"):
		if len(body) == 0 {
			return body, false, true
		}
		if body, ok = r.inflate(body, encoding); !ok {
			return nil, false, false
		}
		derived = true
	default:
		r.unreadable(cost.Encoding, "content encoding "+encoding, -1)
		return nil, false, false
	}
	if len(body) > 1 && body[0] == 0x1f && body[1] == 0x8b && !derived {
		r.unreadable(cost.Encoding, "a gzip body that is not called one", 0)
		return nil, false, false
	}
	media, _, _ := strings.Cut(r.q.ContentType, ";")
	return body, derived, len(body) == 0 || r.readable([]byte(media), body)
}

// readable refuses what is not JSON by its type or by how it begins.
func (r *Reader) readable(media, body []byte) bool {
	lower := strings.ToLower(string(bytes.TrimSpace(media)))
	for _, name := range [...]string{"yaml", "cbor", "smile"} {
		if strings.Contains(lower, name) {
			r.unreadable(cost.Encoding, strings.ToUpper(name)+" is not read", -1)
			return false
		}
	}
	trimmed := bytes.TrimLeft(body, " \r\n\t")
	switch {
	case bytes.HasPrefix(trimmed, []byte(":)\n")):
		r.unreadable(cost.Encoding, "SMILE is not read", -1)
		return false
	case bytes.HasPrefix(trimmed, []byte("---")):
		r.unreadable(cost.Encoding, "YAML is not read", -1)
		return false
	case len(trimmed) > 0 && trimmed[0] >= 0x80 && trimmed[0] != 0xef:
		r.unreadable(cost.Encoding, "CBOR is not read", -1)
		return false
	}
	return true
}

// inflate decodes up to MaxBytes.
func (r *Reader) inflate(body []byte, encoding string) ([]byte, bool) {
	f := &r.inflat
	f.in.Reset(body)
	var src io.Reader
	var err error
	if strings.EqualFold(encoding, "deflate") {
		if f.zl == nil {
			f.zl, err = zlib.NewReader(&f.in)
		} else {
			err = f.zl.(zlib.Resetter).Reset(&f.in, nil)
		}
		src = f.zl
	} else {
		if f.gz == nil {
			f.gz, err = gzip.NewReader(&f.in)
		} else {
			err = f.gz.Reset(&f.in)
		}
		src = f.gz
	}
	if err != nil {
		f.gz, f.zl = nil, nil
		r.unreadable(cost.Encoding, "a compressed body that is none: "+err.Error(), 0)
		return nil, false
	}
	f.plain = f.plain[:0]
	for {
		if len(f.plain) == cap(f.plain) && !r.growPlain() {
			r.unreadable(cost.BodyBytes, "there is no room to unpack the body", -1)
			return nil, false
		}
		n, err := src.Read(f.plain[len(f.plain):min(cap(f.plain), r.o.MaxBytes+1)])
		f.plain = f.plain[:len(f.plain)+n]
		switch {
		case len(f.plain) > r.o.MaxBytes:
			r.unreadable(cost.BodyBytes, "the body is too long when it is unpacked", -1)
			return nil, false
		case err == io.EOF:
			return f.plain, true
		case err != nil:
			r.unreadable(cost.Encoding, "a compressed body that is broken: "+err.Error(), -1)
			return nil, false
		}
	}
}

// growPlain doubles the room for what is unpacked, if there is that much memory.
func (r *Reader) growPlain() bool {
	f := &r.inflat
	size := min(max(2*cap(f.plain), 4<<10), r.o.MaxBytes+1)
	if !r.take(size) {
		return false
	}
	f.plain = append(make([]byte, 0, size), f.plain...)
	return true
}

// wrapper reads a query that is hidden in base64.
func (r *Reader) wrapper(v, depth, join int, every bool) selectivity {
	q := r.get(v, "query")
	if q <= none || !r.isText(q) {
		return selAll
	}
	text, ok := r.base64(r.bytes(q))
	if !ok {
		r.unreadable(cost.Encoding, "a wrapper query that is not base64", r.offset(q))
		return selAll
	}
	if !r.readable(nil, text) {
		return selAll
	}
	if !r.openInside(text, q) {
		return selAll
	}
	before := r.query
	sel := r.walkQuery(0, depth+1, join, every)
	r.close()
	r.keepNodes(&before, q)
	return sel
}

// base64 decodes into the arena. Space between and padding behind do not matter,
// as for Jackson.
func (r *Reader) base64(packed []byte) ([]byte, bool) {
	from := len(r.arena)
	for _, c := range packed {
		if c > ' ' {
			r.arena = append(r.arena, c)
		}
	}
	text := bytes.TrimRight(r.arena[from:], "=")
	n, err := base64.RawStdEncoding.Decode(text, text) // what is written is behind what is read
	return text[:n:n], err == nil
}

// openInside opens a text that node n holds in another form.
func (r *Reader) openInside(text []byte, n int) bool {
	prefix := ""
	if r.o.Explain {
		prefix = r.path(n)
	}
	return r.open(text, 0, len(text), r.offset(n), true, prefix)
}

// keepNodes: what a text inside this one has reached is said to be at n, since
// its nodes are gone.
func (r *Reader) keepNodes(before *queryState, n int) {
	q := &r.query
	if q.depth != before.depth {
		q.depthAt = n
	}
	if q.joins != before.joins {
		q.joinsAt = n
	}
	if q.vectors != before.vectors {
		q.vectorsAt = n
	}
	q.clausesAt = keepFirst(before.clausesAt, q.clausesAt, n)
	q.expensiveAt = keepFirst(before.expensiveAt, q.expensiveAt, n)
	q.scoredAt = keepFirst(before.scoredAt, q.scoredAt, n)
	q.patternsAt = keepFirst(before.patternsAt, q.patternsAt, n)
}

func keepFirst(before, now, n int) int {
	if before > none || now <= none {
		return before
	}
	return n
}
