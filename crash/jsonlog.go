package crash

import (
	"encoding/json"
	"slices"
	"strings"
)

// unfold replaces JSON log lines by what they say, and lines in which a whole
// trace stands with its line ends escaped by its lines.
func (t *text) unfold() bool {
	var lines []string
	var levels []level
	paired := false // the line before was made of pairs
	for i, l := range t.lines {
		in, lv := unfoldLine(l, t.levels[i])
		if in == nil && paired && keyLen(l) > 0 && !strings.Contains(l, " ") {
			in = []string{""} // a line without a message
		} else {
			paired = in != nil && keyLen(l) > 0
		}
		if in == nil {
			if lines != nil {
				lines, levels = append(lines, l), append(levels, t.levels[i])
			}
			continue
		}
		if lines == nil {
			lines, levels = append(make([]string, 0, len(t.lines)*2), t.lines[:i]...), append(make([]level, 0, len(t.lines)*2), t.levels[:i]...)
		}
		for _, l := range in {
			if l, own, _ := stripPrefix(short(l)); len(lines) < 1<<17 {
				lines, levels = append(lines, l), append(levels, max(t.levels[i], lv, own))
			}
		}
	}
	if lines == nil {
		return false
	}
	t.lines, t.levels = lines, levels
	t.note("unfolded lines that held many")
	return true
}

// unfoldLine returns the lines that l holds, nil when it is only one.
func unfoldLine(l string, lv level) ([]string, level) {
	if foldedJSON(l) {
		switch told, said, ok := unfoldJSON(l); {
		case ok && len(told) == 0:
			return []string{" " + l}, unsaid // says nothing that is known; not looked at again
		case ok:
			return told, said
		}
		return broken(l), unsaid
	}
	if in, lv := unfoldBehind(l); in != nil {
		return in, lv
	}
	if end := lineEnd(l); end != "" {
		in := unescape(l, end)
		if at := strings.LastIndex(in[0], `="goroutine `); at > 0 { // a stack among the pairs of a line
			in = append([]string{in[0][:at], in[0][at+2:]}, in[1:]...)
		}
		if first := strings.TrimLeft(in[0], " "); strings.HasPrefix(first, `"`) { // a string, or a field of an object with lines
			return broken(first + l[strings.Index(l, end):]), unsaid
		}
		return in, unsaid
	}
	return unfoldPairs(l, lv)
}

// unfoldBehind reads the object that stands behind other words in l.
func unfoldBehind(l string) ([]string, level) {
	at := strings.IndexByte(l, '{')
	if at <= 0 || !strings.HasPrefix(l[at:], `{"`) || strings.LastIndexByte(l, '}') < at {
		return nil, unsaid
	}
	before := strings.TrimSpace(l[:at])
	var m map[string]any
	if json.NewDecoder(strings.NewReader(l[at:])).Decode(&m) != nil {
		return nil, unsaid
	}
	e := entry{}
	e.take(m, 0)
	if e.stack == "" && e.problem != "" && e.message == "" { // the words are the message
		e.message = before
		return e.lines(), levelOf(e.level)
	}
	told := e.lines()
	switch {
	case len(told) > 1:
		return append([]string{before}, told...), levelOf(e.level)
	case len(told) == 1 && strings.HasSuffix(before, "=>"):
		return []string{before + " " + told[0]}, levelOf(e.level)
	}
	return nil, unsaid
}

// pretty brings JSON objects that are written over many lines into one line
// each.
func (t *text) pretty() {
	out := t.lines[:0] // never longer than what has been read
	for i := 0; i < len(t.lines); i++ {
		l := t.lines[i]
		if before, ok := strings.CutSuffix(l, "{"); ok && (before == "" || before[len(before)-1] == ' ' || before[len(before)-1] == '\t') {
			end := slices.Index(t.lines[i:min(len(t.lines), i+1000)], "}")
			if end < 0 {
				out = append(out, l)
				continue
			}
			if one := "{" + strings.TrimSpace(strings.Join(t.lines[i+1:i+end+1], " ")); foldedJSON(one) && json.Valid([]byte(one)) {
				l = before + one
				i += end
			}
		}
		out = append(out, l)
	}
	t.lines = out
}

