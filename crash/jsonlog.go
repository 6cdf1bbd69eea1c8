package crash

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
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

// entry is what a structured log says about a failure.
type entry struct {
	level, message, stack, typ, problem, panic string
	whole                                      bool // the stack is the whole failure: the message only introduces it
	reason                                     *entry
	place                                      string
}

// take gathers the known fields of m, whichever library named them.
func (e *entry) take(m map[string]any, depth int) {
	for _, k := range slices.Sorted(maps.Keys(m)) { // the same field wins every time
		v, key := m[k], strings.ToLower(k)
		if i := strings.LastIndexByte(key, '.'); i >= 0 {
			key = key[i+1:]
		}
		switch v := v.(type) {
		case string:
			e.field(key, v, depth)
		case []any:
			var frames []string
			for _, f := range v {
				switch f := f.(type) {
				case string:
					frames = append(frames, f)
				case map[string]any:
					if at := frameObject(f); at != "" {
						frames = append(frames, at)
					} else {
						e.nested(key, f, depth)
					}
				}
			}
			if key == "exception" && len(frames) == 2 && isScopedType(frames[0]) { // Rails'
				e.typ, e.problem = frames[0], frames[1]
			}
			if listed(" stack stacktrace stack_trace extendedstacktrace backtrace trace frames ", key) {
				e.field("stack", strings.Join(frames, "\n"), depth)
			}
		case map[string]any:
			e.nested(key, v, depth)
		}
	}
}

// frameObject is the frame that an object stands for, as logs and pages list them,
// in the form of its language; "" for other objects.
func frameObject(f map[string]any) string {
	get := func(keys ...string) string {
		for _, k := range keys {
			switch v := f[k].(type) {
			case string:
				return v
			case float64:
				return strconv.Itoa(int(v))
			}
		}
		return ""
	}
	file, line, class := get("filename", "fileName", "file", "source"), get("lineno", "lineNumber", "line"), get("class", "className", "declaringClass")
	function := get("name", "func", "function", "method", "methodName")
	switch outer, _, _ := strings.Cut(lastSegment(class, "."), "$"); {
	case function == "":
		return ""
	case strings.HasSuffix(file, ".php"):
		return fmt.Sprintf("#0 %s(%s): %s()", file, line, class+get("type")+function)
	case class != "" && line == "":
		return "\tat " + class + "." + function + "(Unknown Source)"
	case class != "":
		return fmt.Sprintf("\tat %s.%s(%s:%s)", class, function, cmp.Or(file, outer+".java"), line)
	case file == "" || line == "":
		return ""
	case f["lineno"] != nil:
		return fmt.Sprintf("  File \"%s\", line %s, in %s", file, line, function)
	}
	if endsWith(file, ".go", ".s") {
		return fmt.Sprintf("%s\n\t%s:%s", function, file, line)
	}
	return fmt.Sprintf("    at %s (%s:%s)", function, file, line)
}

func (e *entry) nested(key string, m map[string]any, depth int) {
	switch key {
	case "error", "err", "exception", "error_detail", "cause", "fields", "data", "context", "exc", "extra", "attributes", "log", "payload", "jsonpayload", "record", "thrown":
		if depth < 3 {
			e.take(m, depth+1)
		}
	case "source": // where slog was called
		e.place = frameObject(m)
	case "reason": // why a promise was rejected: the rest tells of the rejection
		if e.reason = new(entry); depth < 3 {
			e.reason.take(m, depth+1)
		}
	}
}

func (e *entry) field(key, v string, depth int) {
	switch key {
	case "stack", "stack_trace", "stacktrace", "exc_info", "exc_text", "traceback", "backtrace", "error_stack", "errorverbose", "trace", "full_message":
		if len(v) > len(e.stack) {
			e.stack = v
		}
	case "msg", "message", "textpayload", "event", "@message", "@m", "stderr", "module_stderr":
		if strings.Count(v, "\n") > 2 && len(v) > len(e.stack) {
			e.stack = v
		}
		switch {
		case strings.HasSuffix(key, "stderr"): // Ansible's
		case depth == 0:
			e.message = v
		default:
			e.problem = v
		}
	case "exception", "error", "err", "@x", "errormessage", "exc_value":
		if strings.Count(v, "\n") > 1 && len(v) > len(e.stack) {
			e.stack, e.whole = v, true
		} else if key == "exception" && identLen(v) == len(v) && isFailureName(v) {
			e.typ, e.problem = v, cmp.Or(e.problem, e.message) // Laravel's page
		} else {
			e.problem = v
		}
	case "panic":
		e.panic = v
	case "type", "exception_class", "class", "error_type", "exc_type", "errortype", "exceptiontype", "kind", "name":
		if depth > 0 || strings.HasPrefix(key, "e") {
			e.typ = v
		}
	case "level", "severity", "lvl", "levelname", "@l", "log_level":
		e.level = v
	}
}

// lines puts the entry as a program without structured logs would have
// printed it: message, then type and message of the failure, then its stack.
func (e *entry) lines() []string {
	if e.reason != nil && e.reason.stack != "" {
		return e.reason.lines()
	}
	var out []string
	if e.message != "" && e.message != e.stack && !e.whole {
		out = append(out, strings.Split(e.message, "\n")...)
	}
	if e.stack == "" {
		if said := e.said(); said != "" {
			return strings.Split(strings.TrimRight(said+"\n"+e.place, "\n"), "\n")
		}
		return nil
	}
	stack := strings.Split(strings.TrimRight(e.stack, "\r\n"), "\n")
	head := e.head()
	switch first := strings.TrimSpace(stack[0]); {
	case e.panic != "" && strings.HasPrefix(first, "goroutine "):
		out = append(out, "panic: "+e.panic, "")
	case head == "":
	case strings.HasPrefix(first, `File "`): // Lambda's, without head and end
		return append(append(append(out, pyHead), stack...), head)
	case strings.HasSuffix(first, ")") && strings.Contains(first, ".java:") && !strings.HasPrefix(first, "at "):
		for i, l := range stack {
			stack[i] = "\tat " + l
		}
		out = append(out, head)
	case isStackFrame(first):
		out = append(out, strings.Split(head, "\n")...)
	}
	return append(out, stack...)
}

// said is what an entry without a stack says: what the program did and, behind
// it, why that failed.
func (e *entry) said() string {
	head := e.head()
	switch {
	case e.message == "" || strings.Contains(head, e.message):
		return head
	case head == "" || strings.Contains(e.message, head):
		return e.message
	case e.problem == "" || e.typ != "" || beginsTrace(head):
		return e.message + "\n" + head
	}
	return strings.TrimRight(e.message, ":. ") + ": " + head
}

// beginsTrace reports a line that a reader waits for.
func beginsTrace(l string) bool {
	l, _, _ = strings.Cut(l, "\n")
	return slices.ContainsFunc(languages(), func(lang language) bool { return lang.begins(l) })
}

func (e *entry) head() string {
	switch {
	case e.typ != "" && e.problem != "" && !strings.HasPrefix(e.problem, e.typ):
		return e.typ + ": " + e.problem
	case e.problem != "":
		return e.problem
	}
	return e.typ
}

func isStackFrame(l string) bool {
	return strings.HasPrefix(strings.TrimLeft(l, " \t"), "at ") || strings.HasPrefix(l, "#0 ")
}
