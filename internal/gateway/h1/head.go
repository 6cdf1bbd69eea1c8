package h1

import (
	"bytes"
	"strconv"
	"strings"
)

// Limits bounds the heads that a [Server] or a [Pool] reads.
type Limits struct {
	Head   int // bytes of a head or of trailers; default and at most 65,536
	Fields int // field lines in a head; default 200
	Target int // bytes of a request target; default 16,384
}

func (l Limits) orDefaults() Limits {
	if l.Head <= 0 || l.Head > largeBuffer {
		l.Head = largeBuffer
	}
	if l.Fields <= 0 {
		l.Fields = 200
	}
	if l.Target <= 0 {
		l.Target = 16 << 10
	}
	return l
}

// Error is a message that violates the protocol or a limit.
type Error struct {
	Status int    // the answer that a server must send: 400, 408, 414, 417, 431, 501 or 505
	Rule   string // the violated rule, without any bytes of the message
}

func (e *Error) Error() string { return "malformed message: " + e.Rule }

func tooMany(max int) error { return &Error{431, "more than " + strconv.Itoa(max) + " fields"} }

const (
	spaceBeforeColon = "white space before a colon"
	controlInValue   = "a field value has a control character"
)

func bad(rule string) error { return &Error{Status: 400, Rule: rule} }

// scan searches b for the end of a head; the current line starts at line. It returns the length of the head, or 0 and where
// to go on when more has come. It refuses a line that does not end in CR LF as soon as it sees it.
func scan(b []byte, line int) (head, next int, err error) {
	for {
		i := bytes.IndexByte(b[line:], '\n')
		if i < 0 {
			return 0, line, nil
		}
		if i == 0 || b[line+i-1] != '\r' {
			return 0, line, bad("a line ends in a bare LF")
		}
		if i == 1 {
			if line == 0 {
				return 0, 0, bad("the first line is empty")
			}
			return line + 2, 0, nil
		}
		line += i + 1
	}
}

// parseFields appends the fields of a head or trailer. scan has made sure that all lines end in CR LF and that the last one
// is empty.
func parseFields(fields []Field, s string, max int) ([]Field, error) {
	for {
		i := strings.IndexByte(s, '\n')
		if i < 1 {
			return fields, bad("a line ends in a bare LF")
		}
		line := s[:i-1]
		s = s[i+1:]
		if line == "" {
			return fields, nil
		}
		if len(fields) >= max {
			return fields, tooMany(max)
		}
		fields = append(fields, Field{}) // filled in place: copying it costs more than reading a short field
		if err := fields[len(fields)-1].parse(line); err != nil {
			return fields[:len(fields)-1], err
		}
	}
}

func (f *Field) parse(line string) error {
	colon := 0
	for colon < len(line) && isToken(line[colon]) {
		colon++
	}
	switch {
	case colon == len(line):
		return bad("a field line has no colon")
	case line[0] == ' ' || line[0] == '\t':
		return bad("a field is folded over lines")
	case line[colon] == ' ' || line[colon] == '\t':
		return bad(spaceBeforeColon)
	case line[colon] != ':':
		return bad("a field name has a byte that is not allowed")
	case colon == 0:
		return bad("a field has no name")
	}
	value := trim(line[colon+1:])
	if !isValue(value) {
		return bad(controlInValue)
	}
	f.Name, f.Value = line[:colon], value
	f.Key = KeyOf(f.Name)
	return nil
}

// framing collects what the fields say about the end of the body.
type framing struct {
	length  int64 // -1 until a Content-Length is seen
	repeats bool  // Content-Length came twice, with the same value
	coding  bool  // Transfer-Encoding: chunked
}

// add records one field. Different lengths and unknown codings are errors.
func (m *framing) add(f Field) error {
	switch f.Key {
	case ContentLength:
		n, ok := parseLength(f.Value)
		if !ok {
			return bad("Content-Length is not a plain number")
		}
		if m.length >= 0 && m.length != n {
			return bad("two Content-Length fields differ")
		}
		m.repeats = m.length >= 0
		m.length = n
	case TransferEncoding:
		if m.coding {
			return bad("Transfer-Encoding is repeated")
		}
		if !Fold(f.Value, "chunked") {
			return bad("Transfer-Encoding is not exactly chunked")
		}
		m.coding = true
	default:
	}
	return nil
}

// parseLength reads 1 to 18 decimal digits, which cannot overflow.
func parseLength(s string) (int64, bool) {
	if s == "" || len(s) > 18 {
		return 0, false
	}
	var n int64
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(s[i]-'0')
	}
	return n, true
}

// parseVersion reads HTTP/1.0 or HTTP/1.1 and returns the minor number.
func parseVersion(s string) (int, error) {
	switch s {
	case "HTTP/1.1":
		return 1, nil
	case "HTTP/1.0":
		return 0, nil
	}
	if len(s) == 8 && s[:5] == "HTTP/" && isDigit(s[5]) && s[6] == '.' && isDigit(s[7]) {
		return 0, &Error{505, "the version is neither HTTP/1.1 nor HTTP/1.0"}
	}
	return 0, bad("the version is malformed")
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isToken reports whether c may occur in a method or a field name.
func isToken(c byte) bool {
	const (
		low  = 1<<'!' | 1<<'#' | 1<<'$' | 1<<'%' | 1<<'&' | 1<<'\'' | 1<<'*' | 1<<'+' | 1<<'-' | 1<<'.' | 0x3ff<<'0'
		high = 0x3ffffff<<('A'-64) | 1<<('^'-64) | 1<<('_'-64) | 1<<('`'-64) | 0x3ffffff<<('a'-64) | 1<<('|'-64) | 1<<('~'-64)
	)
	switch {
	case c < 64:
		return uint64(low)>>c&1 != 0
	case c < 128:
		return uint64(high)>>(c-64)&1 != 0
	}
	return false
}

// ones has a 1 in each byte.
const ones = 0x0101010101010101

// isValue reports whether s has no control character but the tab.
func isValue(s string) bool {
	for len(s) >= 8 { // eight bytes at once: values are most of a head
		w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		del := w ^ 0x7f*ones
		if ((w-' '*ones)&^w|(del-ones)&^del)&(0x80*ones) != 0 {
			break // a control character, perhaps a tab
		}
		s = s[8:]
	}
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// Token reports whether s may be a method or a field name.
func Token(s string) bool {
	for i := range len(s) {
		if !isToken(s[i]) {
			return false
		}
	}
	return s != ""
}
