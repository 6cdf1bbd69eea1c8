package mask

import (
	"bytes"
	"encoding/json"
)

// maxDepth bounds what is nested. What lies deeper is masked without being looked
// at.
const maxDepth = 250

// walk goes once through a text that may be JSON, and writes it anew.
type walk[C any] struct {
	text  []byte
	at    int
	out   []byte
	bad   bool // it is none
	depth int

	// below is what holds for a member of an object of which in holds; value is
	// where the member's value begins.
	below func(w *walk[C], in C, key []byte, value int) C
	// scalar appends a string with its quotes, or a number, or a word.
	scalar func(dst []byte, in C, text []byte) []byte
	// key appends a name with its quotes; nil: names stay.
	key func(dst []byte, in C, text []byte) []byte
}

// documents goes through one or several.
func (w *walk[C]) documents(in C) bool {
	for {
		if w.space(); w.at == len(w.text) || w.bad {
			return !w.bad
		}
		w.value(in)
	}
}

func (w *walk[C]) value(in C) {
	w.space()
	if w.at == len(w.text) || w.depth > maxDepth {
		w.bad = true
		return
	}
	switch c := w.text[w.at]; c {
	case '{', '[':
		w.depth++
		w.take(1)
		w.several(in, c == '{')
		w.depth--
	case '}', ']', ',', ':':
		w.bad = true
	default:
		token := w.token()
		w.out = w.scalar(w.out, in, token)
	}
}

// several goes through members or elements, and what closes them.
func (w *walk[C]) several(in C, object bool) {
	for !w.bad {
		if w.space(); w.at == len(w.text) {
			w.bad = true
			return
		}
		switch c := w.text[w.at]; {
		case c == '}' || c == ']':
			w.bad = (c == '}') != object
			w.take(1)
			return
		case c == ',':
			w.take(1)
		case !object:
			w.value(in)
		default:
			w.member(in)
		}
	}
}

func (w *walk[C]) member(in C) {
	token := w.token()
	if w.key != nil {
		w.out = w.key(w.out, in, token)
	} else {
		w.out = append(w.out, token...)
	}
	if w.space(); w.at == len(w.text) || w.text[w.at] != ':' {
		w.bad = true
		return
	}
	w.take(1)
	w.space()
	w.value(w.below(w, in, content(token), w.at))
}

// token is the string, number or word that comes next; it is not written.
func (w *walk[C]) token() []byte {
	from := w.at
	if w.text[w.at] == '"' {
		w.at = stringEnd(w.text, w.at)
		return w.text[from:w.at]
	}
	for w.at < len(w.text) && !bytes.ContainsRune([]byte("{}[],: \t\r\n\""), rune(w.text[w.at])) {
		w.at++
	}
	if w.at == from {
		w.bad = true
		w.at++
	}
	return w.text[from:w.at]
}

// stringEnd is behind the string that begins at i.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// take writes what comes next as it is.
func (w *walk[C]) take(n int) {
	w.out = append(w.out, w.text[w.at:w.at+n]...)
	w.at += n
}

// space writes what means nothing: a byte order mark, and comments, which keep
// their length alone.
func (w *walk[C]) space() {
	if w.at == 0 && bytes.HasPrefix(w.text, []byte("\ufeff")) {
		w.take(len("\ufeff"))
	}
	for w.at < len(w.text) {
		rest := w.text[w.at:]
		n := 0
		switch c := rest[0]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			w.take(1)
			continue
		case c == '#' || bytes.HasPrefix(rest, []byte("//")):
			n = bytes.IndexAny(rest, "\r\n")
		case bytes.HasPrefix(rest, []byte("/*")):
			n = bytes.Index(rest[2:], []byte("*/")) + 2
			if n < 2 {
				n = -1
			}
		default:
			return
		}
		if n < 0 {
			n = len(rest)
		}
		w.out = blank(w.out, rest[:n])
		w.at += n
		if bytes.HasPrefix(rest[n:], []byte("*/")) {
			w.take(len("*/"))
		}
	}
}

// blank appends a comment without what it says.
func blank(dst, text []byte) []byte {
	for _, c := range text {
		if c >= 0x80 || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' {
			c = 'x'
		}
		dst = append(dst, c)
	}
	return dst
}

// content is what a string says, or what else stands there.
func content(token []byte) []byte {
	if len(token) < 2 || token[0] != '"' {
		return token
	}
	inside := token[1 : len(token)-1]
	if bytes.IndexByte(inside, '\\') < 0 {
		return inside
	}
	var s string
	if json.Unmarshal(token, &s) != nil {
		return inside
	}
	return []byte(s)
}

// requote appends a string that do has changed. One without escapes keeps its
// length if do does.
func requote(dst, token []byte, do func(dst, text []byte) []byte) []byte {
	if len(token) < 2 || token[0] != '"' || token[len(token)-1] != '"' {
		return do(dst, token)
	}
	if bytes.IndexByte(token, '\\') < 0 {
		return append(do(append(dst, '"'), token[1:len(token)-1]), '"')
	}
	var s string
	if json.Unmarshal(token, &s) != nil {
		return blank(dst, token)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(string(do(nil, []byte(s)))) // strings always encode
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}
