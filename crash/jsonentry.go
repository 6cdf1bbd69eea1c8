package crash

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

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
