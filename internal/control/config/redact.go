package config

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/bezoar-dev/bezoar/internal/control/redact"
	"github.com/bezoar-dev/bezoar/internal/sorted"
)

// WasRedacted reports whether text was redacted for display, so that it cannot run.
func WasRedacted(text []byte) bool {
	return bytes.Contains(text, []byte(redact.Begin)) || bytes.Contains(text, []byte(redact.Bare))
}

// Redact returns settings for display. It replaces each secret by its length and
// mark(secret), which reveals changes of the secret. mark must be a keyed hash: with a
// plain hash, guessed secrets could be verified.
//
// Text after the settings, and text that is not YAML, is processed line by line.
func Redact(text []byte, mark func(secret string) string) []byte {
	return hideSecrets(text, func(secret string) string {
		return fmt.Sprintf("%s%d bytes; %s)", redact.Begin, len(secret), mark(secret))
	})
}

func hideSecrets(text []byte, word redact.Word) []byte {
	r := redactor{secrets: map[string]bool{}}
	r.word = func(secret string) string {
		r.secrets[secret] = true
		return word(secret)
	}
	settings, rest := text, []byte(nil)
	if at := bytes.Index(text, []byte("\n---")); at > 0 {
		settings, rest = text[:at+1], text[at+1:]
	}
	root, fault := load(settings, MaxFileSize)
	if fault == nil && root != nil {
		r.starts = lineStarts(settings)
		r.text = settings
		r.node(root, "", "", 0)
		settings = r.cut()
	}
	return append(r.lines(settings, fault != nil), r.lines(rest, true)...)
}

type redactor struct {
	word    redact.Word
	secrets map[string]bool // secrets that were passed to mark
	text    []byte
	starts  []int
	spans   []span
}

// span is a range with its replacement.
type span struct {
	from, to int
	shown    string
}

// node finds the secrets below n. name is the key of n, and top the top-level key that
// contains it.
func (r *redactor) node(n *yaml.Node, top, name string, depth int) {
	if depth > maxDepth {
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if depth == 2 && namesOnly(top, key) { // the name of a key or route, not the name of a secret
				continue
			}
			r.node(n.Content[i+1], cmp.Or(top, key), key, depth+1)
		}
	case yaml.SequenceNode:
		option := "" // the previous item, if it is an option such as --password
		for _, item := range n.Content {
			r.node(item, top, option, depth+1)
			option = ""
			if item.Kind == yaml.ScalarNode && strings.HasPrefix(item.Value, "-") && !strings.Contains(item.Value, "=") {
				option = strings.TrimLeft(item.Value, "-")
			}
		}
	case yaml.ScalarNode:
		switch {
		case n.Value == "":
		case redact.Setting(name), top == "access_keys" && name != "secret_env" && name != "secret_file":
			r.scalar(n, func(value string) string {
				if strings.HasPrefix(value, "(secret") {
					return value
				}
				return r.word(value)
			})
		case name == "webhook", top == "outbox" && name == "to" && strings.HasPrefix(n.Value, "http"): // the path of a webhook's URL grants access
			r.scalar(n, func(value string) string { return redact.Webhook(value, r.word) })
		default:
			r.scalar(n, func(value string) string { return redact.Settings(value, r.word) })
		}
	default: // the target of an alias is processed at its own place
	}
}

// namesOnly reports whether a key contains names of queues, actions, headers or cookies,
// which only look like secrets.
func namesOnly(top, key string) bool {
	switch key {
	case "queues", "actions":
		return top == "access_keys"
	case "sticky", "client":
		return top == "routes"
	}
	return false
}

// scalar records the replacement for a text. A text with escapes, or over several lines, is
// replaced completely.
func (r *redactor) scalar(n *yaml.Node, show func(value string) string) {
	shown := show(n.Value)
	from, to := r.place(n)
	if shown == n.Value || from >= to {
		return
	}
	written := string(r.text[from:to])
	before, after, ok := strings.Cut(written, n.Value)
	quotes := before + after
	switch {
	case ok && strings.HasPrefix(shown, "(secret"): // the whole text
		shown = r.word(n.Value)
	case ok && (quotes == "" || quotes == `""` || quotes == "''"):
		shown = before + shown + after
	default:
		shown = r.word(strings.Trim(written, `"'`))
	}
	r.spans = append(r.spans, span{from, to, shown})
}

// place returns the range of a text with its quotes. For a plain text over several lines,
// this is the indented range.
func (r *redactor) place(n *yaml.Node) (from, to int) {
	if n.Line < 1 || n.Line > len(r.starts) {
		return 0, 0
	}
	from = r.starts[n.Line-1]
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(r.text[from:])
		from += size
	}
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		to = from + quotedLen(r.text[from:], '"')
	case n.Style&yaml.SingleQuotedStyle != 0:
		to = from + quotedLen(r.text[from:], '\'')
	case bytes.HasPrefix(r.text[from:], []byte(n.Value)):
		to = from + len(n.Value)
	default:
		to = r.indented(n.Line)
	}
	return from, min(to, len(r.text))
}

// quotedLen returns the length of the quoted text at the start.
func quotedLen(text []byte, quote byte) int {
	for i := 1; i < len(text); i++ {
		switch {
		case quote == '"' && text[i] == '\\':
			i++
		case text[i] == quote && quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return len(text)
}

// indented returns the end of a line and of the following lines with more indentation.
func (r *redactor) indented(line int) int {
	own := indentAt(r.text[r.starts[line-1]:])
	end := len(r.text)
	for _, start := range r.starts[line:] {
		l, _, _ := bytes.Cut(r.text[start:], []byte("\n"))
		if len(bytes.TrimSpace(l)) > 0 && indentAt(l) <= own {
			end = start
			break
		}
	}
	return max(0, end-1) // without the last line break
}

func indentAt(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " ")) }

func lineStarts(text []byte) []int {
	starts := []int{0}
	for i, c := range text {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// cut replaces the secrets, also where they occur elsewhere.
func (r *redactor) cut() []byte {
	sorted.Func(r.spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out bytes.Buffer
	at := 0
	for _, s := range r.spans {
		if s.from < at {
			continue
		}
		out.Write(r.text[at:s.from])
		out.WriteString(s.shown)
		at = s.to
	}
	out.Write(r.text[at:])
	var pairs []string
	for _, secret := range slices.Sorted(maps.Keys(r.secrets)) {
		if len(secret) >= shortestElsewhere {
			pairs = append(pairs, secret, r.word(secret))
		}
	}
	return []byte(strings.NewReplacer(pairs...).Replace(out.String()))
}

// shortestElsewhere is the minimum length of a secret that is also replaced in comments and
// other values.
const shortestElsewhere = 8

// lines redacts the remaining lines: comments, files after the settings, or, with
// everywhere, all lines.
func (r *redactor) lines(text []byte, everywhere bool) []byte {
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		at := 0
		if !everywhere {
			at = cmp.Or(strings.IndexByte(line, '#')+1, len(line)+1) - 1
		}
		out.WriteString(line[:at] + redact.Settings(line[at:], r.word))
	}
	return []byte(out.String())
}
