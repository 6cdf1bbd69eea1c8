package redact

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bezoar-dev/bezoar"
)

// Word returns the replacement of a secret.
type Word func(secret string) string

// Hidden is the usual [Word].
func Hidden(string) string { return bezoar.Redacted }

// Replacements of secrets in settings. They keep settings valid YAML, unlike a text in
// brackets; Bare also keeps URLs valid.
const (
	Bare  = "(secret)"
	Begin = "(secret; " // start of a replacement with more information
)

// Secret is a [Word] for settings.
func Secret(string) string { return Bare }

// hidden reports whether a value is already a replacement.
func hidden(value string) bool {
	value = strings.TrimLeft(value, `"'`)
	return strings.HasPrefix(value, Bare[:len(Bare)-1]) || strings.HasPrefix(value, bezoar.Redacted) || value == bezoar.Redacted[:len(bezoar.Redacted)-1]
}

// Forms of secrets in texts. [reader.assigned] finds those after names.
var (
	userinfo = regexp.MustCompile(`(://)([^\s"'<>(]*)@`)
	webhook  = regexp.MustCompile(`(?i)(https?://(?:hooks\.[^\s/"'<>]+|[^\s/"'<>]+/(?:[^\s/"'<>]+/)*(?:web)?hooks?)/)([^\s"'<>]+)`)
	field    = regexp.MustCompile(`(?i)((?:proxy-)?authorization|(?:set-)?cookie)(["']?\s*[:=]\s*)("[^"]*"?|'[^']*'?|[^"'\r\n]+)`)
	scheme   = regexp.MustCompile(`(?i)\b(bearer|basic|digest|negotiate)(\s+)([a-z0-9+/=._~-]{4,})`)
	jwt      = regexp.MustCompile(`\beyJ[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*){1,2}`)
	// name matches a possible name of a value: name=value, name: value, "name": value,
	// --name value. Only values after names of secrets are parsed further, so the time is
	// linear in the length of the text.
	name = regexp.MustCompile(`(-{0,2}[A-Za-z][\w.-]*)(["']?\s*=\s*|["']\s*:\s*|:\s+|:["']|\s+)`)
	// one matches a value of one word, all one that extends to the end of its element.
	one = regexp.MustCompile(`^("[^"]*"?|'[^']*'?|[^\s"'&,;)}\]{[][^\s"'&,;)}\]]*)`)
	all = regexp.MustCompile(`^("[^"]*"?|'[^']*'?|[^\s,}\]"'[{][^,}\]\r\n]*)`)
)

// Text returns a text with each secret replaced by w.
func Text(text string, w Word) string { return reader{w, one}.read(text) }

// Settings is [Text] for settings, where the value after "name: " may have several words.
func Settings(text string, w Word) string { return reader{w, all}.read(text) }

// Webhook hides the path of a webhook's URL, which grants access.
func Webhook(url string, w Word) string {
	at := strings.Index(url, "://")
	if at < 0 {
		return url
	}
	host, path, ok := strings.Cut(url[at+3:], "/")
	if !ok || path == "" || hidden(path) {
		return Settings(url, w)
	}
	return Settings(url[:at+3]+host, w) + "/" + w(path)
}

type reader struct {
	word  Word
	value *regexp.Regexp // after a name and a colon
}

func (r reader) read(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(r.line(line))
	}
	return out.String()
}

// line checks which forms a line may contain: most contain none, and the regular
// expressions take a hundred times longer than this check.
func (r reader) line(text string) string {
	low := strings.ReplaceAll(strings.ToLower(text), "-", "_")
	may := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(low, part) })
	}
	if may("://") {
		text = r.part(text, userinfo, r.user)
	}
	if may("hook") {
		text = r.part(text, webhook, func(m []string) string { return m[1] + r.hide(m[2]) })
	}
	if may("authorization", "cookie") {
		text = r.part(text, field, func(m []string) string { return m[1] + m[2] + r.hide(m[3]) })
	}
	if may("bearer", "basic", "digest", "negotiate") {
		text = r.part(text, scheme, r.credentials)
	}
	if may("eyj") {
		text = r.part(text, jwt, func(m []string) string { return r.hide(m[0]) })
	}
	if slices.ContainsFunc(words[:], func(w word) bool { return w.set != nowhere && strings.Contains(low, w.text) }) {
		text = r.assigned(text)
	}
	return text
}

func (reader) part(text string, form *regexp.Regexp, with func(m []string) string) string {
	return form.ReplaceAllStringFunc(text, func(found string) string { return with(form.FindStringSubmatch(found)) })
}

func (r reader) credentials(m []string) string {
	if !strings.EqualFold(m[1], "bearer") && !random(m[3]) {
		return m[0]
	}
	return m[1] + m[2] + r.hide(m[3])
}

// hide returns the replacement of a value, which may be in quotes.
func (r reader) hide(value string) string {
	value = strings.TrimRight(value, " \t")
	if hidden(value) || strings.Trim(value, `"'`) == "" {
		return value
	}
	return r.word(strings.Trim(value, `"'`))
}

// user hides the text before the @ of a URL: the password, or all of it if it is too long
// for a name.
func (r reader) user(m []string) string {
	who, password, two := strings.Cut(m[2], ":")
	host, _, path := strings.Cut(m[2], "/")
	switch {
	case path && !two, path && port(host): // the @ is in the path
		return m[0]
	case two && password != "":
		return m[1] + who + ":" + r.hide(password) + "@"
	case !two && len(who) >= longName:
		return m[1] + r.hide(who) + "@"
	}
	return m[0]
}

// longName is the minimum length from which a user name must be a token.
const longName = 20

// port reports whether the text before a path ends in a port.
func port(host string) bool {
	i := strings.LastIndexByte(host, ':')
	if i < 0 {
		return false
	}
	_, err := strconv.ParseUint(host[i+1:], 10, 16)
	return err == nil
}

// random reports whether a word is not from a language: it contains a digit, a sign, or a
// capital after its first letter.
func random(s string) bool {
	return strings.ContainsAny(s, "0123456789+/=") || strings.ContainsFunc(s[1:], func(r rune) bool { return 'A' <= r && r <= 'Z' })
}

// assigned hides the values after names of secrets.
func (r reader) assigned(text string) string {
	var out strings.Builder
	for {
		m := name.FindStringSubmatchIndex(text)
		if m == nil {
			out.WriteString(text)
			return out.String()
		}
		is, sep := text[m[2]:m[3]], text[m[4]:m[5]]
		to := m[1]
		if last := sep[len(sep)-1]; strings.HasPrefix(sep, ":") && (last == '"' || last == '\'') {
			to-- // the quote belongs to the value
		}
		out.WriteString(text[:to])
		text = text[to:]
		value := one
		switch bare := strings.TrimLeft(is, "-"); {
		case !Setting(bare), strings.TrimSpace(sep) == "" && (bare == is || strings.HasPrefix(text, "-")):
			continue
		case strings.Contains(sep, ":"):
			value = r.value
		}
		found := strings.TrimRight(value.FindString(text), " \t")
		if found == "" || hidden(found) {
			continue
		}
		out.WriteString(r.hide(found))
		text = text[len(found):]
	}
}
