package crash

import "strings"

// columns takes the columns behind a time: level, process, thread, logger. A
// line without a time gives up only a level in brackets.
func columns(l string, timed bool) (rest string, lv level) {
	for range 6 {
		if l == "" {
			return l, lv
		}
		n, got := column(l, timed)
		if n == 0 {
			return l, lv
		}
		if got != unsaid {
			lv, timed = max(lv, got), true
		}
		l = l[n:]
	}
	return l, lv
}

// column returns the length of the column that l begins with, with the
// separators behind it, and its level when it is one.
func column(l string, timed bool) (int, level) {
	switch l[0] {
	case '[':
		end := strings.IndexByte(l[:min(len(l), 100)], ']')
		if end < 0 {
			return 0, unsaid
		}
		if countDigits(l[1:end]) == end-1 && strings.HasPrefix(l[end+1:], "  ") {
			return 0, unsaid // a job of an interactive shell's
		}
		lv := levelIn(l[1:end])
		if lv == unsaid && (!timed || end+1 == len(l) || strings.Contains(l[1:end], ": ") || strings.Contains(l[1:end], "xception") || end+1 < len(l) && l[end+1] != ' ' && l[end+1] != ':' && l[end+1] != '[') {
			return 0, unsaid
		}
		return end + 1 + separators(l[end+1:]), lv
	case '|', '(', '<', '-':
		return barred(l, timed)
	}
	if !timed {
		return leading(l)
	}
	if n, lv := levelColumn(l); n > 0 {
		return n, lv
	}
	if n := countDigits(l); n > 1 && n < 8 && strings.HasPrefix(l[n:], " --- ") {
		return n + 5, unsaid
	}
	return logger(l), unsaid
}

// barred matches |E|, (INFO) and a dash that stood between columns.
func barred(l string, timed bool) (int, level) {
	if !timed {
		return 0, unsaid
	}
	if strings.HasPrefix(l, "- ") && !isItem(l) || strings.HasPrefix(l, "| ") || strings.HasPrefix(l, "--- [") {
		return strings.IndexByte(l, ' ') + 1, unsaid
	}
	end := strings.IndexAny(l[1:min(len(l), 40)], "|)>")
	if end < 0 {
		return 0, unsaid
	}
	lv := levelIn(l[1 : 1+end])
	if lv == unsaid {
		return 0, unsaid
	}
	return end + 2 + separators(l[end+2:]), lv
}

// leading matches what Python's logging writes without a time: ERROR:root:.
func leading(l string) (int, level) {
	i := strings.IndexByte(l[:min(len(l), 10)], ':')
	if i < 0 || l[0] < 'A' || l[0] > 'Z' {
		return 0, unsaid
	}
	lv := levelOf(l[:i])
	if lv == unsaid {
		return 0, unsaid
	}
	j := strings.IndexByte(l[i+1:min(len(l), i+80)], ':')
	if j <= 0 || !isName(l[i+1:i+1+j]) {
		return 0, unsaid
	}
	return i + j + 2, lv
}

// levelColumn matches a bare level behind a time. What tells a failure in its
// own right (ERROR:  of PostgreSQL, FATAL ERROR: of V8, ERROR 1064 of MySQL,
// WARNING: ThreadSanitizer) is no column.
func levelColumn(l string) (int, level) {
	i := 0
	for i < len(l) && i < 10 && isWord(l[i]) {
		i++
	}
	if i == len(l) || i < 1 {
		return 0, unsaid
	}
	for _, c := range []byte(l[:i]) {
		if c >= 'a' && c <= 'z' { // "Error: x" and "Fatal error: x" tell of one
			return 0, unsaid
		}
	}
	lv := levelOf(l[:i])
	if lv == unsaid {
		return 0, unsaid
	}
	rest := l[i:]
	switch {
	case i == 1 && strings.HasPrefix(rest, "  "), strings.HasPrefix(rest, ":  "), strings.HasPrefix(rest, " ERROR"),
		strings.Contains(rest[:min(len(rest), 20)], "Sanitizer"), strings.HasPrefix(rest, ": DATA RACE"),
		len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9' && strings.Contains(rest[:min(len(rest), 9)], " ("):
		return 0, unsaid
	case rest[0] == ':' || rest[0] == ' ' || rest[0] == '\t' || rest[0] == '|':
		return i + countOf(rest, ": \t|"), lv
	}
	return 0, unsaid
}

// logger matches a dotted name that stands before " - " or " : ", as the
// loggers of Java and Python write it. An exception's type is none.
func logger(l string) int {
	if strings.HasPrefix(l, "plugin.") || strings.HasPrefix(l, "provider.") { // Terraform's
		if i := strings.IndexByte(l[:min(len(l), 100)], ':'); i > 0 && strings.IndexByte(l[:i], ' ') < 0 {
			return i + 1 + min(1, len(l)-i-1)
		}
	}
	i := 0
	for i < len(l) && i < 100 && (isWord(l[i]) || l[i] == '.' || l[i] == '$' || l[i] == '[' || l[i] == ']' || l[i] == '/') {
		i++
	}
	if i == 0 || i == len(l) || strings.Contains(l[:i], "Exception") || strings.Contains(l[:i], "Error") || strings.Contains(l[:i], "Throwable") {
		return 0
	}
	j := i + countOf(l[i:], " ")
	if j > i && j+1 < len(l) && (l[j] == '-' || l[j] == ':') && l[j+1] == ' ' {
		return j + 2
	}
	return 0
}

// levelIn returns the level among the words of a column.
func levelIn(s string) level {
	if lv := levelOf(strings.TrimSpace(s)); lv != unsaid {
		return lv
	}
	for i, w := 0, ""; i < 4 && s != ""; i++ {
		w, s, _ = strings.Cut(strings.TrimSpace(s), " ")
		if lv := levelOf(w); lv != unsaid {
			return lv
		}
		for part := range strings.SplitSeq(w, ":") { // Chromium's pid:date:ERROR:file.cc(12)
			if lv := levelOf(part); lv > calm && strings.HasSuffix(w, ")") {
				return lv
			}
		}
	}
	return unsaid
}

func levelOf(w string) level {
	if len(w) == 0 || len(w) > 9 {
		return unsaid
	}
	var b [9]byte
	for i := range len(w) {
		c := w[i]
		if c >= 'a' && c <= 'z' {
			c -= 32
		}
		b[i] = c
	}
	switch string(b[:len(w)]) {
	case "TRACE", "DEBUG", "INFO", "NOTICE", "LOG", "VERBOSE", "DBG", "INF", "D", "I", "T", "V":
		return calm
	case "WARN", "WARNING", "WRN", "W":
		return warned
	case "ERROR", "ERR", "SEVERE", "E":
		return failed
	case "FATAL", "CRITICAL", "CRIT", "PANIC", "EMERG", "ALERT", "FTL", "F":
		return died
	}
	return unsaid
}
