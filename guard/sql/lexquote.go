package sql

import (
	"bytes"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// quoted reads a quoted text. start is the start of the token, i its quote.
func (l *lexer) quoted(start, i int) int {
	q := l.text[i]
	k := quoted
	if q == '\'' || q == '"' && l.dialect.doubleText {
		k = text
	}
	if l.text[start] == '@' {
		k = param
	}
	escapes := k == text && l.escapes(start, i)
	end := l.closing(i+1, q, escapes)
	if end < 0 {
		l.fail(cost.Unparsable, "unterminated quote", start)
		return len(l.text)
	}
	return l.add(k, none, start, end)
}

// escapes reports whether backslashes escape in the string whose quote is at i.
func (l *lexer) escapes(start, i int) bool {
	if start < i {
		switch l.text[start] | 0x20 {
		case 'e':
			return true
		case 'u', 'x', 'b':
			return false
		}
	}
	return l.dialect.backslash
}

// closing returns the position after the quote that ends a string, or -1.
func (l *lexer) closing(i int, q byte, escapes bool) int {
	next := -1 // the next quote, found only once
	for i < len(l.text) {
		if next < i {
			n := bytes.IndexByte(l.text[i:], q)
			if n < 0 {
				return -1
			}
			next = i + n
		}
		if escapes {
			if b := bytes.IndexByte(l.text[i:next], '\\'); b >= 0 {
				i += b + 2
				continue
			}
		}
		i = next + 1
		if i >= len(l.text) || l.text[i] != q {
			return i
		}
		i++ // doubled: a quote in the string
	}
	return -1
}

// dollar reads $1, ${name} or $tag$ … $tag$.
func (l *lexer) dollar(i int) int {
	rest := l.text[i:]
	if len(rest) > 1 && classOf(rest[1]) == digit {
		return l.add(param, none, i, i+wordEnd(rest, 1))
	}
	if len(rest) > 1 && rest[1] == '{' {
		if n := bytes.IndexByte(rest[:min(len(rest), 128)], '}'); n > 1 {
			return l.add(param, none, i, i+n+1)
		}
	}
	const longest = 63 // of a name
	end := wordEnd(rest[:min(len(rest), longest)], 1)
	if end < len(rest) && rest[end] == '$' && l.dialect.kind != mysql && !l.noDollar {
		tag := rest[:end+1]
		if n := bytes.Index(rest[end+1:], tag); n >= 0 {
			return l.add(text, none, i, i+len(tag)+n+len(tag))
		}
		if l.dialect.kind == postgres {
			l.fail(cost.Unparsable, "unterminated dollar quote", i)
			return len(l.text)
		}
		l.noDollar = true
	}
	if end > 1 {
		return l.add(param, none, i, i+end) // $name
	}
	return l.add(operator, oOther, i, i+1)
}

// inside returns the text between the quotes of a string or a name, without decoding it.
// Prefixes and tags are not included.
func inside(b []byte) []byte {
	i := 0
	for i < len(b) && i < 2 && b[i] != '\'' && b[i] != '"' && b[i] != '`' && b[i] != '$' && b[i] != '[' {
		i++
	}
	switch {
	case i >= len(b):
		return b
	case b[i] == '$':
		if n := bytes.IndexByte(b[i+1:], '$'); n >= 0 && len(b) >= 2*(n+2) {
			return b[i+n+2 : len(b)-n-2]
		}
		return b
	case len(b) < i+2:
		return nil
	}
	return b[i+1 : len(b)-1]
}
