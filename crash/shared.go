package crash

import (
	"strings"
	"unicode"
)

// unshare takes away what the lines of a trace share in front of it, whoever
// wrote it: where a header begins at a column behind something, and the lines
// that follow have the same there, that is their prefix. Digits stand for any
// digits: clocks, counters, ids of processes. Lines of others in between come
// before the trace.
func (t *text) unshare() {
	changed := t.unshareAll()
	if !changed && !t.headed {
		return
	}
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

// unshareAll takes away what all lines share, if it is set off by brackets or the
// like. A place or the word error is what they say, not where they come from.
func (t *text) unshareAll() bool {
	first, n, lines := "", 0, 0
	for _, l := range t.lines {
		if strings.TrimSpace(l) == "" {
			continue
		}
		if lines++; lines == 1 {
			first, n = l, len(l)
			continue
		}
		m, k := shared(first[:n], l)
		if m < n && (k < len(l) || strings.TrimSpace(first[m:n]) != "") {
			n = separated(first, m)
		}
		if n == 0 {
			return false
		}
	}
	prefix := first[:n]
	if end := strings.LastIndexAny(prefix, "])|>") + 1; end > 0 { // what stands behind may be the program's own
		end += len(prefix[end:]) - len(strings.TrimPrefix(strings.TrimPrefix(prefix[end:], ":"), " "))
		prefix = prefix[:end]
	}
	if lines < 3 || !strings.ContainsFunc(prefix, unicode.IsLetter) || !strings.ContainsAny(prefix, "])|>") || tells(prefix) || !isPrefix(prefix) || headColumn(prefix) >= 0 {
		return false
	}
	if f, _, _ := placeIn(prefix); f.File != "" {
		return false
	}
	for i, l := range t.lines {
		t.lines[i], _ = cutShared(prefix, l)
	}
	return true
}

// separated cuts the first n bytes of l behind their last separator.
func separated(l string, n int) int {
	for n > 0 && isWord(l[n-1]) {
		n--
	}
	return n
}

// isPrefix reports what may stand in front of lines: not a margin, which others
// read, nor valgrind's, nor the beginning of a frame, nor half of an object.
func isPrefix(s string) bool {
	s = strings.TrimSpace(s)
	return s != "" && !(openQuote(s) && strings.Contains(s, `="`)) && !(strings.HasPrefix(s, "==") && countDigits(s[2:]) > 0) && s != "|" && s != ">" && s != "at" && !strings.HasPrefix(s, "at ") && !strings.HasPrefix(s, "from ") &&
		strings.Count(s, "{") <= strings.Count(s, "}") && strings.Count(s, "[") == strings.Count(s, "]")
}

// openQuote reports text within which a quotation begins and does not end: of a pair,
// as in msg="text, another pair may follow it.
func openQuote(s string) bool { return strings.Count(s, `"`)%2 == 1 }

// headWord returns where one of the words is that headers begin with.
func headWord(l string) int {
	best := -1
	for _, w := range [...]string{
		"Traceback (most", "panic: ", "atal error: ", "FATAL ERROR: ", "goroutine ", "Unhandled ", "Uncaught ", "terminate called", "thread '", "** (", "PHP message: ", "*** *** ***", "WARNING: ThreadSanitizer", "==ERROR: ",
	} {
		if k := strings.Index(l, w); k >= 0 && (best < 0 || k < best) {
			if best = k; w[0] == 'a' && k > 0 {
				best-- // fatal error: and Fatal error:
			}
			if digits := strings.TrimRight(l[:k], "0123456789"); w == "==ERROR: " && strings.HasSuffix(digits, "==") {
				best = len(digits) - len("==")
			}
		}
	}
	return best
}

// prefixAt returns the length of the prefix of the header at line i, 0 without
// one. The two lines that follow have to have it too, those of others aside.
func (t *text) prefixAt(i int) int {
	l := t.lines[i]
	if l == "" || l[0] == '\t' {
		return 0
	}
	for j := i + 1; j < len(t.lines) && j <= i+maxAhead; j++ {
		n := prefixOf(l, t.lines[j])
		if n > 0 && (j == i+1 || strings.ContainsAny(l[:n], "|]")) {
			if next := j + 1; j == i+1 && next < len(t.lines) && t.lines[next] != "" {
				if _, ok := cutShared(l[:n], t.lines[next]); !ok {
					return 0
				}
			}
			return n
		}
		if head := l[:min(len(l), 64)]; strings.IndexByte(head, '|') < 0 && strings.IndexByte(head, ']') < 0 || headColumn(l) <= 0 {
			return 0
		}
	}
	return 0
}

// maxAhead is how far behind a header its own next line may be.
const maxAhead = 3

// prefixOf returns how much of a header's line a line below it shares, up to
// the header.
func prefixOf(l, below string) int {
	n, m := shared(l, below)
	if n == 0 || strings.TrimSpace(l[:n]) == "" {
		return 0
	}
	k := headColumn(l)
	if m < len(below) && n != k { // else the line below is a prefix and nothing more
		n = separated(l, n)
	}
	if !isPrefix(l[:n]) {
		return 0
	}
	if frame := strings.TrimLeft(below[m:], " \t"); k <= 0 && len(frame) < len(below)-m && strings.HasPrefix(frame, "at ") {
		k = n
	}
	if k <= 0 {
		return 0
	}
	for n < k && (l[n] == ' ' || l[n] == '\t') { // the line below was trimmed
		n++
	}
	if n = min(n, k); !isPrefix(l[:n]) { // all of two lines may be the same
		return 0
	}
	return n
}

// headColumn returns where a header begins in l, -1 when there is none.
func headColumn(l string) int {
	best := headWord(l)
	for _, w := range [...]string{"Error", "Exception"} {
		k := strings.Index(l, w)
		if k < 0 {
			continue
		}
		end := k + len(w)
		for end < len(l) && isIdentByte(l[end]) {
			end++
		}
		if in := strings.Index(l, ":in "); end < len(l) && l[end] == ')' && in > 0 { // Ruby's, which begins with the place
			k, end = strings.LastIndexAny(l[:in], " \"")+1, len(l)
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
	for from > 0 && i-from < 16*maxBetween {
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
	if openQuote(prefix) {
		rest = strings.TrimSuffix(rest, `"`)
	}
	if strings.Contains(prefix, "│") { // the other side of the window
		rest = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(rest, " "), "│"), " ")
	}
	return rest, true
}

// numbered reports whether the number behind s is part of a name, as in worker-3
// and pid=77: another number is another's line.
func numbered(s string) bool {
	if n := len(s); n > 1 && strings.IndexByte("-_=", s[n-1]) >= 0 {
		s = s[:n-1]
	}
	n := len(s)
	return n > 0 && proseLetter(s[n-1]) && (n == 1 || s[n-2] < '0' || s[n-2] > '9') // but T10:00
}

// shared returns how much of a and of b is the same from the beginning, where
// numbers and the blanks before them are the same as others.
func shared(a, b string) (m, n int) {
	for m < len(a) && n < len(b) {
		if c := a[m]; c == b[n] && (c < '0' || c > '9') {
			m, n = m+1, n+1
			continue
		}
		x, y := countDigits(a[m:]), countDigits(b[n:])
		switch {
		case x > 0 && y > 0 && numbered(a[:m]) && a[m:m+x] != b[n:n+y]:
			return m, n
		case x > 0 && y > 0:
			m, n = m+x, n+y
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
