package redact

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bezoar-dev/bezoar"
)

// Word makes what stands in the place of a secret.
type Word func(secret string) string

// Hidden is the usual [Word].
func Hidden(string) string { return bezoar.Redacted }

// What stands for secrets in settings. With it a text of settings is YAML still,
// which one with brackets would not be; with Bare a URL is a URL, too.
const (
	Bare  = "(secret)"
	Begin = "(secret; " // of a word that says more
)

// Secret is a [Word] for settings.
func Secret(string) string { return Bare }

// hidden reports whether a value stands for a secret already.
func hidden(value string) bool {
	value = strings.TrimLeft(value, `"'`)
	return strings.HasPrefix(value, Bare[:len(Bare)-1]) || strings.HasPrefix(value, bezoar.Redacted) || value == bezoar.Redacted[:len(bezoar.Redacted)-1]
}

// Forms of secrets in text. Those behind names are found by [reader.assigned].
var (
	userinfo = regexp.MustCompile(`(://)([^\s"'<>(]*)@`)
	webhook  = regexp.MustCompile(`(?i)(https?://(?:hooks\.[^\s/"'<>]+|[^\s/"'<>]+/(?:[^\s/"'<>]+/)*(?:web)?hooks?)/)([^\s"'<>]+)`)
	field    = regexp.MustCompile(`(?i)((?:proxy-)?authorization|(?:set-)?cookie)(["']?\s*[:=]\s*)("[^"]*"?|'[^']*'?|[^"'\r\n]+)`)
	scheme   = regexp.MustCompile(`(?i)\b(bearer|basic|digest|negotiate)(\s+)([a-z0-9+/=._~-]{4,})`)
	jwt      = regexp.MustCompile(`\beyJ[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*){1,2}`)
	// name is what may be the name of a value: name=value, name: value, "name":
	// value, --name value. Only the values of secrets' names are looked for, so that
	// the time that a text takes grows with its length alone.
	name = regexp.MustCompile(`(-{0,2}[A-Za-z][\w.-]*)(["']?\s*=\s*|["']\s*:\s*|:\s+|:["']|\s+)`)
	// one is a value of one word, all one that goes on to the end of its element.
	one = regexp.MustCompile(`^("[^"]*"?|'[^']*'?|[^\s"'&,;)}\]{[][^\s"'&,;)}\]]*)`)
	all = regexp.MustCompile(`^("[^"]*"?|'[^']*'?|[^\s,}\]"'[{][^,}\]\r\n]*)`)
)

// Text returns a text with w in the place of each secret in it.
func Text(text string, w Word) string { return reader{w, one}.read(text) }

// Settings is [Text] for settings: what stands behind "name: " may be many words.
func Settings(text string, w Word) string { return reader{w, all}.read(text) }

// Webhook hides the path of a URL by which anybody can write to somebody.
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
	value *regexp.Regexp // behind a name and a colon
}

func (r reader) read(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(r.line(line))
	}
	return out.String()
}

// line looks for the forms that a line may have: most have none, and expressions
// take a hundred times longer than to see that.
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

// hide returns what stands for a value, which may be in quotes.
func (r reader) hide(value string) string {
	value = strings.TrimRight(value, " \t")
	if hidden(value) || strings.Trim(value, `"'`) == "" {
		return value
	}
	return r.word(strings.Trim(value, `"'`))
}

// user hides what stands before the @ of a URL: the password, or all of what is
// too long for a name.
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

// longName is how long a user's name is at least that must be a token.
const longName = 20

// port reports whether what stands before a path ends in a port.
func port(host string) bool {
	i := strings.LastIndexByte(host, ':')
	if i < 0 {
		return false
	}
	_, err := strconv.ParseUint(host[i+1:], 10, 16)
	return err == nil
}

// random reports whether a word is none of a language: it has a digit, a sign, or
// a capital that does not begin it.
func random(s string) bool {
	return strings.ContainsAny(s, "0123456789+/=") || strings.ContainsFunc(s[1:], func(r rune) bool { return 'A' <= r && r <= 'Z' })
}

// assigned hides the values of names that are of secrets.
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
			to-- // the quote is the value's
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
