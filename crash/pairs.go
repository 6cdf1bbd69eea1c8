package crash

import (
	"strconv"
	"strings"
)

// unfoldPairs reads a log line that is made of pairs (level=error msg="job
// failed" err="no such host"), and one that has the error as a pair behind its
// words (job failed error="no such host" job=7). nil for other lines.
func unfoldPairs(l string, lv level) ([]string, level) {
	if l == "" || strings.IndexByte(l, '=') < 0 || l[0] == ' ' || l[0] == '\t' {
		return nil, unsaid
	}
	e := entry{}
	n := keyLen(l)
	if n > 0 && (strings.Contains(l, "msg=") || strings.Contains(l, "message=") || strings.Contains(l, "err=") || strings.Contains(l, "error=")) {
		e.pairs(l)
		if lv := levelOf(e.level); (lv != unsaid || strings.HasPrefix(l, `msg="`)) && (e.message != "" || e.problem != "") {
			return e.lines(), lv
		}
		if strings.Contains(l, `msg=""`) {
			return []string{""}, unsaid
		}
		return nil, unsaid
	}
	if n > 0 && strings.Contains(l, "level=") && strings.Contains(l, "time=") && strings.Count(l, "=") <= 3 {
		return []string{""}, unsaid // logrus writes a blank line as no message
	}
	if lv < failed {
		return nil, unsaid
	}
	for _, key := range [...]string{` err="`, ` error="`, ` exception="`, ` cause="`} {
		if at := strings.Index(l, key); at > 0 {
			e.pairs(l[at+1:])
			e.message = unquotedWhole(strings.TrimSpace(beforePairs(l[:at])))
			return e.lines(), unsaid
		}
	}
	return nil, unsaid
}

// pairs gathers the known fields of the pairs that l begins with.
func (e *entry) pairs(l string) {
	for l != "" {
		n := keyLen(l)
		if n == 0 { // a word between two pairs
			_, l, _ = strings.Cut(l, " ")
			continue
		}
		key, rest := strings.ToLower(l[:n]), l[n+1:]
		value := rest[:pairLen(rest)]
		l = strings.TrimLeft(rest[len(value):], " \t")
		if said, err := strconv.Unquote(value); err == nil {
			value = said
		}
		if i := strings.LastIndexByte(key, '.'); i >= 0 {
			key = key[i+1:]
		}
		e.field(key, value, 0)
	}
}

// keyLen is the length of the key of the pair that l begins with.
func keyLen(l string) int {
	n := 0
	for n < len(l) && n < 40 && (isIdentByte(l[n]) || n > 0 && (l[n] == '.' || l[n] == '-')) {
		n++
	}
	if n == 0 || n+1 >= len(l) || l[n] != '=' || l[n+1] == '=' || l[n+1] == ' ' {
		return 0
	}
	return n
}

// pairLen is the length of a value: up to its closing quote, or to a blank.
func pairLen(s string) int {
	if s == "" || s[0] != '"' {
		if end := strings.IndexByte(s, ' '); end >= 0 {
			return end
		}
		return len(s)
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// beforePairs is what stands before the first pair of l.
func beforePairs(l string) string {
	for at := 0; ; {
		blank := strings.IndexByte(l[at:], ' ')
		if blank < 0 {
			return l
		}
		at += blank + 1
		if keyLen(l[at:]) > 0 {
			return l[:at]
		}
	}
}

// unquotedWhole takes away the quotes around all of s.
func unquotedWhole(s string) string {
	if len(s) > 1 && s[0] == '"' && pairLen(s) == len(s) {
		if said, err := strconv.Unquote(s); err == nil {
			return said
		}
	}
	return s
}
