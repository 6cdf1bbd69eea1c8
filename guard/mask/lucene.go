package mask

import (
	"bytes"
	"strings"
)

// lucene appends a query_string with other words. Names of fields, operators, what
// is behind ^ and ~, and what expressions are made of, stay.
func (m *masker) lucene(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '/':
			if n := bytes.IndexByte(text[i+1:], '/'); n >= 0 {
				dst = append(append(append(dst, '/'), m.expression(text[i+1:i+1+n])...), '/')
				i += n + 2
				continue
			}
		case c == '"':
			n := stringEnd(text, i)
			dst = m.escaped(dst, text[i:n], false)
			i = n
			continue
		case c == '^' || c == '~':
			dst = append(dst, c)
			for i++; i < len(text) && (text[i] >= '0' && text[i] <= '9' || text[i] == '.'); i++ {
				dst = append(dst, text[i])
			}
			continue
		case luceneWord(c):
			n := i
			for n < len(text) && (luceneWord(text[n]) || text[n] == '\\' && n+1 < len(text)) {
				if text[n] == '\\' {
					n++
				}
				n++
			}
			n = min(n, len(text))
			field := n < len(text) && text[n] == ':' || bytes.HasSuffix(text[:i], []byte("_exists_:"))
			dst = m.luceneWord(dst, text[i:n], field)
			i = n
			continue
		}
		dst = append(dst, c)
		i++
	}
	return dst
}

func luceneWord(c byte) bool {
	return c >= 0x80 || alnum(c) || strings.IndexByte("_.-@*?,;#%$='\\", c) >= 0
}

func (m *masker) luceneWord(dst, word []byte, field bool) []byte {
	switch string(word) {
	case "AND", "OR", "NOT", "TO", "_exists_":
		return append(dst, word...)
	}
	if field || temporal(word) {
		return append(dst, word...)
	}
	return m.escaped(dst, word, false)
}

// script appends code whose strings are others.
func (m *masker) script(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '\'' || c == '"':
			n := i + 1
			for n < len(text) && text[n] != c {
				if text[n] == '\\' {
					n++
				}
				n++
			}
			n = min(n+1, len(text))
			dst = m.escaped(dst, text[i:n], false)
			i = n
		case c == '/' && i+1 < len(text) && (text[i+1] == '/' || text[i+1] == '*'):
			end := []byte("\n")
			if text[i+1] == '*' {
				end = []byte("*/")
			}
			n := bytes.Index(text[i+2:], end)
			if n < 0 {
				n = len(text) - i - 2
			}
			dst = blank(dst, text[i:i+2+n])
			i += 2 + n
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst
}
