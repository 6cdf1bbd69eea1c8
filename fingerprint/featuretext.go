package fingerprint

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar"
)

// How many bytes of a name, a value and a path a text shows.
const (
	maxNameText  = 40
	maxValueText = 40
	maxPathText  = 80
)

// hiddenText replaces a value that is not shown.
const hiddenText = " (value hidden)"

// FeatureText describes a feature of the request, such as "header X-Theme: neon", "cookie
// theme present" or `JSON member $.theme = "neon"`. It returns false if the request does
// not have the feature. It never shows values of cookies, nor values that look secret by
// their name or form. The text is short ASCII without control characters and without HTML
// markup.
func (p *Printer) FeatureText(in *Input, client bezoar.Fingerprint, feature uint64) (string, bool) {
	s := p.pool.Get().(*scratch)
	defer p.put(s)
	if kind(feature>>kindShift) == ofMany {
		s.traits(p, in, client, 0)
		var all [MaxFeatures]uint64
		if slices.Contains(s.feat.choose(all[:0]), feature) {
			return "many " + groupName(feature&15), true
		}
		return "", false
	}
	s.traits(p, in, client, feature)
	text := s.feat.text
	s.feat.text = ""
	return text, text != ""
}

func groupName(group uint64) string {
	switch group {
	case ofHeader.group():
		return "header fields"
	case ofCookie.group():
		return "cookies"
	case ofQuery.group():
		return "query parameters"
	case ofForm.group():
		return "form fields"
	}
	return "JSON members"
}

func paramWord(k kind) string {
	if k == ofForm {
		return "form field "
	}
	return "query "
}

func bodyText(bucket int) string {
	switch {
	case bucket < 0:
		return "body of unknown length"
	case bucket <= 1:
		return "body of " + strconv.Itoa(bucket) + " bytes"
	}
	low := uint64(1) << (bucket - 1)
	return "body of " + strconv.FormatUint(low, 10) + " to " + strconv.FormatUint(2*low-1, 10) + " bytes"
}

// headerName returns a name in the usual spelling of headers.
func headerName(lowered []byte) string {
	name := bytes.Clone(lowered[:min(len(lowered), maxNameText+1)])
	for i, c := range name {
		if c >= 'a' && c <= 'z' && (i == 0 || name[i-1] == '-') {
			name[i] = c &^ 0x20
		}
	}
	return shown(name, maxNameText)
}

// valueText returns a value after its separator, or says that it is hidden.
func valueText(separator string, name, value []byte) string {
	if isSecretName(string(name)) || looksSecret(value) {
		return hiddenText
	}
	return separator + shown(value, maxValueText)
}

func memberText(path, value []byte) string {
	text := "JSON member " + pathText(path)
	for name := range strings.FieldsFuncSeq(string(path), func(r rune) bool { return r == '.' || r == '[' || r == ']' || r < ' ' }) {
		if isSecretName(name) {
			return text + hiddenText
		}
	}
	if len(value) == 0 || value[0] != '"' {
		return text + " = " + shown(value, maxValueText)
	}
	if plain, err := strconv.Unquote(string(value)); err == nil {
		value = []byte(plain)
	} else {
		value = value[1 : len(value)-1] // half a surrogate pair
	}
	if looksSecret(value) {
		return text + hiddenText
	}
	body, cut := safe(value, maxValueText)
	return text + ` = "` + body + `"` + cut
}

func pathText(path []byte) string {
	text, cut := safe(path, maxPathText)
	return "$" + strings.NewReplacer(`\x01`, `["`, `\x02`, `"]`).Replace(text) + cut
}

// appendStep appends one step of a path; name is canonical. Control bytes, which canonical names do not contain, stand for
// [" and "] around unusual names.
func appendStep(path, name []byte) []byte {
	if len(name) > 0 && kindsOf(name).within(kAlnum|kDash|kUnder) {
		return append(append(path, '.'), name...)
	}
	return append(append(append(path, 1), name...), 2)
}

// shownName returns the text for a name that may contain a secret.
func shownName(name []byte) string {
	if looksSecret(name) {
		return "(name hidden)"
	}
	return shown(name, maxNameText)
}

// shown returns the text for a name or value: unchanged if it is plain, otherwise in quotes.
func shown(v []byte, limit int) string {
	text, cut := safe(v, limit)
	if cut == "" && text == string(v) && text != "" && text[0] != ' ' && text[len(text)-1] != ' ' {
		return text
	}
	return `"` + text + `"` + cut
}

// safe returns the first bytes of v, and a mark if there were more. It escapes all but printable ASCII, and also characters
// that end a quoted text or begin markup, escapes and references.
func safe(v []byte, limit int) (text, cut string) {
	if len(v) > limit {
		v, cut = v[:limit], "..."
		for n := 0; n < utf8.UTFMax-1 && len(v) > 0; n++ {
			if r, size := utf8.DecodeLastRune(v); r != utf8.RuneError || size != 1 {
				break
			}
			v = v[:len(v)-1] // an incomplete rune
		}
	}
	var b strings.Builder
	for len(v) > 0 {
		r, size := utf8.DecodeRune(v)
		switch {
		case r == utf8.RuneError && size == 1:
			const digits = "0123456789abcdef"
			b.WriteString(`\x`)
			b.WriteByte(digits[v[0]>>4])
			b.WriteByte(digits[v[0]&15])
		case r < unicode.MaxASCII && r >= ' ' && strings.IndexByte("\\\"'`<>&", byte(r)) < 0:
			b.WriteByte(byte(r))
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			if len(quoted) == 3 || r == '\\' || r == '\'' {
				quoted = `'\x` + strconv.FormatUint(uint64(r), 16) + `'`
			}
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		v = v[size:]
	}
	return b.String(), cut
}

// isSecretName reports whether values of that name are never shown.
func isSecretName(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "sig", "sid", "pin", "pass", "pw", "otp", "code", "cvv", "cvc", "ssn", "iban":
		return true
	case "sec-websocket-key":
		return false
	}
	for _, part := range [...]string{
		"auth", "cookie", "token", "secret", "passw", "passphrase", "pwd", "key", "session", "sessid",
		"signature", "credential", "jwt", "csrf", "xsrf", "bearer",
	} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// looksSecret recognises credentials under a name that does not tell: tokens,
// URLs with a password or with parameters, and what was drawn by lot.
func looksSecret(value []byte) bool {
	v := string(value[:min(len(value), 512)])
	lowered := strings.ToLower(v)
	for _, p := range [...]string{"bearer ", "basic ", "digest ", "eyj", "-----begin"} {
		if strings.HasPrefix(lowered, p) {
			return true
		}
	}
	if _, rest, ok := strings.Cut(v, "://"); ok && strings.ContainsAny(rest, "@?") {
		return true
	}
	k := kindsOf(value)
	if len(v) < 20 || k&kDigit == 0 || strings.ContainsAny(v, " .;,:") {
		return false
	}
	switch classify(value, k) {
	case cToken, cHex:
		return true
	default:
		return false
	}
}
