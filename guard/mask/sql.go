package mask

import (
	"bytes"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/guard/sql"
)

// sqlToken is a token with where it stands.
type sqlToken struct {
	kind       sql.TokenKind
	start, end int
}

// sql returns statements with other strings and numbers, and comments that say
// nothing.
func (m *masker) sql(text []byte, dialect string) []byte {
	var tokens []sqlToken
	sql.Tokens(text, dialect, func(kind sql.TokenKind, start, end int) { tokens = append(tokens, sqlToken{kind, start, end}) })
	s := sqlMask{m: m, text: text, tokens: tokens, dialect: dialect, backslash: strings.HasPrefix(dialect, "my") || strings.HasPrefix(dialect, "maria")}
	s.recursive = s.any("recursive") || s.any("loop")
	out := make([]byte, 0, len(text))
	at := 0
	for i, t := range tokens {
		out = comments(out, text[at:t.start])
		out = s.token(out, i)
		at = t.end
	}
	return s.m.after(out, text[at:])
}

// after is what nobody has read, because something before it is wrong.
func (m *masker) after(dst, text []byte) []byte {
	if len(bytes.TrimSpace(text)) == 0 {
		return append(dst, text...)
	}
	return comments(dst, text)
}

// comments appends what lies between two tokens. What some servers heed stays, as
// do versions of /*!40101 … */, whose code, where it is code, is tokens.
func comments(dst, text []byte) []byte {
	for len(text) > 0 {
		n := bytes.Index(text, []byte("/*"))
		if n < 0 {
			return blank(dst, text)
		}
		dst, text = blank(dst, text[:n]), text[n:]
		if code := bytes.TrimPrefix(text[2:], []byte("M")); bytes.HasPrefix(code, []byte("!")) {
			n = len(text) - len(bytes.TrimLeft(code[:min(7, len(code))], "!0123456789")) - max(0, len(code)-7)
			dst, text = append(dst, text[:n]...), text[n:]
			continue
		}
		end := bytes.Index(text[2:], []byte("*/"))
		if end < 0 {
			return blank(dst, text)
		}
		if n = 2 + end + 2; text[2] == '+' {
			dst = append(dst, text[:n]...)
		} else {
			dst = blank(dst, text[:n])
		}
		text = text[n:]
	}
	return dst
}

type sqlMask struct {
	m         *masker
	text      []byte
	tokens    []sqlToken
	recursive bool // numbers bound how often it goes round
	backslash bool
	dialect   string

	calls []bool // of the brackets that are open: of a function whose arguments say how much
}

func (s *sqlMask) of(i int) string {
	if i < 0 || i >= len(s.tokens) {
		return ""
	}
	return strings.ToLower(string(s.text[s.tokens[i].start:s.tokens[i].end]))
}

func (s *sqlMask) any(word string) bool {
	for i, t := range s.tokens {
		if t.kind == sql.Word && t.end-t.start == len(word) && s.of(i) == word {
			return true
		}
	}
	return false
}

func (s *sqlMask) token(dst []byte, i int) []byte {
	t := s.tokens[i]
	text := s.text[t.start:t.end]
	switch t.kind {
	case sql.Sign:
		switch text[0] {
		case '(':
			s.calls = append(s.calls, s.much(i-1) || len(s.calls) > 0 && s.calls[len(s.calls)-1])
		case ')':
			s.calls = s.calls[:max(len(s.calls)-1, 0)]
		}
	case sql.Number:
		if !s.stays(i) {
			return s.m.number(dst, text)
		}
	case sql.Text:
		much := s.within() || s.of(i-1) == "interval"
		if s.of(i-1) != "." && s.of(i+1) != "." && !s.unit(i) && !(much && lasts(bytes.Trim(text, `'"`))) {
			return s.string(dst, i)
		}
	case sql.Word, sql.Name, sql.Param:
	}
	return append(dst, text...)
}

func (s *sqlMask) within() bool { return len(s.calls) > 0 && s.calls[len(s.calls)-1] }

// much reports whether a function's arguments say how much it makes, or how long
// it takes.
func (s *sqlMask) much(i int) bool {
	return s.word(s.of(i), "generate_series", "generate_subscripts", "repeat", "replicate", "rpad", "lpad", "space", "zeroblob", "randomblob",
		"sleep", "pg_sleep", "benchmark", "range", "sequence", "numbers", "array_fill", "top", "limit", "offset", "first", "next",
		"fetch", "tablesample", "system", "bernoulli")
}

// unit reports whether a string says in what time is counted, or how it is
// written.
func (s *sqlMask) unit(i int) bool {
	return s.of(i-1) == "(" && s.word(s.of(i-2), "date_trunc", "date_part", "extract", "date_bin", "time_bucket", "timestampdiff", "datediff", "dateadd", "strftime")
}

