package crash

import "strings"

// level is what a log said of a line.
type level uint8

const (
	unsaid level = iota
	calm         // debug, info
	warned
	failed // error
	died   // fatal, critical, panic
)

// unprefix takes what only logs write from every line; columns that any text
// might have are left to unservice and unnumber, which want lines to agree.
func (t *text) unprefix() {
	n := 0
	out, levels := t.lines[:0], t.levels[:0]
	partial := false
	for i, l := range t.lines {
		rest, lv, more := stripPrefix(l)
		lv = max(lv, t.levels[i])
		if len(rest) != len(l) {
			n++
		}
		if partial && len(out) > 0 { // Kubernetes splits lines at 16 KiB
			out[len(out)-1] = short(out[len(out)-1] + rest)
		} else {
			out, levels = append(out, rest), append(levels, lv)
		}
		partial = more
	}
	t.lines, t.levels = out, levels
	if n > 0 {
		t.note("stripped log columns")
	}
}

// stripPrefix takes what logs put before a line: times, hosts, processes,
// levels, threads, loggers. more reports a line that goes on in the next.
func stripPrefix(l string) (rest string, lv level, more bool) {
	if l == "" || l[0] == ' ' || l[0] == '\t' {
		said := strings.TrimLeft(l, " \t")
		if said == "" || said[0] < '0' || said[0] > '9' {
			return l, unsaid, false
		}
		if n, _ := timestamp(said); n == 0 || len(said) == n || said[n] != '[' {
			return l, unsaid, false
		}
		return stripPrefix(said) // a log that was indented as a whole
	}
	rest = strip(l, priority)
	rest = strip(rest, actionsColumns)
	rest = strip(rest, podColumn)
	timed := false
	for range 3 { // the runtime's time before the program's own
		n, inner := timestamp(rest)
		if n == 0 {
			break
		}
		timed = true
		lv = max(lv, levelIn(inner))
		rest = rest[n:]
		if len(rest) > 4 && countDigits(rest) == 2 && (rest[2] == 'O' || rest[2] == 'E') && (rest[3] == ' ' || rest[3] == '+') { // GitLab's stream
			rest = rest[4:]
		}
		if len(rest) >= 9 && (strings.HasPrefix(rest, "stdout ") || strings.HasPrefix(rest, "stderr ")) && (rest[7] == 'F' || rest[7] == 'P') && rest[8] == ' ' {
			more = rest[7] == 'P'
			rest = rest[9:]
		}
	}
	if timed {
		rest = rest[cloudColumn(rest):]
		rest = rest[hostProcess(rest, l[0] >= 'A' && l[0] <= 'Z' || l[0] >= 'a' && l[0] <= 'z' || l[0] == '<'):]
	} else if n := klog(rest); n > 0 {
		lv = klogLevel(rest[0])
		rest, timed = rest[n:], true
	}
	if n, got := logrus(rest); n > 0 {
		lv, rest = max(lv, got), rest[n:]
	}
	rest, got := columns(rest, timed)
	return poolChild(rest), max(lv, got), more
}

// poolChild takes what PHP-FPM puts around a line of one of its processes:
// child 7 said into stderr: "text".
func poolChild(l string) string {
	if !strings.HasPrefix(l, "child ") {
		return l
	}
	_, said, ok := strings.Cut(l[:min(len(l), maxLine)], ` said into stderr: "`)
	if !ok {
		return l
	}
	return strings.TrimSuffix(strings.TrimSuffix(said, ", pipe is closed"), `"`)
}

// logrus is "ERRO[0012] ", seconds after the start.
func logrus(l string) (int, level) {
	if len(l) < 8 || l[4] != '[' {
		return 0, unsaid
	}
	var lv level
	switch l[:4] {
	case "TRAC", "DEBU", "INFO":
		lv = calm
	case "WARN":
		lv = warned
	case "ERRO":
		lv = failed
	case "FATA", "PANI":
		lv = died
	default:
		return 0, unsaid
	}
	n := countDigits(l[5:])
	if n == 0 || !strings.HasPrefix(l[5+n:], "] ") {
		return 0, unsaid
	}
	return n + 7, lv
}

func strip(l string, f func(string) int) string { return l[f(l):] }

// priority is syslog's <34> or <34>1.
func priority(l string) int {
	if l == "" || l[0] != '<' {
		return 0
	}
	n := countDigits(l[1:])
	if n == 0 || n > 3 || 1+n >= len(l) || l[1+n] != '>' {
		return 0
	}
	if strings.HasPrefix(l[n+2:], "1 ") {
		return n + 4
	}
	return n + 2
}

