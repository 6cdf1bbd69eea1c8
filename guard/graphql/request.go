package graphql

import (
	"bytes"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/internal/unescape"
)

// notInBody is the base of a text that is not part of Query.Body.
const notInBody = -1

// text is a document, or JSON, in a request.
type text struct {
	bytes   []byte
	base    int  // its start in Query.Body
	escaped bool // it is a JSON string with escapes there
}

// request is one member of a batch, or the parameters of a URL.
type request struct {
	query     text
	variables text
	operation []byte
	has       members
}

type members uint8

const (
	hasQuery members = 1 << iota
	hasVariables
	hasOperation
	hasExtensions
	hasStored // names a query that is stored on the server
)

// memberOf recognizes names of members case-insensitively, as some servers do.
func memberOf(name []byte) members {
	for _, m := range [...]struct {
		name string
		is   members
	}{{"query", hasQuery}, {"variables", hasVariables}, {"operationName", hasOperation}, {"extensions", hasExtensions}} {
		if bytes.EqualFold(name, []byte(m.name)) {
			return m.is
		}
	}
	switch string(name) {
	case "id", "documentId", "doc_id", "queryId":
		return hasStored
	}
	return 0
}

func (r *Reader) scan(t *text) scanner {
	return scanner{text: t.bytes, depth: r.o.MaxDepth, open: &r.open, arena: &r.arena}
}

func (r *Reader) object(t *text) (q request, ok bool) {
	s := r.scan(t)
	for key, ok := s.first('{'); ok; key, ok = s.more() {
		m := memberOf(key)
		if q.has&m != 0 && m != hasStored {
			s.wrong("duplicate member")
			break
		}
		if s.null() {
			continue
		}
		q.has |= m
		s.space()
		at := s.pos
		switch m {
		case hasQuery:
			if raw, escaped, ok := s.str(); ok {
				q.query = r.inside(t, raw, at+1, escaped)
			}
		case hasOperation:
			raw, escaped, _ := s.str()
			q.operation = r.inside(t, raw, at+1, escaped).bytes
		case hasVariables:
			if s.at('"') { // some clients send variables as text
				raw, escaped, _ := s.str()
				q.variables = r.inside(t, raw, at+1, escaped)
			} else {
				q.variables = r.inside(t, s.skip(), at, false)
			}
		case hasExtensions:
			if bytes.Contains(s.skip(), []byte(`"persistedQuery"`)) {
				q.has |= hasStored
			}
		default:
			s.skip()
		}
	}
	return q, s.end() || r.refuseIn(t, s.fault)
}

// inside returns the part of t that begins at off.
func (r *Reader) inside(t *text, raw []byte, off int, escaped bool) text {
	part := text{bytes: raw, base: notInBody, escaped: escaped}
	if t.base != notInBody {
		part.base = t.base + off
	}
	if escaped {
		from := len(r.arena)
		r.arena = unescape.JSON(r.arena, raw)
		part.bytes = r.arena[from:len(r.arena):len(r.arena)]
	}
	return part
}

// pairs reads a=b&c=d, from a URL or a form.
func (r *Reader) pairs(raw []byte) (q request, ok bool) {
	for len(raw) > 0 {
		var pair []byte
		pair, raw, _ = bytes.Cut(raw, []byte{'&'})
		name, value, _ := bytes.Cut(pair, []byte{'='})
		m := memberOf(r.decode(name))
		if m == 0 {
			continue
		}
		if q.has&m != 0 && m != hasStored {
			r.refuse(cost.Unparsable, "duplicate parameter", notInBody)
			return q, false
		}
		if len(value) == 0 {
			continue
		}
		q.has |= m
		t := text{bytes: r.decode(value), base: notInBody}
		switch m {
		case hasQuery:
			q.query = t
		case hasVariables:
			q.variables = t
		case hasOperation:
			q.operation = t.bytes
		case hasExtensions:
			if bytes.Contains(t.bytes, []byte(`"persistedQuery"`)) {
				q.has |= hasStored
			}
		default:
		}
	}
	return q, true
}

// decode returns the decoded text of a parameter.
func (r *Reader) decode(raw []byte) []byte {
	if bytes.IndexByte(raw, '%') < 0 && bytes.IndexByte(raw, '+') < 0 {
		return raw
	}
	from := len(r.arena)
	r.arena = unescape.Query(r.arena, raw)
	return r.arena[from:len(r.arena):len(r.arena)]
}
