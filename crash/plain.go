package crash

import (
	"slices"
	"strings"
	"unicode"
)

// lastWords returns the line that an output without a trace is about: the last
// that tells of an error, else the last that a log marked as one, else the
// last. What only says that something else failed comes after all others.
func (t *text) lastWords() (message string, line int, ok bool) {
	if t == nil {
		return "", 0, false
	}
	marked, said, wrapped := -1, -1, -1
	for i, l := range slices.Backward(t.lines) {
		if strings.TrimSpace(l) == "" {
			continue
		}
		if epilogue(l) {
			wrapped = i // the first, which is the innermost
			continue
		}
		said = max(said, i)
		if (tells(l) || signalled(l) != "") && !isPrompt(l) && !strings.HasPrefix(l[countDigits(l):], ": (") { // nor a frame of Lisp's
			return t.words(i), i + 1, true
		}
		if t.levels[i] >= failed {
			marked = max(marked, i)
		}
	}
	for _, i := range [...]int{marked, said, wrapped} {
		if i >= 0 {
			return t.words(i), i + 1, true
		}
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

// unthreaded takes the thread out of "panic(main thread): text": which one it was
// says nothing of the failure.
func unthreaded(l string) string {
	if rest, ok := strings.CutPrefix(l, "panic("); ok {
		if thread, said, ok := strings.Cut(rest, "): "); ok && len(thread) < 40 {
			return "panic: " + said
		}
	}
	return l
}

// tells reports a line that tells of an error.
func tells(l string) bool {
	l = strings.ToLower(l[:min(len(l), 300)])
	for _, w := range [...]string{"error", "fatal", "exception", "panic", "failed", "failure", "cannot ", "could not", "unable to", "killed", "denied", "not found", "no such", "segmentation fault", "abort", "undefined", "unbound", "unhandled", ": *** ", "corrupted", "** (", "_clause,", "{badmatch,", "{undef,", "invalid read of", "invalid write of"} {
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

// wordy reports a reason that says more than placeholders do.
func wordy(reason string) bool {
	for {
		before, rest, ok := strings.Cut(reason, "<")
		if strings.ContainsFunc(before, unicode.IsLetter) {
			return true
		}
		_, reason, _ = strings.Cut(rest, ">")
		if !ok {
			return false
		}
	}
}
