package supervise

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/crash"
	"github.com/bezoar-dev/bezoar/internal/control/redact"
	"github.com/bezoar-dev/bezoar/internal/process/evidence"
)

// The limits of the crash evidence kept per worker.
const (
	tailLines = 20  // lines of stderr
	tailWidth = 500 // bytes of each
	headLines = 8   // of those, from the start of the crash report
	headFresh = 5 * time.Second
)

// tail keeps the last lines of a worker's stderr, and the first lines of its last crash report: a dump of many stacks would
// displace them.
type tail struct {
	mu     sync.Mutex        // guards all fields below
	ring   [tailLines][]byte // its buffers are reused
	next   uint64            // the number of the next line
	head   [][]byte          // from line headAt on, at most headLines
	headAt uint64
	headed time.Time
}

func (t *tail) add(line []byte) {
	line = clip(line)
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.next
	t.next++
	slot := &t.ring[n%tailLines]
	*slot = append((*slot)[:0], line...)
	switch following := n - t.headAt; {
	case len(t.head) > 0 && following < headLines:
		t.head = append(t.head, bytes.Clone(line))
	case opensReport(line):
		t.head, t.headAt, t.headed = append(t.head[:0], bytes.Clone(line)), n, time.Now()
	}
}

// lines returns the evidence, plain text, oldest first.
func (t *tail) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	first := t.next - min(t.next, tailLines)
	if len(t.head) > 0 && t.headAt < first && time.Since(t.headed) < headFresh {
		for _, l := range t.head {
			out = append(out, shown(l))
		}
		out = append(out, "…")
		first = max(t.headAt+uint64(len(t.head)), t.next-min(t.next, uint64(tailLines-len(out))))
	}
	for n := first; n < t.next; n++ {
		out = append(out, shown(t.ring[n%tailLines]))
	}
	return out
}

// opensReport reports whether a runtime's crash report begins with this line. Languages that put the cause last need no
// entry: the end is kept anyway.
func opensReport(line []byte) bool {
	if len(line) < 5 {
		return false
	}
	for _, p := range [...]string{
		"panic: ", "fatal error: ", "runtime: out of memory", "SIG", // Go
		"Traceback (most recent call last)", "Fatal Python error", // Python
		"FATAL ERROR: ", "# Fatal error", // Node
		"Exception in thread", "# A fatal error", // Java
		"terminate called", "thread '", // C++, Rust
	} {
		if len(line) >= len(p) && string(line[:len(p)]) == p {
			return true
		}
	}
	return false
}

// clip cuts a line to tailWidth bytes at a character boundary.
func clip(line []byte) []byte {
	if len(line) <= tailWidth {
		return line
	}
	n := tailWidth
	for n > tailWidth-utf8.UTFMax && !utf8.RuneStart(line[n]) {
		n--
	}
	return line[:n]
}

// shown returns a line in the form of evidence: plain, and without values that look like secrets.
func shown(line []byte) string { return redact.Text(plain(line), redact.Hidden) }

// plain makes a line safe to show anywhere: valid UTF-8, without terminal
// sequences and control characters other than tabs.
func plain(line []byte) string {
	var b strings.Builder
	for s := strings.ToValidUTF8(string(line), "\uFFFD"); s != ""; {
		if rest, ok := strings.CutPrefix(s, "\x1b["); ok {
			end := strings.IndexFunc(rest, func(r rune) bool { return r >= 0x40 && r <= 0x7e })
			s = rest[end+1:]
			continue
		}
		r, n := utf8.DecodeRuneInString(s)
		s = s[n:]
		if r == '\t' || !unicode.IsControl(r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// cause returns the line of a crash report that says what failed: many runtimes put a stack or their version behind it. If
// there is no such line, it returns the last one.
func cause(lines []string) string {
	rep, err := crash.ParseBytes([]byte(strings.Join(lines, "\n")))
	if err == nil && rep.Quality != crash.Exit {
		if line := evidence.Sentence(rep); line != "" {
			return line
		}
	}
	for _, line := range slices.Backward(lines) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}
