package mask

import (
	"bytes"
	"strings"
)

// strings appends a text that is nearly JSON: what is no name becomes other words,
// and what says how much is asked for stays.
func (m *masker) strings(dst, text []byte) []byte {
	last := ""
	for i := 0; i < len(text); {
		if n := bytes.Index(near(text[i:]), []byte("}}")); m.templates && n > 0 && bytes.HasPrefix(text[i:], []byte("{{")) {
			dst = append(dst, text[i:i+n+2]...)
			i += n + 2
			continue
		}
		if strings.IndexByte("{}[],: \t\r\n", text[i]) >= 0 {
			dst = append(dst, text[i])
			i++
			continue
		}
		end := wordEnd(text, i)
		token := text[i:end]
		i = end
		rest := bytes.TrimLeft(text[end:], " \t\r\n")
		switch {
		case len(rest) > 0 && rest[0] == ':':
			last = string(content(token))
			dst = append(dst, token...)
		case token[0] == '"':
			dst = requote(dst, token, m.word)
		case isNumber(token) && (verbatim(last) || sizes(last)) && digits(token) <= mostDigits:
			dst = append(dst, token...)
		default:
			dst = m.bare(dst, token)
		}
	}
	return dst
}

// wordEnd is behind the string, or the word, that begins at i.
func wordEnd(text []byte, i int) int {
	if text[i] == '"' {
		return stringEnd(text, i)
	}
	for i < len(text) && strings.IndexByte("{}[],: \t\r\n\"", text[i]) < 0 {
		i++
	}
	return i
}

// bare appends what stands without quotes: a word of JSON, or what is none.
func (m *masker) bare(dst, token []byte) []byte {
	switch string(token) {
	case "true", "false", "null", "NaN", "Infinity", "-Infinity":
		return append(dst, token...)
	}
	if isNumber(token) {
		return m.number(dst, token)
	}
	// One whose exponent may tell something is a number still.
	if e := bytes.IndexAny(token, "eE"); e > 0 && isNumber(token[:e]) && len(bytes.Trim(token[e+1:], "0123456789-+")) == 0 {
		return m.word(append(m.number(dst, token[:e]), token[e]), token[e+1:])
	}
	return m.word(dst, token)
}

// isNumber reports whether a text is one.
func isNumber(text []byte) bool {
	whole, exponent, has := bytes.Cut(bytes.ToLower(text), []byte("e"))
	return digits(whole) > 0 && bytes.Count(whole, []byte(".")) < 2 && len(bytes.Trim(whole, "0123456789.-+")) == 0 &&
		(!has || digits(exponent) > 0 && digits(exponent) < 5 && len(bytes.Trim(exponent, "0123456789-+")) == 0)
}

// piped returns a query of ES|QL, PPL or OpenSearch's SQL, of which both quotes
// hold values, with other ones.
func (m *masker) piped(text []byte) []byte {
	plain := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		end := i + 1
		switch c := text[i]; {
		case c == '\'' || c == '"':
			for end < len(text) && text[end] != c {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(text))
		case bytes.HasPrefix(text[i:], []byte("//")):
			if end = i + bytes.IndexAny(text[i:], "\r\n"); end < i {
				end = len(text)
			}
			plain = blank(plain, text[i:end])
			i = end
			continue
		}
		plain = append(plain, text[i:end]...)
		i = end
	}
	return m.sql(plain, "mysql")
}

// lasts reports whether a text is a date or says how long: 1 day, -2 hours 30 min,
// 01:00, P1D.
func lasts(text []byte) bool {
	if temporal(text) {
		return true
	}
	if len(text) > 40 || digits(text) == 0 || digits(text) > mostDigits {
		return false
	}
	for _, word := range strings.FieldsFunc(strings.ToLower(string(text)), func(c rune) bool { return c < 'a' || c > 'z' }) {
		switch strings.TrimSuffix(word, "s") {
		case "", "year", "yr", "y", "mon", "month", "week", "w", "day", "d", "hour", "h", "minute", "min", "m", "second", "sec", "ms", "milli", "micro", "ago", "p", "t", "dt", "pt":
		default:
			return false
		}
	}
	return true
}
