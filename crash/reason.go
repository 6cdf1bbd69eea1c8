package crash

import (
	"strings"
	"unicode/utf8"
)

// MaxReason bounds the bytes of a Reason.
const MaxReason = 240

// fold returns the first two lines of a message with everything replaced by
// its kind that differs from one incident to the next: <int>, <path>, <uuid>.
// Names of code (method 'save', module "yaml") stay, values go.
func fold(message string) string {
	f := folder{}
	n := 0
	for l := range strings.SplitSeq(message, "\n") {
		l = strings.TrimSpace(l)
		if l == "" {
			continue
		}
		if n > 0 {
			f.put(" ")
		}
		f.line(l)
		if n++; n == 2 || f.out.Len() >= MaxReason {
			break
		}
	}
	return truncate(strings.TrimSpace(f.out.String()), MaxReason)
}

// truncate cuts s to at most n bytes, not within a character.
func truncate(s string, n int) string {
	if len(s) <= n {
		return strings.ToValidUTF8(s, "\ufffd")
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	s = strings.ToValidUTF8(s[:n], "\ufffd")
	if len(s) > MaxReason {
		return truncate(s, MaxReason)
	}
	return s
}

// folder writes a folded line. It looks at each byte a bounded number of times.
type folder struct {
	out  strings.Builder
	word string // the last plain word, lower case: does a quoted name follow?
}

func (f *folder) put(s string) { f.out.WriteString(s) }

// line folds one line; a few hundred bytes decide.
func (f *folder) line(l string) {
	if len(l) > 4*MaxReason {
		l = l[:4*MaxReason]
	}
	for i := 0; i < len(l) && f.out.Len() < 2*MaxReason; {
		c := l[i]
		switch {
		case isQuote(l[i:]) && (i == 0 || !isWord(l[i-1])):
			i += f.quoted(l, i)
		case c == ' ' || c == '\t':
			if s := f.out.String(); s != "" && s[len(s)-1] != ' ' {
				f.put(" ")
			}
			i++
		case isToken(c):
			n := tokenLen(l[i:])
			f.token(l[i : i+n])
			i += n
		case c == '<' && erlangPID(l[i:]) > 0:
			f.put("<pid>")
			i += erlangPID(l[i:])
		default:
			f.out.WriteByte(c)
			i++
		}
	}
}

// erlangPID is the length of <0.137.0>.
func erlangPID(s string) int {
	end := strings.IndexByte(s[:min(len(s), 32)], '>')
	if end < 6 || strings.Trim(s[1:end], "0123456789.") != "" || strings.Count(s[:end], ".") != 2 {
		return 0
	}
	return end + 1
}

func isQuote(s string) bool {
	switch s[0] {
	case '"', '\'', '`':
		return true
	}
	return strings.HasPrefix(s, "“") || strings.HasPrefix(s, "‘") || strings.HasPrefix(s, "«")
}

// quoted folds a quoted value, or keeps it when it is a name of code.
func (f *folder) quoted(l string, i int) int {
	open := 1
	if l[i] >= 0x80 {
		_, open = utf8.DecodeRuneInString(l[i:])
	}
	end, width := closing(l[i+open:], l[i:i+open])
	if end < 0 {
		f.put(l[i : i+open])
		return open
	}
	body := l[i+open : i+open+end]
	if isNoun(f.word) && isCodeName(body) || isNounBehind(l[i+open+end+width:]) && isCodeName(body) {
		f.put("'" + body + "'")
	} else {
		f.put("<str>")
	}
	f.word = ""
	return open + end + width
}

// closing finds the end of a quotation: a quote that no word follows.
func closing(s, open string) (at, width int) {
	want := open
	switch open {
	case "“":
		want = "”"
	case "‘":
		want = "’"
	case "«":
		want = "»"
	case "`":
		want = "`'"
	}
	for i := 0; i < len(s) && i < 512; i++ {
		if s[i] == '\\' {
			i++
			continue
		}
		w := 0
		switch {
		case open == "`" && strings.IndexByte(want, s[i]) >= 0:
			w = 1
		case open != "`" && strings.HasPrefix(s[i:], want):
			w = len(want)
		}
		if w > 0 && (i+w == len(s) || !isWord(s[i+w]) || s[i+w] >= 0x80) {
			return i, w
		}
	}
	return -1, 0
}

// isNoun reports words behind which a quoted name is a name of code.
func isNoun(w string) bool {
	switch w {
	case "module", "method", "attribute", "function", "class", "command", "option", "package", "variable",
		"constant", "property", "named", "name", "import", "properties", "symbol", "type", "interface", "trait",
		"operator", "library", "reading", "setting", "identifier", "keyword", "flag", "global",
		"target", "relation", "column", "constraint", "table", "schema", "extension", "index", "view":
		return true
	}
	return false
}

// isNounBehind is for "'save' method" and "'x' is not a function".
func isNounBehind(s string) bool {
	s = strings.TrimLeft(s, " ")
	return startsWith(s, "method", "function", "module", "attribute", "is not a function", "is not defined", "command", "package", "undeclared", "was not declared", "has no member")
}

// isCodeName reports what may be an identifier, and no value or path.
func isCodeName(s string) bool {
	if s == "" || len(s) > 48 || s[0] == '/' || s[0] == '.' || s[0] == '~' || countDigits(s) > 0 {
		return false
	}
	run, letters := 0, 0
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
			if run++; run > 3 {
				return false
			}
			continue
		case c == '_' || c == '.' || c == '-' || c == '/' || c == '@' || c == ':' || c == '$' || c == '?' || c == '!' || c == '=' || c == '[' || c == ']' || c == '+' || c == '*' || c == '<' || c == '>':
		case isWord(c) && c < 0x80:
			letters++
		default:
			return false
		}
		run = 0
	}
	return letters > 0
}
