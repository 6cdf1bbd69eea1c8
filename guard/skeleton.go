package guard

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/guard/cost"
)

// skeletonTag is the prefix of every skeleton. Its version changes with the format.
const skeletonTag = "\x00guard 2\x00"

// print returns the identity of a query's shape under the deployment's key, and whether the
// query was read. A faulty or encoded query shares nothing with other queries.
func (g *Guard) print(q *Query, d *scratch) (id bezoar.Fingerprint, read bool) {
	d.skeleton, read = appendSkeleton(append(append(d.skeleton[:0], skeletonTag...), g.config.Scope...), q, d.measures)
	return g.config.Print(d.skeleton), read
}

// Print returns the identity of a query's shape, as in a Verdict, without judging or
// counting the query. It is zero if the guard has no key or cannot read the query.
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

// measure returns the measures of a query. They are valid until the scratch is reused.
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

// appendSkeleton appends what queries of the same structure share, independent of their
// values and of hints: the endpoint, names, the set of measures, and for most measures the
// order of magnitude. Repetition does not count.
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
			continue // depends on values and data
		case cost.AggCardinality, cost.ClauseCount, cost.FieldFanout, cost.TermsCount, cost.IDsCount, cost.InList: // counts of similar elements
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
	case q.ContentEncoding != "": // names are not readable here
	case q.Kind == SQL:
		n.words(q.Body, strings.HasPrefix(q.Dialect, "my") || strings.HasPrefix(q.Dialect, "maria"))
	case q.Kind == GraphQL && !bytes.HasPrefix(bytes.TrimLeft(q.Body, "{ \t\r\n"), []byte{'"'}):
		n.words(q.Body, true)
	case q.Kind != Regex:
		n.keys(q.Body, language(endpoint(q.Path)))
	}
	for _, w := range n {
		dst = binary.LittleEndian.AppendUint64(dst, w)
	}
	return dst, read
}

// magnitude returns the magnitude of a value in powers of 16.
func magnitude(v float64) byte {
	if !(v < math.MaxUint32) {
		return 255
	}
	return byte(math.Ilogb(max(v, 0)+1) / 4)
}

// wordSet is a set of names: a Bloom filter with one hash. It has a fixed size and ignores
// order and repetition.
type wordSet [16]uint64

// longestName is the number of bytes of a name that count.
const longestName = 128

// add adds a name. All digits count as equal, because names are often numbered.
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

// language reports whether the query of an endpoint is a text in a language of its own, whose
// words are names like those of SQL.
func language(endpoint string) bool {
	for _, e := range [...]string{"/_sql", "/_query", "/_ppl", "/_eql", "/_esql", "/_plugins/_sql", "/_plugins/_ppl", "/_opendistro/_sql", "/_opendistro/_ppl"} {
		if rest, ok := strings.CutPrefix(endpoint, e); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// keys adds the names of members of JSON documents, and the words of the text that is their
// query.
func (n *wordSet) keys(text []byte, language bool) {
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
			if language && c == ':' && string(name) == "query" {
				text, language = n.said(text[1:])
			}
			break
		}
	}
}

// said adds the words of the string that rest begins with. It returns what follows, and whether
// the query is still to come.
func (n *wordSet) said(rest []byte) (next []byte, language bool) {
	text := bytes.TrimLeft(rest, " \n\r\t")
	if len(text) < 2 || text[0] != '"' {
		return rest, true
	}
	end := 1 + stringEnd(text[1:], '"', true)
	n.words(text[1:min(end, len(text))], false)
	return text[min(end+1, len(text)):], false
}

// stringEnd returns the position of the closing quote, or the end of the text.
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

// words adds words that are not quoted, numbers or comments.
func (n *wordSet) words(text []byte, escapes bool) {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\'' || c == '"':
			escaped := escapes || c == '\'' && i > 0 && text[i-1]|0x20 == 'e' && (i == 1 || !letter(text[i-2])) // E'it\'s'
			i += 1 + stringEnd(text[i+1:], c, escaped) + 1
		case c == '\\' && i+1 < len(text) && text[i+1] == '"': // within JSON
			i = after(text, i+2, `\"`)
		case c == '$' && !escapes:
			end := i + 1
			for end < len(text) && letter(text[end]) {
				end++
			}
			if i++; end < len(text) && text[end] == '$' { // $tag$text$tag$
				i = after(text, end+1, string(text[i-1:end+1]))
			}
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

// after returns the position after the next end in the text.
func after(text []byte, from int, end string) int {
	if i := bytes.Index(text[min(from, len(text)):], []byte(end)); i >= 0 {
		return from + i + len(end)
	}
	return len(text)
}

// parameters adds the names of URL parameters.
func (n *wordSet) parameters(query string) {
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		name, _, _ := strings.Cut(pair, "=")
		var room [longestName]byte
		n.add(append(room[:0], name[:min(len(name), longestName)]...), 'p')
	}
}
