package crash

import "strings"

// unshare takes away what the lines of a trace share in front of it, whoever
// wrote it: where a header begins at a column behind something, and the lines
// that follow have the same there, that is their prefix. Digits stand for any
// digits: clocks, counters, ids of processes. Lines of others in between come
// before the trace.
func (t *text) unshare() {
	if !t.headed() {
		return
	}
	changed := false
	for i := 0; i+1 < len(t.lines); {
		if n := t.prefixAt(i); n > 0 {
			i, changed = t.unshareFrom(i, n), true
			continue
		}
		i++
	}
	if changed {
		t.note("stripped what the lines of a trace share")
	}
}

// headWords are what headers begin with, wherever they stand in a line.
func headWords() []string {
	return []string{
		"Traceback (most", "panic: ", "fatal error: ", "goroutine ", "Exception in thread", "Unhandled ", "Uncaught ", "terminate called",
		"Fatal error: ", "Fatal Python", "thread '", "** (", "PHP message: ", "Execution error", "NodeError", "==ERROR: ",
	}
}

// headed reports whether the text has a header at all: plain logs pass at the
// speed of a search.
func (t *text) headed() bool {
	words := append(headWords(), "Error", "Exception")
	for _, l := range t.lines {
		if containsAny(l, words) {
			return true
		}
	}
	return false
}

// prefixAt returns the length of the prefix of the header at line i, 0 without
// one. The two lines that follow have to have it too.
func (t *text) prefixAt(i int) int {
	l, below := t.lines[i], t.lines[i+1]
	n, m := shared(l, below)
	if m < len(below) { // else the next line is a prefix and nothing more
		for n > 0 && isWord(l[n-1]) {
			n--
		}
	}
	if s := strings.TrimSpace(l[:n]); s == "" || strings.Count(s, "{") > strings.Count(s, "}") || s == "|" || s == ">" || s == "at" || strings.HasPrefix(s, "at ") || strings.HasPrefix(s, "from ") {
		return 0
	}
	k := headColumn(l)
	if k <= 0 && strings.HasPrefix(strings.TrimLeft(below[m:], " \t"), "at ") {
		k = n
	}
	if k <= 0 {
		return 0
	}
	for n < k && (l[n] == ' ' || l[n] == '\t') { // the next line was trimmed
		n++
	}
	n = min(n, k)
	if next := i + 2; next < len(t.lines) && t.lines[next] != "" {
		if _, ok := cutShared(l[:n], t.lines[next]); !ok {
			return 0
		}
	}
	return n
}

// headColumn returns where a header begins in l, -1 when there is none.
func headColumn(l string) int {
	best := -1
	for _, w := range headWords() {
		if k := strings.Index(l, w); k >= 0 && (best < 0 || k < best) {
			best = k
		}
	}
	for _, w := range [...]string{"Error", "Exception"} {
		k := strings.Index(l, w)
		if k < 0 {
			continue
		}
		end := k + len(w)
		for end < len(l) && isIdentByte(l[end]) {
			end++
		}
		if end < len(l) && l[end] != ':' && !strings.HasPrefix(l[end:], " (") {
			continue
		}
		for k > 0 && (isIdentByte(l[k-1]) || l[k-1] == '.' || l[k-1] == '$' || l[k-1] == '\\') {
			k--
		}
		if best < 0 || k < best {
			best = k
		}
	}
	return best
}

// maxBetween is how many lines of others may stand within a trace.
const maxBetween = 16

// unshareFrom takes the prefix of n bytes from the header at line i and from
// the lines around it that have it, and returns where they end.
func (t *text) unshareFrom(i, n int) int {
	prefix := t.lines[i][:n]
	from := i
	for from > 0 {
		rest, ok := cutShared(prefix, t.lines[from-1])
		if !ok {
			break
		}
		from--
		t.lines[from] = rest
	}
	var mine, others []string
	var said, levels []level
	end := i
	for j := i; j < len(t.lines) && j-end <= maxBetween; j++ {
		rest, ok := cutShared(prefix, t.lines[j])
		if !ok {
			continue
		}
		others, levels = append(others, t.lines[end:j]...), append(levels, t.levels[end:j]...)
		mine, said = append(mine, rest), append(said, t.levels[j])
		end = j + 1
	}
	copy(t.lines[i:], append(others, mine...))
	copy(t.levels[i:], append(levels, said...))
	return end
}

// cutShared returns l without the prefix; ok is false when it has another.
func cutShared(prefix, l string) (rest string, ok bool) {
	n, m := shared(prefix, l)
	if n < len(prefix) {
		if m == len(l) && strings.TrimSpace(prefix[n:]) == "" {
			return "", true
		}
		return l, false
	}
	rest = l[m:]
	if prefix[len(prefix)-1] == '"' {
		rest = strings.TrimSuffix(rest, `"`)
	} else if strings.Contains(prefix, "│") { // the other side of the window
		rest = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(rest, " "), "│"), " ")
	}
	return rest, true
}

// shared returns how much of a and of b is the same from the beginning, where
// numbers and the blanks before them are the same as others.
func shared(a, b string) (m, n int) {
	for m < len(a) && n < len(b) {
		x, y := countDigits(a[m:]), countDigits(b[n:])
		switch {
		case x > 0 && y > 0:
			m, n = m+x, n+y
		case a[m] == b[n]:
			m, n = m+1, n+1
		case x > 0 && b[n] == ' ' && countDigits(strings.TrimLeft(b[n:], " ")) > 0:
			n += len(b[n:]) - len(strings.TrimLeft(b[n:], " "))
		case y > 0 && a[m] == ' ' && countDigits(strings.TrimLeft(a[m:], " ")) > 0:
			m += len(a[m:]) - len(strings.TrimLeft(a[m:], " "))
		default:
			return m, n
		}
	}
	return m, n
}