// foldedJSON reports a JSON object that may say something of a failure.
func foldedJSON(l string) bool {
	return len(l) > 2 && l[0] == '{' && l[1] == '"' || len(l) > 3 && l[:3] == `{ "`
}

// lineEnd returns how the line ends of a trace within l are written, "" when
// there is none.
func lineEnd(l string) string {
	if strings.IndexByte(l, '\\') < 0 && strings.IndexByte(l, '#') < 0 && strings.IndexByte(l, '|') < 0 {
		if len(l) > 80 && strings.Contains(l, ") at ") && strings.Count(l, ".java:") >= 2 {
			return " at "
		}
		return ""
	}
	for _, end := range [...]string{`\n`, "#012", "|"} {
		if !strings.Contains(l, end) {
			continue
		}
		for _, sign := range [...]string{`\tat `, "\tat ", "    at ", `  File \"`, `  File "`, "   at ", "  at ", "goroutine ", `\t/`, "#0 /"} {
			if strings.Contains(l, end+sign) {
				return end
			}
		}
	}
	if strings.Count(l, `\n`) >= 2 && (strings.Contains(l, "Traceback (most recent") || strings.Contains(l, ":in '") || strings.Contains(l, ":in `")) {
		return `\n`
	}
	return ""
}

// unescape splits l at its written line ends. A backslash before one belongs to
// a path, unless all have one: then l was escaped twice.
func unescape(l, end string) []string {
	switch {
	case end == " at ":
		l = strings.ReplaceAll(l, " at ", "\n\tat ")
	case end != `\n`:
		l = strings.NewReplacer(end, "\n", "#011", "\t").Replace(l)
	case strings.Count(l, `\n`) > strings.Count(l, `\\n`):
		l = strings.NewReplacer(`\\`, `\`, `\r\n`, "\n", `\n`, "\n", `\t`, "\t", `\"`, `"`, `\'`, `'`).Replace(l)
	default:
		l = strings.NewReplacer(`\\n`, "\n", `\r\n`, "\n", `\n`, "\n", `\\t`, "\t", `\t`, "\t", `\"`, `"`).Replace(l)
	}
	return unlisted(strings.Split(l, "\n"))
}

// unlisted takes lines out of the list of strings, or the string, that a
// language printed.
func unlisted(lines []string) []string {
	for _, open := range [...]string{`['`, `["`, `b'`, `b"`} {
		lines[0] = strings.TrimPrefix(lines[0], open)
	}
	for i, l := range lines[1:] {
		for _, between := range [...]string{`', '`, `", "`, `', "`, `", '`, `']`, `"]`} {
			l = strings.TrimPrefix(l, between)
		}
		lines[i+1] = l
	}
	return lines
}

// broken unescapes JSON that is cut off or otherwise none: the string with the
// first escaped line end, without the fields around it.
func broken(l string) []string {
	lines := unescape(l, `\n`)
	if i := strings.LastIndex(lines[0], `":`); i >= 0 && len(lines) > 1 {
		lines[0] = strings.TrimPrefix(strings.TrimLeft(lines[0][i+2:], " "), `"`)
	}
	last := &lines[len(lines)-1]
	if i := strings.Index(*last, `","`); i >= 0 {
		*last = (*last)[:i]
	}
	*last = strings.TrimSuffix(strings.TrimRight(*last, "}"), `"`)
	return lines
}

// unfoldJSON returns the message and the stack of one JSON log line. ok is
// false when it is no object.
func unfoldJSON(l string) (lines []string, lv level, ok bool) {
	var m map[string]any
	if json.NewDecoder(strings.NewReader(l)).Decode(&m) != nil {
		return nil, unsaid, false
	}
	if log, ok := m["log"].(string); ok && len(m) <= 5 { // docker's own files
		return strings.Split(strings.TrimRight(log, "\r\n"), "\n"), unsaid, true
	}
	e := entry{}
	e.take(m, 0)
	if lines = e.lines(); len(lines) == 0 && (blank(m["message"]) || blank(m["msg"]) || blank(m["log"])) {
		lines = []string{""} // a line of a trace
	}
	return lines, levelOf(e.level), true
}

// blank reports a text in which nothing is.
func blank(v any) bool {
	s, ok := v.(string)
	return ok && strings.TrimSpace(s) == ""
}
