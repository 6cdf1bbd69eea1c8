package fingerprint

import (
	"bytes"
	"strings"
)

// medium says how to read a body.
type medium struct {
	kind     byte
	boundary string // of a multipart body
}

// The kinds of bodies. In the hashed bytes, the kind precedes the body.
const (
	opaque    byte = 'O'
	jsonBody  byte = 'J'
	jsonLines byte = 'N'
	formBody  byte = 'F'
	multipart byte = 'M'
	head      byte = 'H' // the first bytes of a longer body
	heads     byte = 'P' // the same for a multipart body
)

// Bounds of a Content-Type: how many parameters are sorted, and the longest boundary of RFC 2046.
const (
	maxParams   = 8
	maxBoundary = 70
)

// media appends the canonical Content-Type to buf and its type to skel. A malformed value, or one with repeated parameters,
// is appended unchanged, and the body is opaque.
func (s *scratch) media(raw string) medium {
	raw = strings.Trim(raw, " \t")
	if raw == "" {
		return medium{kind: opaque}
	}
	at := len(s.buf)
	name, rest, _ := strings.Cut(raw, ";")
	for _, c := range []byte(strings.TrimRight(name, " \t")) {
		s.buf = append(s.buf, lower(c))
	}
	k := kindsOf(s.buf[at:])
	s.skel = append(s.skel, ' ')
	if !k.within(kAlnum|kDash|kDot|kPlus|kSlash|kUnder) || len(s.buf)-at > 2*maxName {
		s.skel = append(s.skel, "<media>"...)
		s.buf = append(s.buf[:at], raw...)
		return medium{kind: opaque}
	}
	s.skel = append(s.skel, s.buf[at:]...)
	m := medium{kind: kindOfMedia(s.buf[at:])}
	if rest == "" {
		return m
	}
	boundary, ok := s.params(rest, m.kind)
	if !ok || m.kind == multipart && (boundary == "" || len(boundary) > maxBoundary) {
		s.buf = append(s.buf[:at], raw...)
		return medium{kind: opaque}
	}
	m.boundary = boundary
	return m
}

func kindOfMedia(t []byte) byte {
	switch string(t) {
	case "application/json", "text/json":
		return jsonBody
	case "application/x-www-form-urlencoded":
		return formBody
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonl", "application/jsonlines", "application/x-jsonlines", "text/x-ndjson":
		return jsonLines
	}
	switch {
	case bytes.HasSuffix(t, []byte("+json")), bytes.HasPrefix(t, []byte("application/x-amz-json-")):
		return jsonBody
	case bytes.HasPrefix(t, []byte("multipart/")):
		return multipart
	}
	return opaque
}

// param is one parameter of a Content-Type; value is not yet unquoted.
type param struct{ name, value string }

// params appends the parameters, sorted by name. It returns the boundary, which senders choose at random, instead of
// appending it. It leaves out a charset that is the default.
func (s *scratch) params(rest string, kind byte) (boundary string, ok bool) {
	var ps [maxParams]param
	n := 0
	for rest != "" {
		var p param
		if p, rest, ok = cutParam(rest); !ok {
			return "", false
		}
		if p.name == "" {
			continue
		}
		if n == maxParams {
			return "", false
		}
		i := n
		for ; i > 0 && !less(ps[i-1].name, p.name); i-- {
			if strings.EqualFold(ps[i-1].name, p.name) {
				return "", false
			}
			ps[i] = ps[i-1]
		}
		ps[i] = p
		n++
	}
	for _, p := range ps[:n] {
		switch {
		case kind == multipart && strings.EqualFold(p.name, "boundary"):
			boundary = p.value
			continue
		case strings.EqualFold(p.name, "charset"):
			if kind != opaque && strings.EqualFold(p.value, "utf-8") {
				continue
			}
			s.param(p, true)
		default:
			s.param(p, false)
		}
	}
	return boundary, true
}

// param appends `;name="value"`.
func (s *scratch) param(p param, fold bool) {
	s.buf = append(s.buf, ';')
	for _, c := range []byte(p.name) {
		s.buf = append(s.buf, lower(c))
	}
	s.buf = append(s.buf, '=', '"')
	for _, c := range []byte(p.value) {
		if fold {
			c = lower(c)
		}
		s.buf = append(s.buf, c)
	}
	s.buf = append(s.buf, '"')
}

// less orders names without regard to case.
func less(a, b string) bool {
	for i := range min(len(a), len(b)) {
		if x, y := lower(a[i]), lower(b[i]); x != y {
			return x < y
		}
	}
	return len(a) < len(b)
}

// cutParam splits `name=value; rest`. An empty parameter has no name. Quoted values must not contain a backslash, because
// parsers disagree about it.
func cutParam(in string) (p param, rest string, ok bool) {
	in = strings.TrimLeft(in, " \t")
	if in == "" || in[0] == ';' {
		return p, strings.TrimPrefix(in, ";"), true
	}
	name, value, found := strings.Cut(in, "=")
	if !found || name == "" {
		return p, "", false
	}
	for i := range len(name) {
		if !isToken(name[i]) {
			return p, "", false
		}
	}
	p.name = name
	if strings.HasPrefix(value, `"`) {
		p.value, rest, found = strings.Cut(value[1:], `"`)
		if !found || strings.IndexByte(p.value, '\\') >= 0 {
			return p, "", false
		}
		if rest = strings.TrimLeft(rest, " \t"); rest != "" && rest[0] != ';' {
			return p, "", false
		}
		return p, strings.TrimPrefix(rest, ";"), true
	}
	p.value, rest, _ = strings.Cut(value, ";")
	p.value = strings.TrimRight(p.value, " \t")
	for i := range len(p.value) {
		if !isToken(p.value[i]) {
			return p, "", false
		}
	}
	return p, rest, true
}
