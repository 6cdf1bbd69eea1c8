package elastic

import (
	"bytes"
	"strconv"
)

// mustache renders templates: variables, sections, inverted sections, lists, toJson, join
// and url. It allocates, and its output is limited. It refuses templates that include
// others, or change the delimiters.
type mustache struct {
	r      *Reader
	params int
	limit  int
	out    []byte
	work   int
	assume bool // variables without a parameter render as 1
}

const (
	maxWork     = 1 << 22 // limit of bytes and parameters processed
	maxSections = 32      // limit of nested sections
)

func (m *mustache) fill(text []byte) ([]byte, string) {
	m.out = make([]byte, 0, len(text)+len(text)/4)
	if f := m.render(text, none, 0); f != noFault {
		return nil, f
	}
	return m.out, noFault
}

// tag is one {{…}}.
type tag struct {
	kind       byte // # ^ / ! > & =, or 0 for a variable; & also for {{{
	name       []byte
	start, end int // position of the tag in the text
}

func nextTag(text []byte, from int) (tag, bool) {
	at := bytes.Index(text[from:], []byte("{{"))
	if at < 0 {
		return tag{}, false
	}
	t := tag{start: from + at}
	i, closing := t.start+2, []byte("}}")
	if i < len(text) && text[i] == '{' {
		i, closing, t.kind = i+1, []byte("}}}"), '&'
	}
	n := bytes.Index(text[i:], closing)
	if n < 0 {
		return tag{}, false
	}
	t.end = i + n + len(closing)
	t.name = bytes.TrimSpace(text[i : i+n])
	if len(t.name) > 0 {
		switch c := t.name[0]; c {
		case '#', '^', '/', '!', '>', '&', '=':
			t.kind, t.name = c, bytes.TrimSpace(t.name[1:])
		}
	}
	return t, true
}

// render appends the rendered text. scope is the list element for ".".
func (m *mustache) render(text []byte, scope, depth int) string {
	if depth > maxSections {
		return "the sections of the template are nested too deep"
	}
	m.work += len(text)
	at := 0
	for {
		t, ok := nextTag(text, at)
		if !ok {
			m.out = append(m.out, text[at:]...)
			return m.bounded()
		}
		m.out = append(m.out, text[at:t.start]...)
		at = t.end
		if f := m.bounded(); f != noFault {
			return f
		}
		switch t.kind {
		case '!', '/':
		case '>':
			return "the template includes another template"
		case '=':
			return "the template changes its delimiters"
		case '#', '^':
			end, after, ok := sectionEnd(text, t)
			if !ok {
				return "the template has an unterminated section"
			}
			at = after
			if f := m.section(t, text[t.end:end], scope, depth); f != noFault {
				return f
			}
		default:
			m.variable(t, scope)
		}
	}
}

func (m *mustache) bounded() string {
	if m.work++; m.work > maxWork || len(m.out) > m.limit {
		return "the rendered template is too long"
	}
	return noFault
}

// sectionEnd finds the end of a section, skipping nested ones of the same name.
func sectionEnd(text []byte, open tag) (end, after int, ok bool) {
	depth := 1
	for at := open.end; ; {
		t, found := nextTag(text, at)
		if !found {
			return 0, 0, false
		}
		at = t.end
		if !bytes.Equal(t.name, open.name) {
			continue
		}
		switch t.kind {
		case '#', '^':
			depth++
		case '/':
			if depth--; depth == 0 {
				return t.start, t.end, true
			}
		}
	}
}

func (m *mustache) section(t tag, inner []byte, scope, depth int) string {
	r := m.r
	switch name := string(t.name); {
	case name == "toJson":
		if v := m.lookup(bytes.TrimSpace(inner), scope); v > none {
			n := &r.t.nodes[v]
			from, to := n.off, n.end
			if n.kind == kindString {
				from, to = from-1, to+1
			}
			m.out = append(m.out, r.t.text[from:to]...)
		} else {
			m.out = append(m.out, "null"...)
		}
		return m.bounded()
	case name == "join" || bytes.HasPrefix(t.name, []byte("join ")):
		v := m.lookup(bytes.TrimSpace(inner), scope)
		for e := v + 1; r.isArray(v) && e < r.next(v); e = r.next(e) {
			if e > v+1 {
				m.out = append(m.out, ',')
			}
			m.value(e)
		}
		return m.bounded()
	case name == "url":
		return m.render(inner, scope, depth+1)
	}
	v := m.lookup(t.name, scope)
	if (m.truthy(v) || v <= none && m.assume) == (t.kind == '^') {
		return noFault
	}
	if t.kind == '#' && r.isArray(v) {
		for e := v + 1; e < r.next(v); e = r.next(e) {
			if f := m.render(inner, e, depth+1); f != noFault {
				return f
			}
		}
		return noFault
	}
	return m.render(inner, v, depth+1)
}

// truthy returns false for an empty text or list, and true for a zero.
func (m *mustache) truthy(v int) bool {
	r := m.r
	if v <= none {
		return false
	}
	switch r.kind(v) {
	case kindNull, kindFalse:
		return false
	case kindString:
		return len(r.bytes(v)) > 0
	case kindArray:
		return r.count(v) > 0
	case kindTrue, kindNumber, kindObject:
	}
	return true
}

// variable appends a parameter, or the size of a list: {{list.size}}.
func (m *mustache) variable(t tag, scope int) {
	v := m.lookup(t.name, scope)
	if v <= none {
		if of, ok := bytes.CutSuffix(t.name, []byte(".size")); ok {
			if list := m.lookup(of, scope); list > none && m.r.isArray(list) {
				m.out = strconv.AppendInt(m.out, int64(m.r.count(list)), 10)
			}
		}
		if m.assume {
			m.out = append(m.out, '1')
		}
		return
	}
	if t.kind == '&' { // unescaped: it may end the enclosing string
		m.out = append(m.out, m.r.bytes(v)...)
		return
	}
	m.value(v)
}

// lookup finds a.b.c, first in the current list element. list.0 is an element.
func (m *mustache) lookup(name []byte, scope int) int {
	if string(name) == "." {
		return scope
	}
	for _, from := range [...]int{scope, m.params} {
		n := from
		for rest := name; n > none && len(rest) > 0; {
			one, more, _ := bytes.Cut(rest, []byte("."))
			m.work += m.r.count(n)
			n, rest = m.member(n, one), more
		}
		if n > none {
			return n
		}
	}
	return none
}

func (m *mustache) member(n int, name []byte) int {
	if !m.r.isArray(n) {
		return m.r.get(n, string(name))
	}
	i, end, ok := digits(name, 0, 1, 9)
	if !ok || end < len(name) {
		return none
	}
	for e := n + 1; e < m.r.next(n); e = m.r.next(e) {
		if i == 0 {
			return e
		}
		i--
	}
	return none
}

// value appends a parameter. It keeps the JSON escapes of a text, so that quotes stay
// escaped.
func (m *mustache) value(v int) {
	n := &m.r.t.nodes[v]
	m.out = append(m.out, m.r.t.text[n.off:n.end]...)
}
