package lastrun

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hidden stands for a secret.
const hidden = "(hidden)"

// minSecret is the shortest value that is looked for: shorter ones would hide
// words.
const minSecret = 4

// Forms of secrets in text: fields that hold nothing else, words behind names of
// secrets, credentials in addresses, tokens by their own form.
var (
	secretField = regexp.MustCompile(`(?i)\b((?:proxy-)?authorization|(?:set-)?cookie)("?\s*[:=]\s*)[^\r\n]+`)
	secretWord  = regexp.MustCompile(`(?i)([a-z0-9_.-]*(?:secret|token|passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key|private[_-]?key|credential|session[_-]?id)[a-z0-9_-]*)("?\s*[:=]\s*)(\(hidden\)|"[^"]*"?|'[^']*'?|[^\s&,;)}\]]+)`)
	scheme      = regexp.MustCompile(`(?i)\b(bearer|basic|digest|negotiate)\s+[a-z0-9+/=._~-]{4,}`)
	userinfo    = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@]*@`)
	jwt         = regexp.MustCompile(`\beyJ[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*){1,2}`)
)

// scrubber returns what takes secrets out of a line.
func scrubber(secrets []string) func(string) string {
	var known []string
	for _, s := range secrets {
		if len(s) >= minSecret {
			known = append(known, s)
		}
	}
	slices.SortFunc(known, func(a, b string) int { return len(b) - len(a) }) // one may be part of another
	return func(line string) string {
		for _, s := range known {
			line = strings.ReplaceAll(line, s, hidden)
		}
		line = secretField.ReplaceAllString(line, "${1}${2}"+hidden)
		line = secretWord.ReplaceAllString(line, "${1}${2}"+hidden)
		line = scheme.ReplaceAllString(line, "${1} "+hidden)
		line = userinfo.ReplaceAllString(line, "${1}"+hidden+"@")
		return jwt.ReplaceAllString(line, hidden)
	}
}

// tidy makes text printable and short.
func tidy(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.TrimSpace(text))
	if len(text) <= most {
		return text
	}
	const more = "…"
	cut := most - len(more)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + more
}
