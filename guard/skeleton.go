package guard

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/guard/cost"
)

// skeletonTag begins every skeleton. Its version changes when skeletons do.
const skeletonTag = "\x00guard 1\x00"

// print is the identity of a query's shape under the deployment's key, and
// whether the query was read: what a fault or an encoding hides has nothing in
// common with other queries.
func (g *Guard) print(q *Query, d *scratch) (id bezoar.Fingerprint, read bool) {
	d.skeleton, read = appendSkeleton(append(append(d.skeleton[:0], skeletonTag...), g.config.Scope...), q, d.measures)
	return g.config.Print(d.skeleton), read
}

// Print is the identity of a query's shape, as a Verdict has it, without judging
// the query or counting it: zero when the guard has no key, or cannot read it.
func (g *Guard) Print(q *Query) bezoar.Fingerprint {
	if q.Kind.index() < 0 || g.config.Print == nil {
		return bezoar.Fingerprint{}
	}
	d := g.scratches.Get().(*scratch)
	defer g.done(d)
	g.measure(q, d)
	id, read := g.print(q, d)
	if !read {
		return bezoar.Fingerprint{}
	}
	return id
}

// measure is what is measured of a query; the scratch space has it until it is done.
func (g *Guard) measure(q *Query, d *scratch) []cost.Measure {
	options := g.policy.Load().options
	options.MaxBytes = maxBytes
	if g.config.Hints != nil {
		options.Hints = g.config.Hints
	}
	d.query, d.unread, d.packed = q.cost(), q.Unread, q.packed()
	d.read(d.readers[q.Kind.index()], options)
	return d.measures
}

// appendSkeleton appends what queries of one construction have in common,
// whatever dates, ids and texts they are about, and whatever is known of the
// data: where they go, the names in them, what was measured, and of most measures
// the order of magnitude. How often something is repeated does not count.
func appendSkeleton(dst []byte, q *Query, measures []cost.Measure) (skeleton []byte, read bool) {
	read = true
	for _, s := range [...]string{string(q.Kind), q.Method, endpoint(q.Path)} {
		dst = append(append(dst, 0), s...)
	}
	dst = append(dst, 0)
	last := [2]byte{}
	for i := range measures {
		m := &measures[i]
		size := byte(254)
		switch m.Predictor {
		case cost.Unparsable, cost.Encoding, cost.StoredTemplate, cost.DeniedEndpoint, cost.UnreadEndpoint:
			read = false
		case cost.BodyBytes, cost.PatternLength, cost.RegexLength, cost.Shards, cost.Unfiltered, cost.FullScan, cost.GroupCardinality:
			continue // of values and of the data, which come and go
		case cost.AggCardinality, cost.ClauseCount, cost.FieldFanout, cost.TermsCount, cost.IDsCount, cost.InList: // how many is of the same
		default:
			size = magnitude(m.Value)
		}
		if now := [2]byte{byte(m.Predictor), size}; now != last {
			dst, last = append(dst, now[:]...), now
		}
	}
	var n wordSet
	n.parameters(q.RawQuery)
	switch {
	case q.ContentEncoding != "": // the names cannot be seen here
	case q.Kind == SQL:
		n.words(q.Body, strings.HasPrefix(q.Dialect, "my") || strings.HasPrefix(q.Dialect, "maria"))
	case q.Kind == GraphQL && !bytes.HasPrefix(bytes.TrimLeft(q.Body, "{ \t\r\n"), []byte{'"'}):
		n.words(q.Body, true)
	case q.Kind != Regex:
		n.keys(q.Body)
	}
	for _, w := range n {
		dst = binary.LittleEndian.AppendUint64(dst, w)
	}
	return dst, read
}

// magnitude is how large a value is, in powers of 16.
func magnitude(v float64) byte {
	if !(v < math.MaxUint32) {
		return 255
	}
	return byte(math.Ilogb(max(v, 0)+1) / 4)
}

// wordSet is a set of names: a Bloom filter with one hash, so that it has one size
// and neither order nor repetition matters.
type wordSet [16]uint64

// longestName is how many bytes of a name count.
const longestName = 128

// add takes in a name. Digits are all alike: names are numbered.
func (n *wordSet) add(name []byte, kind byte) {
	h := (14695981039346656037 ^ uint64(kind)) * 1099511628211
	digit := false
	for _, c := range name[:min(len(name), longestName)] {
		switch {
		case c >= '0' && c <= '9':
			if digit {
				continue
			}
			digit, c = true, '0'
		case c >= 'A' && c <= 'Z':
			digit, c = false, c|0x20
		default:
			digit = false
		}
		h = (h ^ uint64(c)) * 1099511628211
	}
	h ^= h >> 32
	n[h>>6&15] |= 1 << (h & 63)
}

// keys takes in the names of members of JSON documents.
func (n *wordSet) keys(text []byte) {
	for {
		open := bytes.IndexByte(text, '"')
		if open < 0 {
			return
		}
		text = text[open+1:]
		size := stringEnd(text, '"', true)
		name := text[:size]
		text = text[min(size+1, len(text)):]
		for i, c := range text {
			if c == ' ' || c == '\n' || c == '\r' || c == '\t' {
				continue
			}
			if c == ':' {
				n.add(name, 'k')
			}
			text = text[i:]
			break
		}
	}
}

// stringEnd is where the closing quote is, or the end of the text.
func stringEnd(text []byte, quote byte, escapes bool) int {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == quote:
			return i
		case c == '\\' && escapes:
			i++
		}
	}
	return len(text)
}

// words takes in what is neither quoted, nor a number, nor a comment.
func (n *wordSet) words(text []byte, escapes bool) {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\'' || c == '"':
			i += 1 + stringEnd(text[i+1:], c, escapes) + 1
		case c == '-' && bytes.HasPrefix(text[i:], []byte("--")):
			i = after(text, i, "\n")
		case c == '/' && bytes.HasPrefix(text[i:], []byte("/*")):
			i = after(text, i+2, "*/")
		case letter(c):
			from := i
			for i < len(text) && (letter(text[i]) || text[i] >= '0' && text[i] <= '9') {
				i++
			}
			n.add(text[from:i], 'w')
		case c >= '0' && c <= '9':
			for i < len(text) && (letter(text[i]) || text[i] >= '0' && text[i] <= '9' || text[i] == '.') {
				i++
			}
		default:
			i++
		}
	}
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= 0x80 }

// after is behind the next end in the text.
func after(text []byte, from int, end string) int {
	if i := bytes.Index(text[min(from, len(text)):], []byte(end)); i >= 0 {
		return from + i + len(end)
	}
	return len(text)
}

// parameters takes in the names of an URL's.
func (n *wordSet) parameters(query string) {
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		name, _, _ := strings.Cut(pair, "=")
		var room [longestName]byte
		n.add(append(room[:0], name[:min(len(name), longestName)]...), 'p')
	}
}
