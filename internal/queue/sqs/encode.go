package sqs

import (
	"encoding/base64"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/queue"
)

// encoder appends an answer in either format. In JSON a list is one member whose elements have no names; in XML it is a
// sequence of elements with one name. So each call gives both names where they differ.
type encoder struct {
	buf []byte
	xml bool
}

// comma separates a JSON member or element from the one before.
func (e *encoder) comma() {
	if c := e.buf[len(e.buf)-1]; c != '{' && c != '[' {
		e.buf = append(e.buf, ',')
	}
}

func (e *encoder) key(name string) {
	e.comma()
	e.buf = append(e.buf, '"')
	e.buf = append(e.buf, name...)
	e.buf = append(e.buf, '"', ':')
}

func (e *encoder) open(tag string) {
	e.buf = append(e.buf, '<')
	e.buf = append(e.buf, tag...)
	e.buf = append(e.buf, '>')
}

func (e *encoder) close(tag string) {
	e.buf = append(e.buf, '<', '/')
	e.buf = append(e.buf, tag...)
	e.buf = append(e.buf, '>')
}

// text appends a member with a text.
func (e *encoder) text(name, value string) {
	if e.xml {
		e.open(name)
		e.buf = appendXML(e.buf, value)
		e.close(name)
		return
	}
	e.key(name)
	e.buf = appendJSON(e.buf, value)
}

// bytes appends a member with a text.
func (e *encoder) bytes(name string, value []byte) {
	if e.xml {
		e.open(name)
		e.buf = appendXML(e.buf, value)
		e.close(name)
		return
	}
	e.key(name)
	e.buf = appendJSON(e.buf, value)
}

// plain appends a member whose value needs no escaping.
func (e *encoder) plain(name, value string) {
	if e.xml {
		e.open(name)
		e.buf = append(e.buf, value...)
		e.close(name)
		return
	}
	e.key(name)
	e.buf = append(e.buf, '"')
	e.buf = append(e.buf, value...)
	e.buf = append(e.buf, '"')
}

func (e *encoder) number(name string, value int64) {
	if e.xml {
		e.open(name)
		e.buf = strconv.AppendInt(e.buf, value, 10)
		e.close(name)
		return
	}
	e.key(name)
	e.buf = strconv.AppendInt(e.buf, value, 10)
}

func (e *encoder) truth(name string, value bool) {
	if e.xml {
		e.open(name)
		e.buf = strconv.AppendBool(e.buf, value)
		e.close(name)
		return
	}
	e.key(name)
	e.buf = strconv.AppendBool(e.buf, value)
}

// list begins a list; endList ends it.
func (e *encoder) list(name string) {
	if !e.xml {
		e.key(name)
		e.buf = append(e.buf, '[')
	}
}

func (e *encoder) endList() {
	if !e.xml {
		e.buf = append(e.buf, ']')
	}
}

// item begins an element of a list that has members; endItem ends it.
func (e *encoder) item(tag string) {
	if e.xml {
		e.open(tag)
		return
	}
	e.comma()
	e.buf = append(e.buf, '{')
}

func (e *encoder) endItem(tag string) {
	if e.xml {
		e.close(tag)
		return
	}
	e.buf = append(e.buf, '}')
}

// element appends a text to a list.
func (e *encoder) element(tag, value string) {
	if e.xml {
		e.text(tag, value)
		return
	}
	e.comma()
	e.buf = appendJSON(e.buf, value)
}

// table begins a map; endTable ends it.
func (e *encoder) table(name string) {
	if !e.xml {
		e.key(name)
		e.buf = append(e.buf, '{')
	}
}

func (e *encoder) endTable() {
	if !e.xml {
		e.buf = append(e.buf, '}')
	}
}

// pair appends an entry of a map. In XML it is a tag with a key (Name or Key) and a Value.
func (e *encoder) pair(tag, keyTag, key, value string) {
	if !e.xml {
		e.comma()
		e.buf = appendJSON(e.buf, key)
		e.buf = append(e.buf, ':')
		e.buf = appendJSON(e.buf, value)
		return
	}
	e.open(tag)
	e.text(keyTag, key)
	e.text("Value", value)
	e.close(tag)
}

// attribute appends one typed attribute of a message to the table MessageAttributes.
func (e *encoder) attribute(name string, a queue.Attribute) {
	const tag = "MessageAttribute"
	if e.xml {
		e.open(tag)
		e.text("Name", name)
		e.open("Value")
	} else {
		e.comma()
		e.buf = appendJSON(e.buf, name)
		e.buf = append(e.buf, ':', '{')
	}
	if isBinary(a) {
		e.plain("BinaryValue", base64.StdEncoding.EncodeToString(a.Binary))
	} else {
		e.text("StringValue", a.String)
	}
	e.text("DataType", a.DataType)
	if e.xml {
		e.close("Value")
		e.close(tag)
	} else {
		e.buf = append(e.buf, '}')
	}
}

const hexDigits = "0123456789abcdef"

// appendJSON appends s in quotes. Invalid UTF-8 becomes U+FFFD.
func appendJSON[T string | []byte](out []byte, s T) []byte {
	out = append(slices.Grow(out, len(s)+2), '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			size := runeAt(s, i)
			if size == 0 {
				out = append(append(out, s[from:i]...), "\ufffd"...)
				i++
				from = i
				continue
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		out = append(out, s[from:i]...)
		switch c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\n':
			out = append(out, '\\', 'n')
		case '\r':
			out = append(out, '\\', 'r')
		case '\t':
			out = append(out, '\\', 't')
		default:
			out = append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	out = append(out, s[from:]...)
	return append(out, '"')
}

// appendXML appends s as character data. Characters that XML does not permit become U+FFFD.
func appendXML[T string | []byte](out []byte, s T) []byte {
	out = slices.Grow(out, len(s))
	from := 0
	replace := func(i, size int, with string) {
		out = append(append(out, s[from:i]...), with...)
		from = i + size
	}
	for i := 0; i < len(s); {
		size := 1
		switch c := s[i]; {
		case c == '&':
			replace(i, 1, "&amp;")
		case c == '<':
			replace(i, 1, "&lt;")
		case c == '>':
			replace(i, 1, "&gt;")
		case c == '\r': // an XML reader would treat it as a line end
			replace(i, 1, "&#xD;")
		case c < ' ' && c != '\t' && c != '\n':
			replace(i, 1, "\ufffd")
		case c >= utf8.RuneSelf:
			if size = runeAt(s, i); size == 0 || beyondXML(s, i, size) {
				size = max(size, 1)
				replace(i, size, "\ufffd")
			}
		}
		i += size
	}
	return append(out, s[from:]...)
}

// runeAt returns the size of the character at i, or 0 if there is none.
func runeAt[T string | []byte](s T, i int) int {
	var window [utf8.UTFMax]byte
	n := copy(window[:], s[i:min(i+utf8.UTFMax, len(s))])
	r, size := utf8.DecodeRune(window[:n])
	if r == utf8.RuneError && size == 1 {
		return 0
	}
	return size
}

// beyondXML reports whether the character at i is U+FFFE or U+FFFF.
func beyondXML[T string | []byte](s T, i, size int) bool {
	return size == 3 && s[i] == 0xef && s[i+1] == 0xbf && s[i+2] >= 0xbe
}
