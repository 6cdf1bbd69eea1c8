package crash

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// unfold replaces JSON log lines by what they say, and lines in which a whole
// trace stands with its line ends escaped by its lines.
func (t *text) unfold() bool {
	found := false
	for _, l := range t.lines {
		if foldedJSON(l) || foldedText(l) {
			found = true
			break
		}
	}
	if !found {
		return false
	}
	lines := make([]string, 0, len(t.lines)*2)
	levels := make([]level, 0, len(t.lines)*2)
	for i, l := range t.lines {
		in, lv := []string{l}, t.levels[i]
		if foldedJSON(l) {
			if told, said, ok := unfoldJSON(l); ok && len(told) == 0 {
				in = []string{" " + l} // says nothing that is known; not looked at again
			} else if ok {
				in, lv = told, max(lv, said)
			} else {
				in = broken(l)
			}
		} else if foldedText(l) {
			in = unescape(l)
			if first := strings.TrimLeft(in[0], " "); strings.HasPrefix(first, `"`) { // a string, or a field of an object with lines
				in = broken(first + l[strings.Index(l, `\n`):])
			}
		}
		for _, l := range in {
			if l, own, _ := stripPrefix(short(l)); len(lines) < 1<<17 {
				lines, levels = append(lines, l), append(levels, max(lv, own))
			}
		}
	}
	t.lines, t.levels = lines, levels
	t.note("unfolded lines that held many")
	return true
}

// foldedJSON reports a JSON object that may say something of a failure.
func foldedJSON(l string) bool {
	return len(l) > 2 && l[0] == '{' && l[1] == '"' || len(l) > 3 && l[:3] == `{ "`
}

// foldedText reports a line with a trace in it whose line ends are escaped.
func foldedText(l string) bool {
	if strings.Count(l, `\n`) < 2 {
		return false
	}
	for _, sign := range [...]string{`\n\tat `, `\n    at `, `\n  File \"`, `\n  File "`, `\n   at `, `\n  at `, "Traceback (most recent", `\ngoroutine `, `\n\t/`, `:in '`, ":in `"} {
		if strings.Contains(l, sign) {
			return true
		}
	}
	return false
}

// unescape splits l at its escaped line ends. A backslash before one belongs to
// a path, unless all have one: then l was escaped twice.
func unescape(l string) []string {
	if strings.Count(l, `\n`) > strings.Count(l, `\\n`) {
		return strings.Split(strings.NewReplacer(`\\`, `\`, `\r\n`, "\n", `\n`, "\n", `\t`, "\t", `\"`, `"`).Replace(l), "\n")
	}
	l = strings.NewReplacer(`\\n`, "\n", `\r\n`, "\n", `\n`, "\n", `\\t`, "\t", `\t`, "\t", `\"`, `"`).Replace(l)
	return strings.Split(l, "\n")
}

// broken unescapes JSON that is cut off or otherwise none: the string with the
// first escaped line end, without the fields around it.
func broken(l string) []string {
	lines := unescape(l)
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
	if json.Unmarshal([]byte(l), &m) != nil {
		return nil, unsaid, false
	}
	if log, ok := m["log"].(string); ok && len(m) <= 5 { // docker's own files
		return strings.Split(strings.TrimRight(log, "\r\n"), "\n"), unsaid, true
	}
	e := entry{}
	e.take(m, 0)
	return e.lines(), levelOf(e.level), true
}

// entry is what a structured log says about a failure.
type entry struct {
	level, message, stack, typ, problem string
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
			if key == "stack" || key == "stacktrace" || key == "backtrace" {
				var frames []string
				for _, f := range v {
					if s, ok := f.(string); ok {
						frames = append(frames, s)
					}
				}
				e.field(key, strings.Join(frames, "\n"), depth)
			}
		case map[string]any:
			if depth < 3 {
				switch key {
				case "error", "err", "exception", "cause", "fields", "data", "context", "exc", "extra", "attributes", "log", "payload", "jsonpayload", "record":
					e.take(v, depth+1)
				}
			}
		}
	}
}

func (e *entry) field(key, v string, depth int) {
	switch key {
	case "stack", "stack_trace", "stacktrace", "exc_info", "exc_text", "traceback", "backtrace", "error_stack", "errorverbose", "trace", "full_message":
		if len(v) > len(e.stack) {
			e.stack = v
		}
	case "msg", "message", "textpayload", "event", "@message", "@m":
		if strings.Count(v, "\n") > 2 && len(v) > len(e.stack) {
			e.stack = v
		}
		if depth == 0 {
			e.message = v
		} else {
			e.problem = v
		}
	case "exception", "error", "err", "@x":
		if strings.Count(v, "\n") > 1 && len(v) > len(e.stack) {
			e.stack = v
		} else {
			e.problem = v
		}
	case "type", "exception_class", "class", "error_type", "kind", "name":
		if depth > 0 || key == "exception_class" || key == "error_type" {
			e.typ = v
		}
	case "level", "severity", "lvl", "levelname", "@l", "log_level":
		e.level = v
	}
}

// lines puts the entry as a program without structured logs would have
// printed it: message, then type and message of the failure, then its stack.
func (e *entry) lines() []string {
	var out []string
	if e.message != "" && e.message != e.stack {
		out = append(out, strings.Split(e.message, "\n")...)
	}
	stack := strings.Split(strings.TrimRight(e.stack, "\r\n"), "\n")
	if e.stack == "" {
		stack = nil
	}
	headless := stack == nil || isStackFrame(stack[0])
	if head := e.head(); headless && head != "" {
		out = append(out, strings.Split(head, "\n")...)
	}
	return append(out, stack...)
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
