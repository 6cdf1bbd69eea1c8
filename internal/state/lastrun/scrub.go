package lastrun

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/internal/control/redact"
)

// scrubber returns a function that removes secrets from a line.
func scrubber(secrets []string) func(string) string {
	known := redact.Known(secrets...)
	return func(line string) string { return redact.Text(string(known.Hide([]byte(line))), redact.Hidden) }
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
