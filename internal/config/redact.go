package config

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// redacted begins what stands for a secret in a text that is shown. With it the
// text is YAML still.
const redacted = "(secret; "

// WasRedacted reports whether text was made to be shown, and is none that can run.
func WasRedacted(text []byte) bool { return bytes.Contains(text, []byte(redacted)) }

// Redact makes a text of settings into one that can be shown. In the place of
// each secret is how long it is, and what mark makes of it, by which a change of
// it shows: a keyed hash, or a secret that is guessed could be tried.
//
// Secret is what [Config.YAML] masks, and the same words in comments. What
// follows the settings, and what is no YAML, is looked at line by line.
func Redact(text []byte, mark func(secret string) string) []byte {
	r := redactor{mark: mark}
	settings, rest := text, []byte(nil)
	if at := bytes.Index(text, []byte("\n---")); at > 0 {
		settings, rest = text[:at+1], text[at+1:]
	}
	root, fault := load(settings)
	if fault == nil && root != nil {
		r.starts = lineStarts(settings)
		r.text = settings
		r.node(root, "", "", 0)
		settings = r.cut()
	}
	return append(r.lines(settings, fault != nil), r.lines(rest, false)...)
}

type redactor struct {
	mark   func(string) string
	text   []byte
	starts []int
	spans  []span
}

// span is a secret's place.
type span struct{ from, to int }

func (r *redactor) word(secret string) string {
	return fmt.Sprintf("%s%d bytes; %s)", redacted, len(secret), r.mark(secret))
}

// isSecret reports whether what has that name is kept from view. Names of what
// only says where a secret is are not.
func isSecret(name string) bool {
	return secretName.MatchString(name) && !strings.HasSuffix(name, "_env") && !strings.HasSuffix(name, "_file")
}

// node finds the secrets below n, which stands under name, within the settings'
// key top.
func (r *redactor) node(n *yaml.Node, top, name string, depth int) {
	if depth > maxDepth {
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i].Value
			r.node(n.Content[i+1], cmp.Or(top, key), key, depth+1)
		}
	case yaml.SequenceNode:
		secret := false // --password, in the item before
		for _, item := range n.Content {
			if secret && item.Kind == yaml.ScalarNode && !strings.HasPrefix(item.Value, redacted) {
				r.scalar(item)
			} else {
				r.node(item, top, "", depth+1)
			}
			secret = item.Kind == yaml.ScalarNode && strings.HasPrefix(item.Value, "-") && isSecret(strings.TrimLeft(item.Value, "-"))
		}
	case yaml.ScalarNode:
		if n.Value != "" && !strings.HasPrefix(n.Value, redacted) && (isSecret(name) || top == "access_keys" && name != "secret_env" && name != "secret_file") {
			r.scalar(n)
		}
	default: // what an alias stands for is found where it is
	}
}

// scalar notes where a text stands, with its quotes. A plain one that goes over
// several lines is taken as far as what is indented.
func (r *redactor) scalar(n *yaml.Node) {
	if n.Line < 1 || n.Line > len(r.starts) {
		return
	}
	from := r.starts[n.Line-1]
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(r.text[from:])
		from += size
	}
	end := bytes.HasPrefix(r.text[from:], []byte(n.Value))
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		r.add(from, from+quotedLen(r.text[from:], '"'))
	case n.Style&yaml.SingleQuotedStyle != 0:
		r.add(from, from+quotedLen(r.text[from:], '\''))
	case end:
		r.add(from, from+len(n.Value))
	default:
		r.add(from, r.indented(n.Line))
	}
}

func (r *redactor) add(from, to int) {
	r.spans = append(r.spans, span{from, min(max(to, from), len(r.text))})
}

// quotedLen is how long a quoted text is that begins here.
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

// indented is where what belongs to a line ends: the line and those after it
// that are indented more.
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

// cut puts words in the places of the secrets, and wherever else they are.
func (r *redactor) cut() []byte {
	slices.SortFunc(r.spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out bytes.Buffer
	at := 0
	secrets := map[string]bool{}
	for _, s := range r.spans {
		if s.from < at {
			continue
		}
		secret := strings.Trim(string(r.text[s.from:s.to]), `"'`)
		secrets[secret] = true
		out.Write(r.text[at:s.from])
		out.WriteString(r.word(secret))
		at = s.to
	}
	out.Write(r.text[at:])
	var pairs []string
	for _, secret := range slices.Sorted(maps.Keys(secrets)) {
		if len(secret) >= shortestElsewhere {
			pairs = append(pairs, secret, r.word(secret))
		}
	}
	return []byte(strings.NewReplacer(pairs...).Replace(out.String()))
}

// shortestElsewhere is how long a secret is at least that is looked for in
// comments and other values, too.
const shortestElsewhere = 8

var (
	// urlSecret is a password in a URL.
	urlSecret = regexp.MustCompile(`(://[^\s:@/"'(]*:)([^\s@/"'(]+)(@)`)
	// assigned is what name=value begins with, pair what name: value does; the
	// others are the values. Only those of secrets are looked for, so that the time
	// that a line takes grows with its length alone.
	assigned      = regexp.MustCompile(`([A-Za-z][\w.-]*)["']?\s*=\s*`)
	assignedValue = regexp.MustCompile(`^[^\s"'&,}\]]+`)
	pair          = regexp.MustCompile(`([A-Za-z][\w.-]*)["']?:\s+`)
	pairValue     = regexp.MustCompile(`^("[^"]*"|'[^']*'|[^\s,}\]"'[{][^,}\]\r\n]*)`)
)

// lines hides what is left: passwords in URLs, name=value everywhere, and
// name: value in comments, in the files that follow the settings, or everywhere.
func (r *redactor) lines(text []byte, everywhere bool) []byte {
	var out strings.Builder
	files := bytes.HasPrefix(text, []byte("---"))
	for line := range strings.Lines(string(text)) {
		line = urlSecret.ReplaceAllStringFunc(line, func(found string) string {
			m := urlSecret.FindStringSubmatch(found)
			return m[1] + r.word(m[2]) + m[3]
		})
		line = r.hide(line, assigned, assignedValue)
		at := len(line)
		if everywhere || files {
			at = 0
		} else if i := strings.Index(line, "#"); i >= 0 {
			at = i
		}
		out.WriteString(line[:at] + r.hide(line[at:], pair, pairValue))
	}
	return []byte(out.String())
}

// hide replaces the values of names that are of secrets.
func (r *redactor) hide(line string, name, value *regexp.Regexp) string {
	var out strings.Builder
	for {
		m := name.FindStringSubmatchIndex(line)
		if m == nil {
			out.WriteString(line)
			return out.String()
		}
		out.WriteString(line[:m[1]])
		is := line[m[2]:m[3]]
		line = line[m[1]:]
		if !isSecret(is) || strings.HasPrefix(line, redacted) {
			continue
		}
		found := strings.TrimRight(value.FindString(line), " \t")
		if found == "" {
			continue
		}
		out.WriteString(r.word(strings.Trim(found, `"'`)))
		line = line[len(found):]
	}
}