func (*sqlMask) word(w string, list ...string) bool {
	return slices.Contains(list, w)
}

// stays reports whether a number asks for so much.
func (s *sqlMask) stays(i int) bool {
	if s.within() || s.recursive && s.tokens[i].end-s.tokens[i].start <= mostDigits {
		return true
	}
	before := s.of(i - 1)
	if before == "," { // LIMIT 20, 10
		before = s.of(i - 3)
	}
	return s.word(before, "limit", "offset", "first", "next", "top", "head", "fetch", "interval", "maxrecursion", "rows", "sample")
}

// string appends a string with other letters between its quotes. Patterns of
// expressions stay expressions.
func (s *sqlMask) string(dst []byte, i int) []byte {
	text := s.text[s.tokens[i].start:s.tokens[i].end]
	open := bytes.IndexAny(text, `'"$`)
	if open < 0 {
		return s.m.word(dst, text)
	}
	end := len(text) - 1
	if text[open] == '$' {
		n := bytes.IndexByte(text[open+1:], '$')
		open, end = open+n+1, end-n-1
	}
	if end <= open {
		return append(dst, text...)
	}
	inside := text[open+1 : end]
	dst = append(dst, text[:open+1]...)
	prefix := byte(0)
	if open > 0 {
		prefix = text[0] | 0x20
	}
	switch {
	case s.code(i):
		dst = s.m.code(dst, inside, text[open], s.dialect)
	case s.expression(i):
		dst = append(dst, s.m.expression(inside)...)
	case prefix == 'x':
		dst = s.m.hex(dst, inside)
	case prefix == 'b' && len(bytes.Trim(inside, "01")) == 0:
		dst = append(dst, inside...)
	case prefix == 'e' || prefix == 'u' || s.backslash && text[open] != '$':
		dst = s.m.escaped(dst, inside, prefix == 'u')
	default:
		dst = s.m.word(dst, inside)
	}
	return append(dst, text[end:]...)
}

// code reports whether a string is statements that are run.
func (s *sqlMask) code(i int) bool {
	switch before := s.of(i - 1); before {
	case "do", "as", "immediate", "execute", "sp_executesql":
		return true
	case "from":
		return s.of(i-3) == "prepare"
	case "(":
		return s.word(s.of(i-2), "execute", "exec")
	}
	return s.of(i-2) == "language"
}

// maxCode bounds how often code is read that is a string in code.
const maxCode = 4

// code appends statements that are a string in quotes.
func (m *masker) code(dst, inside []byte, quote byte, dialect string) []byte {
	if m.codes++; m.codes > maxCode {
		return m.word(dst, inside)
	}
	defer func() { m.codes-- }()
	if quote == '$' {
		return append(dst, m.sql(inside, dialect)...)
	}
	one, two := []byte{quote}, []byte{quote, quote}
	return append(dst, bytes.ReplaceAll(m.sql(bytes.ReplaceAll(inside, two, one), dialect), one, two)...)
}

// expression reports whether a string is a regular expression.
func (s *sqlMask) expression(i int) bool {
	switch before := s.of(i - 1); before {
	case "~", "~*", "!~", "!~*", "regexp", "rlike", "iregexp", "regexp_like", "binary", "to":
		return before != "to" || s.of(i-2) == "similar"
	}
	for n := i - 1; n >= 0 && n >= i-12; n-- { // regexp_replace(x, 'a+', …)
		if s.of(n) == "(" {
			name := s.of(n - 1)
			return strings.HasPrefix(name, "regexp") || strings.HasPrefix(name, "regex") || s.word(name, "match", "extract", "extractall")
		}
	}
	return false
}

// escaped appends a text whose letters are others, but for those that a backslash
// gives a meaning. With bare, digits stand right behind it.
func (m *masker) escaped(dst, text []byte, bare bool) []byte {
	for len(text) > 0 {
		n := bytes.IndexByte(text, '\\')
		if n < 0 || n+1 == len(text) {
			return m.word(dst, text)
		}
		dst = append(m.word(dst, text[:n]), '\\')
		what := text[n+1] | 0x20
		if text = text[n+1:]; !bare || nibble(text[0]) < 0 {
			dst, text = append(dst, text[0]), text[1:]
		}
		if bare || what == 'x' || what == 'u' {
			if n = bytes.IndexByte(near(text), '}'); n > 0 && text[0] == '{' {
				dst = append(m.hex(append(dst, '{'), text[1:n]), '}')
				text = text[n+1:]
				continue
			}
			for n = 0; n < len(text) && n < 8 && nibble(text[n]) >= 0; n++ {
			}
			dst, text = m.hex(dst, text[:n]), text[n:]
		}
	}
	return dst
}
