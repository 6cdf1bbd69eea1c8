package mask

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/guard"
)

// Query returns q with masked values; ok is false for what cannot be taken apart:
// a body that is packed, or is no text. Callers are left as they are. What it
// returns shares no memory with q that is written to.
func Query(q *guard.Query) (masked guard.Query, ok bool) {
	var m masker
	_, _ = rand.Read(m.key[:]) // never fails
	return m.query(q)
}

func (m *masker) query(q *guard.Query) (masked guard.Query, ok bool) {
	masked = *q
	masked.Args = nil
	packed := q.ContentEncoding != "" && !strings.EqualFold(q.ContentEncoding, "identity")
	if len(q.Args) > 0 || packed && len(q.Body) > 0 || !utf8.Valid(q.Body) {
		return guard.Query{}, false
	}
	switch q.Kind {
	case guard.Elasticsearch, guard.OpenSearch:
		masked.Path = m.path(q.Path)
		masked.RawQuery = m.url(q.RawQuery, m.parameter)
		masked.Body = m.elastic(q.Path, q.Body)
	case guard.SQL:
		masked.RawQuery, masked.Body = "", m.sql(q.Body, q.Dialect) // nobody reads the one
	case guard.Regex:
		masked.RawQuery, masked.Body = "", m.expression(q.Body)
	case guard.GraphQL:
		masked.RawQuery = m.url(q.RawQuery, m.graphParameter)
		masked.Body = m.graph(q.ContentType, q.Body)
	}
	return masked, true
}

// masker is the mask of one query.
type masker struct {
	key [32]byte
	// Of Elasticsearch: bounds, or coordinates, make cells.
	spans, grids bool
	templates    bool // {{names}} are names
	room         []byte
	codes        int // strings in one another that are read as code
}

// draw is where the letters of a text come from: the same for the same text.
type draw uint64

func (m *masker) draw(text []byte) draw {
	m.room = append(append(m.room[:0], m.key[:]...), text...)
	sum := sha256.Sum256(m.room)
	return draw(binary.LittleEndian.Uint64(sum[:])) | 1
}

// next is a number below n.
func (d *draw) next(n int) int {
	x := uint64(*d) // xorshift64*, by Vigna
	x ^= x >> 12
	x ^= x << 25
	x ^= x >> 27
	*d = draw(x)
	return int((x * 0x2545f4914f6cdd1d) >> 33 % uint64(n))
}

// Letters that stand for those of as many bytes.
const of2, of3, of4 = "ö", "中", "𐌰"

// word appends a text with other letters and digits. {{names}} in templates stay.
func (m *masker) word(dst, text []byte) []byte {
	d := m.draw(text)
	for i := 0; i < len(text); {
		if m.templates && bytes.HasPrefix(text[i:], []byte("{{")) {
			if n := bytes.Index(near(text[i:]), []byte("}}")); n > 0 {
				dst = append(dst, text[i:i+n+2]...)
				i += n + 2
				continue
			}
		}
		if text[i] < utf8.RuneSelf {
			dst = append(dst, d.byte(text[i]))
			i++
			continue
		}
		_, size := utf8.DecodeRune(text[i:])
		dst = append(dst, stands(size, text[i])...)
		i += size
	}
	return dst
}

// near is what is searched for the end of a short thing: nothing is looked at more
// than so often.
func near(text []byte) []byte { return text[:min(len(text), 128)] }

// stands is what stands for a letter of so many bytes beyond ASCII.
func stands(size int, first byte) string {
	switch size {
	case 2:
		return of2
	case 3:
		return of3
	case 4:
		return of4
	}
	return string([]byte{first}) // no letter
}

// byte is another letter or digit of the same kind; signs stay.
func (d *draw) byte(c byte) byte {
	switch {
	case c >= 'a' && c <= 'z':
		return 'a' + byte(d.next(26))
	case c >= 'A' && c <= 'Z':
		return 'A' + byte(d.next(26))
	case c >= '1' && c <= '9':
		return '1' + byte(d.next(9))
	}
	return c // a zero, too: it may lead
}

// number appends a number with other digits, which is as large: what follows e
// stays, as do digits that stand alone.
func (m *masker) number(dst, text []byte) []byte {
	d := m.draw(text)
	if digits(text) < 2 {
		return append(dst, text...)
	}
	if len(text) > 2 && text[0] == '0' && text[1]|0x20 == 'x' {
		return m.hex(append(dst, text[:2]...), text[2:])
	}
	for i, c := range text {
		if c|0x20 == 'e' {
			return append(dst, text[i:]...)
		}
		dst = append(dst, d.byte(c))
	}
	return dst
}

func digits(text []byte) int {
	n := 0
	for _, c := range text {
		if c >= '0' && c <= '9' {
			n++
		}
	}
	return n
}

// hex appends hexadecimal digits of a text whose letters and digits are others.
func (m *masker) hex(dst, text []byte) []byte {
	d := m.draw(text)
	for len(text) > 1 {
		high, low := nibble(text[0]), nibble(text[1])
		if high < 0 || low < 0 {
			return m.word(dst, text)
		}
		c := d.byte(byte(high<<4 | low))
		if c >= utf8.RuneSelf {
			c = utf8.RuneSelf | byte(d.next(128))
		}
		const digit = "0123456789abcdef"
		dst, text = append(dst, digit[c>>4], digit[c&15]), text[2:]
	}
	return append(dst, text...) // half a letter, at most
}

func nibble(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// temporal reports whether a text is a date, or is reckoned from now.
func temporal(text []byte) bool {
	rest, ok := bytes.CutPrefix(text, []byte("now"))
	if !ok {
		if rest, ok = date(text); !ok {
			return false
		}
	}
	for _, c := range rest {
		if (c < '0' || c > '9') && strings.IndexByte("-+:./|TZ yMwdhms", c) < 0 {
			return false
		}
	}
	return true
}

// date cuts a date off, the year first or last: 2024-01-31, 31/01/2024, 2024-01.
func date(text []byte) (rest []byte, ok bool) {
	var sizes [3]int
	sign := byte(0)
	for part := range sizes {
		for len(text) > 0 && text[0] >= '0' && text[0] <= '9' {
			sizes[part]++
			text = text[1:]
		}
		switch {
		case part == 2:
		case len(text) == 0 || strings.IndexByte("-/.", text[0]) < 0 || sign != 0 && text[0] != sign:
			return text, part == 1 && sizes[0] == 4 && sizes[1] == 2 // a month
		default:
			sign, text = text[0], text[1:]
		}
	}
	short := func(n int) bool { return n == 1 || n == 2 }
	return text, short(sizes[1]) && (sizes[0] == 4 && short(sizes[2]) || short(sizes[0]) && sizes[2] == 4)
}
