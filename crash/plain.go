package crash

import (
	"slices"
	"strings"
)

// lastWords returns the line that an output without a trace is about: the last
// that tells of an error, else the last that a log marked as one, else the
// last of all. The line behind an error's belongs to it when it is indented.
func (t *text) lastWords() (message string, line int, ok bool) {
	if t == nil {
		return "", 0, false
	}
	marked, last := -1, -1
	for i, l := range slices.Backward(t.lines) {

		if strings.TrimSpace(l) == "" {
			continue
		}
		if last < 0 {
			last = i
		}
		if tells(l) && !isPrompt(l) {
			return t.words(i), i + 1, true
		}
		if marked < 0 && t.levels[i] >= failed {
			marked = i
		}
	}
	switch {
	case marked >= 0:
		return t.words(marked), marked + 1, true
	case last >= 0:
		return t.words(last), last + 1, true
	}
	return "", 0, false
}

// words is line i with the indented one behind it.
func (t *text) words(i int) string {
	s := strings.TrimSpace(t.lines[i])
	if i+1 < len(t.lines) {
		if next := t.lines[i+1]; next != "" && (next[0] == ' ' || next[0] == '\t') {
			s += "\n" + strings.TrimSpace(next)
		}
	}
	return s
}

// tells reports a line that tells of an error.
func tells(l string) bool {
	l = strings.ToLower(l[:min(len(l), 300)])
	for _, w := range [...]string{"error", "fatal", "exception", "panic", "failed", "failure", "cannot ", "could not", "unable to", "killed", "denied", "not found", "no such", "segmentation fault", "abort"} {
		at := strings.Index(l, w)
		if at < 0 {
			continue
		}
		if strings.HasPrefix(l[at:], "errors: 0") || strings.Contains(l, "0 error") || strings.Contains(l, "no error") || strings.Contains(l, "0 failed") || strings.Contains(l, "without error") {
			continue
		}
		return true
	}
	return false
}

// isPrompt reports a command that somebody typed.
func isPrompt(l string) bool {
	return strings.HasPrefix(l, "$ ") || strings.HasPrefix(l, "# ") || strings.HasPrefix(l, "> ") || strings.HasPrefix(l, "PS ")
}
