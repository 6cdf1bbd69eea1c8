package sqs

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonReader reads one JSON document sequentially, without reflection, and copies only requested values. It is as strict as
// RFC 8259. It also refuses invalid UTF-8 and lone surrogates, which would silently change a body. A null counts as
// missing.
type jsonReader struct {
	data  []byte
	at    int
	depth int
}

// maxDepth is the deepest nesting of a document; SQS needs four levels.
const maxDepth = 32

func (d *jsonReader) fault(what string) error {
	return malformed.text("The body is not the JSON that is asked for: %s, at byte %d.", what, d.at)
}

func (d *jsonReader) space() {
	for d.at < len(d.data) {
		switch d.data[d.at] {
		case ' ', '\t', '\n', '\r':
			d.at++
		default:
			return
		}
	}
}

// peek returns the next byte that is not white space, or 0.
func (d *jsonReader) peek() byte {
	d.space()
	if d.at == len(d.data) {
		return 0
	}
	return d.data[d.at]
}

// take skips c if it comes next.
func (d *jsonReader) take(c byte) bool {
	if d.peek() != c {
		return false
	}
	d.at++
	return true
}

func (d *jsonReader) null() bool {
	if d.peek() != 'n' || !bytes.HasPrefix(d.data[d.at:], []byte("null")) {
		return false
	}
	d.at += len("null")
	return true
}

// object calls each with every key; each must read the value. The key is valid until then.
func (d *jsonReader) object(each func(key []byte) error) error {
	return d.nest('{', '}', "an object", func() error {
		if d.peek() != '"' {
			return d.fault("want a key")
		}
		key, err := d.unquote()
		if err != nil {
			return err
		}
		if !d.take(':') {
			return d.fault("want a colon")
		}
		return each(key)
	})
}

// array calls each before every element; each must read the element.
func (d *jsonReader) array(each func() error) error { return d.nest('[', ']', "a list", each) }

func (d *jsonReader) nest(begin, end byte, what string, each func() error) error {
	if d.null() {
		return nil
	}
	if !d.take(begin) {
		return d.fault("want " + what)
	}
	if d.depth++; d.depth > maxDepth {
		return d.fault("it is nested too deeply")
	}
	defer func() { d.depth-- }()
	if d.take(end) {
		return nil
	}
	for {
		if err := each(); err != nil {
			return err
		}
		if d.take(end) {
			return nil
		}
		if !d.take(',') {
			return d.fault("want a comma or the end of " + what)
		}
	}
}

// text reads a string. A number or truth value is taken as written.
func (d *jsonReader) text() (string, error) {
	switch c := d.peek(); {
	case c == '"':
		s, err := d.unquote()
		return string(s), err
	case d.null():
		return "", nil
	case c == '{' || c == '[':
		return "", d.fault("want a text")
	}
	begin := d.at
	err := d.skip()
	return string(d.data[begin:d.at]), err
}

// bytes reads a string into new memory.
func (d *jsonReader) bytes() ([]byte, error) {
	if d.null() {
		return nil, nil
	}
	if d.peek() != '"' {
		return nil, d.fault("want a text")
	}
	begin := d.at
	s, err := d.unquote()
	if err != nil || d.at-begin-2 != len(s) {
		return s, err // the escapes were resolved in a copy
	}
	return bytes.Clone(s), nil
}

// number reads an integer, also in a string.
func (d *jsonReader) number() (number, error) {
	if d.null() {
		return number{}, nil
	}
	s, err := d.text()
	if err != nil {
		return number{}, err
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return number{n, true}, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return number{}, d.fault("want an integer")
	}
	return number{int64(f), true}, nil
}

// unquote reads the string that begins here. Without escapes the result is part of the input.
func (d *jsonReader) unquote() ([]byte, error) {
	d.at++
	rest := d.data[d.at:]
	ascii := true
	for i, c := range rest {
		switch {
		case c == '"':
			d.at += i + 1
			if !ascii && !utf8.Valid(rest[:i]) {
				return nil, d.fault("a text is not UTF-8")
			}
			return rest[:i], nil
		case c == '\\':
			return d.unescape(i)
		case c < ' ':
			d.at += i
			return nil, d.fault("a control character in a text")
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	d.at = len(d.data)
	return nil, d.fault("a text does not end")
}

// unescape continues after i plain bytes.
func (d *jsonReader) unescape(i int) ([]byte, error) {
	rest := d.data[d.at:]
	size := max(bytes.IndexByte(rest[i:], '"'), 0) + i + 32 // a guess
	out := append(make([]byte, 0, size), rest[:i]...)
	d.at += i
	for d.at < len(d.data) {
		c := d.data[d.at]
		switch {
		case c == '"':
			d.at++
			if !utf8.Valid(out) {
				return nil, d.fault("a text is not UTF-8")
			}
			return out, nil
		case c < ' ':
			return nil, d.fault("a control character in a text")
		case c != '\\':
			out = append(out, c)
			d.at++
		default:
			var err error
			if out, err = d.escape(out); err != nil {
				return nil, err
			}
		}
	}
	return nil, d.fault("a text does not end")
}

// escape appends the character of the escape sequence here.
func (d *jsonReader) escape(out []byte) ([]byte, error) {
	const plain, meaning = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if d.at+1 < len(d.data) {
		if i := bytes.IndexByte([]byte(plain), d.data[d.at+1]); i >= 0 {
			d.at += 2
			return append(out, meaning[i]), nil
		}
	}
	r, ok := d.hex()
	if !ok {
		return nil, d.fault("an escape that means nothing")
	}
	if utf16.IsSurrogate(r) {
		low, _ := d.hex()
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return nil, d.fault("half a surrogate pair")
		}
	}
	return utf8.AppendRune(out, r), nil
}

// hex reads \uXXXX.
func (d *jsonReader) hex() (rune, bool) {
	rest := d.data[d.at:]
	if len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range rest[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = (c | 0x20) - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	d.at += 6
	return r, true
}

func (d *jsonReader) skip() error {
	switch c := d.peek(); {
	case c == '"':
		_, err := d.unquote()
		return err
	case c == '{':
		return d.object(func([]byte) error { return d.skip() })
	case c == '[':
		return d.array(d.skip)
	case d.null() || d.word("true") || d.word("false") || d.numeral():
		return nil
	}
	return d.fault("want a value")
}

func (d *jsonReader) word(w string) bool {
	if !bytes.HasPrefix(d.data[d.at:], []byte(w)) {
		return false
	}
	d.at += len(w)
	return true
}

// numeral skips a JSON number.
func (d *jsonReader) numeral() bool {
	rest := d.data[d.at:]
	i := 0
	digits := func() bool {
		begin := i
		for i < len(rest) && rest[i] >= '0' && rest[i] <= '9' {
			i++
		}
		return i > begin
	}
	if i < len(rest) && rest[i] == '-' {
		i++
	}
	if i < len(rest) && rest[i] == '0' {
		i++
	} else if !digits() {
		return false
	}
	if i < len(rest) && rest[i] == '.' {
		if i++; !digits() {
			return false
		}
	}
	if i < len(rest) && rest[i]|0x20 == 'e' {
		if i++; i < len(rest) && (rest[i] == '+' || rest[i] == '-') {
			i++
		}
		if !digits() {
			return false
		}
	}
	d.at += i
	return true
}
