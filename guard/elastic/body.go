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

// inflater holds the decoders.
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

// plainBody returns the body without its Content-Encoding.
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
		r.unreadable(cost.Encoding, "a gzip body without a Content-Encoding", 0)
		return nil, false, false
	}
	media, _, _ := strings.Cut(r.q.ContentType, ";")
	return body, derived, len(body) == 0 || r.readable([]byte(media), body)
}

// readable rejects a body that is not JSON, by its media type or its first bytes.
func (r *Reader) readable(media, body []byte) bool {
	lower := strings.ToLower(string(bytes.TrimSpace(media)))
	for _, name := range [...]string{"yaml", "cbor", "smile"} {
		if strings.Contains(lower, name) {
			r.unreadable(cost.Encoding, strings.ToUpper(name)+" is not supported", -1)
			return false
		}
	}
	trimmed := bytes.TrimLeft(body, " \r\n\t")
	switch {
	case bytes.HasPrefix(trimmed, []byte(":)\n")):
		r.unreadable(cost.Encoding, "SMILE is not supported", -1)
		return false
	case bytes.HasPrefix(trimmed, []byte("---")):
		r.unreadable(cost.Encoding, "YAML is not supported", -1)
		return false
	case len(trimmed) > 0 && trimmed[0] >= 0x80 && trimmed[0] != 0xef:
		r.unreadable(cost.Encoding, "CBOR is not supported", -1)
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
		r.unreadable(cost.Encoding, "the body is not compressed as declared: "+err.Error(), 0)
		return nil, false
	}
	f.plain = f.plain[:0]
	for {
		if len(f.plain) == cap(f.plain) && !r.growPlain() {
			r.unreadable(cost.BodyBytes, "not enough memory to unpack the body", -1)
			return nil, false
		}
		n, err := src.Read(f.plain[len(f.plain):min(cap(f.plain), r.o.MaxBytes+1)])
		f.plain = f.plain[:len(f.plain)+n]
		switch {
		case len(f.plain) > r.o.MaxBytes:
			r.unreadable(cost.BodyBytes, "the unpacked body is too long", -1)
			return nil, false
		case err == io.EOF:
			return f.plain, true
		case err != nil:
			r.unreadable(cost.Encoding, "the compressed body is damaged: "+err.Error(), -1)
			return nil, false
		}
	}
}

// growPlain doubles the buffer for unpacked data, if the memory limit allows.
func (r *Reader) growPlain() bool {
	f := &r.inflat
	size := min(max(2*cap(f.plain), 4<<10), r.o.MaxBytes+1)
	if !r.take(size) {
		return false
	}
	f.plain = append(make([]byte, 0, size), f.plain...)
	return true
}

// wrapper reads a query in base64.
func (r *Reader) wrapper(v, depth, join int, every bool) selectivity {
	q := r.get(v, "query")
	if q <= none || !r.isText(q) {
		return selAll
	}
	text, ok := r.base64(r.bytes(q))
	if !ok {
		r.unreadable(cost.Encoding, "the wrapper query is not base64", r.offset(q))
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

// base64 decodes into the arena. Like Jackson, it ignores spaces and padding.
func (r *Reader) base64(packed []byte) ([]byte, bool) {
	from := len(r.arena)
	for _, c := range packed {
		if c > ' ' {
			r.arena = append(r.arena, c)
		}
	}
	text := bytes.TrimRight(r.arena[from:], "=")
	n, err := base64.RawStdEncoding.Decode(text, text) // decoding in place: the output never overtakes the input
	return text[:n:n], err == nil
}

// openInside opens a text that node n contains in another form.
func (r *Reader) openInside(text []byte, n int) bool {
	prefix := ""
	if r.o.Explain {
		prefix = r.path(n)
	}
	return r.open(text, 0, len(text), r.offset(n), true, prefix)
}

// keepNodes attributes measures of a text inside this one to node n, because the text's
// nodes are gone.
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
