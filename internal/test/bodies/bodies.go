package bodies

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Mark is in every body, in the first tenth and at the end. A sender that replaces it by other hexadecimal digits makes new
// bodies of one, without writing JSON.
const Mark = "badc0ffee0ddf00d"

// Make returns a body of nearly size bytes, and not more; size is at least 700.
func Make(r *rand.Rand, size int) []byte {
	w := &writer{
		r: r, size: size - 120, python: r.IntN(3) == 0, // the end takes less than 120
		words: strings.Fields(words), plain: strings.Fields(plainWords),
	}
	kind := kinds[r.IntN(len(kinds))]
	w.object(func() {
		w.text("requestId", Mark)
		kind(w)
		if room := w.size - len(w.b) - len(`"comment":"",`); room > 0 {
			w.text("comment", w.fill(room))
		}
		w.text("sentAt", w.time())
		w.text("idempotencyKey", Mark)
	})
	return w.b
}

// kinds fill the object of a body.
var kinds = []func(*writer){(*writer).order, (*writer).events, (*writer).chat, (*writer).search}

// writer writes JSON. The size is what the body should have.
type writer struct {
	r      *rand.Rand
	b      []byte
	size   int
	python bool // json.dumps: blanks behind commas and colons, ASCII only

	words, plain []string
}

func (w *writer) object(fill func()) {
	w.b = append(w.b, '{')
	fill()
	w.close('}')
}

// close replaces the last comma, and adds one behind the bracket unless that ends the body.
func (w *writer) close(bracket byte) {
	for n := len(w.b); w.b[n-1] == ',' || w.b[n-1] == ' '; n = len(w.b) {
		w.b = w.b[:n-1]
	}
	w.b = append(w.b, bracket)
}

func (w *writer) comma() {
	if w.b = append(w.b, ','); w.python {
		w.b = append(w.b, ' ')
	}
}

func (w *writer) name(s string) {
	w.b = append(strconv.AppendQuote(w.b, s), ':')
	if w.python {
		w.b = append(w.b, ' ')
	}
}

func (w *writer) inside(name string, fill func()) {
	w.name(name)
	w.object(fill)
	w.comma()
}

// array writes elements while there is room, if n is 0, otherwise n.
func (w *writer) array(name string, n int, element func()) {
	w.name(name)
	w.b = append(w.b, '[')
	for i, last := 0, 0; n > 0 && i < n || n == 0 && len(w.b)+last < w.size; i++ {
		at := len(w.b)
		element()
		w.comma()
		last = max(last, len(w.b)-at+40)
	}
	w.close(']')
	w.comma()
}

func (w *writer) raw(name, value string) {
	w.name(name)
	w.b = append(w.b, value...)
	w.comma()
}

func (w *writer) int(name string, n int) { w.raw(name, strconv.Itoa(n)) }

func (w *writer) price(name string) {
	w.raw(name, fmt.Sprintf("%d.%02d", w.r.IntN(900), w.r.IntN(100)))
}

func (w *writer) text(name, s string) {
	w.name(name)
	w.quote(s)
	w.comma()
}

func (w *writer) quote(s string) {
	w.b = append(w.b, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			w.b = append(w.b, '\\', byte(c))
		case c == '\n':
			w.b = append(w.b, `\n`...)
		case c >= utf8.RuneSelf && w.python:
			w.b = fmt.Appendf(w.b, `\u%04x`, c)
		default:
			w.b = utf8.AppendRune(w.b, c)
		}
	}
	w.b = append(w.b, '"')
}

func (w *writer) pick(of []string) string { return of[w.r.IntN(len(of))] }

// perhaps fills one time in n.
func (w *writer) perhaps(n int, fill func()) {
	if w.r.IntN(n) == 0 {
		fill()
	}
}

func (w *writer) time() string {
	return fmt.Sprintf("2026-%02d-%02dT%02d:%02d:%02d.%03dZ", 1+w.r.IntN(12), 1+w.r.IntN(28), w.r.IntN(24), w.r.IntN(60), w.r.IntN(60), w.r.IntN(1000))
}

func (w *writer) uuid() string {
	return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", w.r.Uint32(), w.r.IntN(1<<16), w.r.IntN(1<<12), w.r.IntN(1<<12), w.r.Int64N(1<<48))
}

// fill is plain text of at most n bytes.
func (w *writer) fill(n int) string {
	s := ""
	for {
		next := s + w.pick(w.plain) + " "
		if len(next) > n {
			return s
		}
		s = next
	}
}

// prose is n words with some punctuation and line breaks.
func (w *writer) prose(n int) string {
	var s []byte
	for i := range n {
		s = append(s, w.pick(w.words)...)
		switch w.r.IntN(24) {
		case 0:
			s = append(s, ".\n"...)
		case 1:
			s = append(s, ", \""+w.pick(w.words)+"\" "...)
		case 2, 3:
			s = append(s, ", "...)
		default:
			if i < n-1 {
				s = append(s, ' ')
			}
		}
	}
	return string(s)
}
