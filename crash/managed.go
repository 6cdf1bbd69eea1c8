package crash

import (
	"slices"
	"strings"
)

// What the readers of managed languages (Java, JavaScript, C#) share: their
// frames are lines that begin with a word for "at", and messages of several
// lines may stand between a header and its first frame.

const (
	maxHeaderGap = 40      // lines looked at between a header and its first frame
	maxFrames    = 512     // kept of one exception; an overflown stack prints 1024
	maxChain     = 32      // exceptions of one trace
	maxMessage   = 2 << 10 // bytes of a raw message
	maxWrap      = 3       // lines that one wrapped frame may fill
)

// afterAt returns what follows the "at " of a frame.
func afterAt(l string) (string, bool) {
	s := strings.TrimLeft(l, " \t")
	if !strings.HasPrefix(s, "at ") {
		return "", false
	}
	return strings.TrimLeft(s[3:], " "), true
}

// unwrap parses the frame at lines[i], which a terminal may have broken into
// several lines, and returns how many it filled; 0 when it is no frame.
func unwrap(lines []string, i int, parse func(string) (Frame, bool)) (Frame, int) {
	f, ok := parse(lines[i])
	if ok {
		return f, 1
	}
	if _, ok := afterAt(lines[i]); !ok {
		return Frame{}, 0
	}
	l := strings.TrimRight(lines[i], " \t")
	if atEnd(lines, i) { // what was pasted ends within its last frame
		if f, ok := parse(strings.TrimRight(l, ":") + ")"); ok && strings.ContainsRune(l, '(') {
			return f, 1
		}
	}
	for n := 1; n < maxWrap && i+n < len(lines); n++ {
		next := strings.TrimSpace(lines[i+n])
		if next == "" || strings.HasPrefix(next, "at ") {
			return Frame{}, 0
		}
		l += next
		if f, ok := parse(l); ok {
			return f, n + 1
		}
	}
	return Frame{}, 0
}

// atEnd reports whether what was pasted ends with lines[i]: a blank line or a
// fence follows, or nothing.
func atEnd(lines []string, i int) bool {
	return i+1 >= len(lines) || strings.Trim(lines[i+1], " \t`~") == ""
}

// withoutRuntime passes over the runtime's frames at the top of every
// exception of a trace in which nobody's own code occurs: an application that
// is itself called like a library (a crash inside Spark or npm) is told by
// its frames, not by the collection class it tripped over.
func withoutRuntime(chain []exception, library, ignore, runtime func(Frame) bool) {
	for _, e := range chain {
		if ownFrames(e.frames, library, ignore) {
			return
		}
	}
	for i := range chain {
		for k, f := range chain[i].frames {
			if !runtime(f) {
				chain[i].frames = chain[i].frames[k:]
				break
			}
		}
	}
}

// reversed turns a chain that was printed from the outermost exception
// inwards: the root cause comes first.
func reversed(chain []exception) []exception {
	chain = slices.Clone(chain)
	slices.Reverse(chain)
	return chain
}

// joined is the message that begins behind a header and goes on in lines.
func joined(first string, lines []string) string {
	s := first
	for _, l := range lines {
		if len(s) > maxMessage {
			break
		}
		s += "\n" + l
	}
	s = strings.TrimSpace(s)
	return s[:min(len(s), maxMessage)]
}

// unreachable reports whether a message says that a service was not reached,
// as the runtimes of all three word it.
func unreachable(message string) bool {
	return spoken(message, "Connection refused", "connection refused", "actively refused", "Connection reset", "connection reset",
		"No route to host", "Network is unreachable", "Temporary failure in name resolution", "Name or service not known",
		"No such host is known", "nodename nor servname provided", "connection was forcibly closed", "Connection timed out",
		"connection attempt failed", "connect timed out", "Connect timed out")
}

// allDigits reports whether s is a number.
func allDigits(s string) bool {
	return s != "" && countDigits(s) == len(s)
}

// lineNumber reads a line number; 0 when s is none.
func lineNumber(s string) int {
	if countDigits(s) < len(s) || len(s) > 9 {
		return 0
	}
	return atoi(s)
}

// unroll splits a trace that was printed in one line: the words before its
// first frame, then a line for each frame. nil when s holds no frame.
func unroll(s string, parse func(string) (Frame, bool)) []string {
	const at = " at "
	s = strings.ReplaceAll(s, "\tat ", at)
	for from := 0; ; {
		i := strings.Index(s[from:], at)
		if i < 0 {
			return nil
		}
		head, rest := s[:from+i], s[from+i+len(at):]
		if _, ok := parse("at " + firstPart(rest, at)); !ok {
			from += i + 1
			continue
		}
		out := []string{strings.TrimSpace(head)}
		for more := true; more && len(out) <= maxFrames; {
			var part string
			part, rest, more = strings.Cut(rest, at)
			out = append(out, "at "+part)
		}
		return out
	}
}

func firstPart(s, sep string) string {
	part, _, _ := strings.Cut(s, sep)
	return part
}
