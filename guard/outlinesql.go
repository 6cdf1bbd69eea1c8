package guard

import (
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/guard/sql"
)

// sql writes SQL statements.
func (o *outliner) sql(text []byte, dialect string) {
	s := statements{text: text}
	canonical, err := sql.ParseDialect(dialect)
	s.tolerant = err != nil || strings.HasPrefix(canonical, "generic")
	sql.Tokens(text, dialect, func(kind sql.TokenKind, from, to int) { s.tokens = append(s.tokens, sqlToken{kind, from, to}) })
	last := ""
	for i, t := range s.tokens {
		if i > 0 && t.from > s.tokens[i-1].to {
			o.out = append(o.out, ' ')
		}
		s.follow(i)
		word := s.word(i)
		switch {
		case t.kind == sql.Text, s.maybeText(i), t.kind == sql.Number && !(isSize(word) && slices.Contains([]string{"limit", "offset", "first", "next", "top"}, last)):
			o.out = append(o.out, '?')
			continue
		}
		o.out = append(o.out, text[t.from:t.to]...)
		if word == "stdin" && last == "from" { // rows follow COPY … FROM STDIN
			return
		}
		last = word
	}
}

type sqlToken struct {
	kind     sql.TokenKind
	from, to int
}

// statements tracks the state of a statement, token by token.
type statements struct {
	text     []byte
	tokens   []sqlToken
	tolerant bool // the dialect is unknown

	lists []bool // for each open bracket, whether it contains values
	rows  bool   // after VALUES
}

// word returns the text of a token in lower case, or "" if there is none.
func (s *statements) word(i int) string {
	if i < 0 || i >= len(s.tokens) {
		return ""
	}
	return strings.ToLower(string(s.text[s.tokens[i].from:s.tokens[i].to]))
}

// follow processes a token. The caller passes all tokens in order.
func (s *statements) follow(i int) {
	if !s.tolerant {
		return
	}
	switch s.word(i) {
	case "(":
		before := s.word(i - 1)
		s.lists = append(s.lists, before == "in" || before == "values" || s.rows && before == ",")
	case ")":
		s.lists = s.lists[:max(len(s.lists)-1, 0)]
	case "values":
		s.rows = true
	case "select", ";":
		s.rows = false
	}
}

// maybeText reports whether a token in double quotes may be a string. If no dialect is
// given, MySQL and SQLite may read it as a string when it is compared or stands in a list
// of values. The token must be the last one passed to follow.
func (s *statements) maybeText(i int) bool {
	t := s.tokens[i]
	if !s.tolerant || t.kind != sql.Name || s.text[t.from] != '"' || s.word(i+1) == "." {
		return false
	}
	switch before := s.word(i - 1); before {
	case "":
		return false
	case "(", ",":
		return len(s.lists) > 0 && s.lists[len(s.lists)-1]
	case "like", "ilike", "rlike", "regexp", "glob", "match", "between":
		return true
	case "and":
		return s.word(i-3) == "between"
	default:
		return strings.IndexByte("=<>!~", before[0]) >= 0
	}
}