// actionsColumns are the job and the step before the time of a downloaded log
// of GitHub's, and its commands.
func actionsColumns(l string) int {
	for _, c := range [...]string{"##[error]", "::error::", "##[debug]", "##[warning]", "npm ERR! ", "npm error "} {
		if strings.HasPrefix(l, c) {
			return len(c)
		}
	}
	return 0
}

// podColumn is [pod/name/container] of kubectl logs --prefix, or any tag before
// a time.
func podColumn(l string) int {
	if l != "" && l[0] == '[' {
		if end := strings.Index(l[:min(len(l), 60)], "] "); end > 0 {
			if n, _ := timestamp(l[end+2:]); n > 0 {
				return end + 2
			}
		}
	}
	if strings.HasPrefix(l, "[pod/") {
		if end := strings.IndexByte(l, ']'); end > 0 && end < 200 {
			return min(len(l), end+2)
		}
	}
	return 0
}

// cloudColumn is what clouds put behind a time: CloudWatch's stream web/web/0f1e2d3c,
// Fly's app[7f3c] ams, the pairs of a logger before its level.
func cloudColumn(l string) int {
	word, rest, ok := strings.Cut(l[:min(len(l), 120)], " ")
	if !ok {
		return 0
	}
	region, behind, _ := strings.Cut(rest, " ")
	switch stream := lastSegment(word, "/]"); {
	case len(stream) < len(word) && isHash(stream):
		return len(word) + 1
	case strings.HasSuffix(word, "]") && strings.Contains(word, "[") && len(region) == 3 && strings.HasPrefix(behind, "["):
		return len(word) + 1 + len(region) + 1
	case strings.IndexByte(word, '=') > 0 && strings.HasPrefix(rest, "[") && levelIn(rest[1:max(1, strings.IndexByte(rest, ']'))]) != unsaid:
		return len(word) + 1
	}
	return 0
}

// hostProcess is "host name[123]: " and "app[web.1]: " behind a time, and "host
// name: " behind syslog's.
func hostProcess(l string, syslog bool) int {
	if l == "" || l[0] == '\t' || l[0] == ' ' {
		return 0
	}
	i := 0
	for word := range 2 {
		end := strings.IndexByte(l[i:min(len(l), i+80)], ' ')
		if end <= 0 {
			return 0
		}
		w := l[i : i+end]
		i += end + 1
		if strings.HasSuffix(w, "]:") && strings.IndexByte(w, '[') > 0 {
			if strings.HasPrefix(l[i:], "segfault at ") {
				return 0 // the kernel tells of this process, it does not write
			}
			return i
		}
		if word == 1 && len(w) > 1 && w[len(w)-1] == ':' && isName(w[:len(w)-1]) && (w == "kernel:" || syslog && strings.ToLower(w) == w && !isTold(w)) {
			return i
		}
		if !isName(w) || levelOf(w) != unsaid {
			return 0
		}
	}
	return 0
}

// isTold are words that tell of a failure, not who wrote the line.
func isTold(w string) bool {
	switch strings.TrimSuffix(w, ":") {
	case "panic", "error", "fatal", "exception", "errors", "failed", "failure":
		return true
	}
	return false
}

func isName(s string) bool {
	for i := range len(s) { // asked of two words of every line with a time
		if !isWord(s[i]) && s[i] != '.' && s[i] != '-' && s[i] != '/' && s[i] != '@' {
			return false
		}
	}
	return s != ""
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// klog is "E0511 08:14:02.123456   12345 file.go:123] ".
func klog(l string) int {
	if len(l) > 20 && countDigits(l) == 4 && strings.Contains(l[:min(len(l), 120)], ".go:") {
		l = "I" + l // the letter was lost in copying
		return max(klog(l)-1, 0)
	}
	if len(l) < 20 || strings.IndexByte("IWEF", l[0]) < 0 || countDigits(l[1:]) != 4 || l[5] != ' ' || clock(l[6:]) == 0 {
		return 0
	}
	if end := strings.Index(l[:min(len(l), 120)], "] "); end > 0 {
		return end + 2
	}
	return 0
}

func klogLevel(c byte) level {
	switch c {
	case 'F':
		return died
	case 'E':
		return failed
	case 'W':
		return warned
	}
	return calm
}
