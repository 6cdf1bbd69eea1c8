package crash

import "strings"

// goException says what happened from the lines between a failure's head and its
// first goroutine.
func goException(lines []string, head, stacks int) exception {
	l := strings.TrimRight(lines[head], " \t")
	if strings.Contains(l, "bserved a panic: ") || strings.HasPrefix(l, "Recovered from panic: ") {
		return goLogged(l)
	}
	if _, after, ok := strings.Cut(l, "panic: "); ok {
		return goPanic(lines, head, stacks, after)
	}
	if _, after, ok := strings.Cut(l, "fatal error: "); ok {
		return goFatal(after)
	}
	switch {
	case strings.HasPrefix(l, "runtime: "), strings.HasPrefix(l, "unexpected fault address"):
		for j := head; j < min(stacks, len(lines)); j++ {
			if rest, ok := strings.CutPrefix(lines[j], "fatal error: "); ok {
				return goFatal(strings.TrimSpace(rest))
			}
			if strings.HasPrefix(lines[j], "[signal ") {
				return exception{typ: "fault", message: "unexpected fault address"}
			}
		}
		return goFatal(strings.TrimPrefix(l, "runtime: "))
	case strings.HasPrefix(l, "SIG"):
		name, text, _ := strings.Cut(l, ": ")
		return exception{typ: name, message: text}
	}
	return goLogged(l)
}

// goLogged says what happened where a program printed the stack itself.
func goLogged(l string) exception {
	if k := strings.Index(l, "runtime error: "); k >= 0 {
		return goValue(l[k:])
	}
	for _, mark := range []string{"bserved a panic: ", "ecovered from panic: ", "panic serving ", "panic recovered: ", "ecovered: ", "ecovered in "} {
		_, after, ok := strings.Cut(l, mark)
		if !ok {
			continue
		}
		rest := after
		if mark == "panic serving " {
			if _, after, ok := strings.Cut(rest, ": "); ok {
				rest = after
			}
		}
		return goValue(strings.Trim(rest, `"`))
	}
	if strings.HasPrefix(l, "goroutine ") || goGrouped(l) {
		return exception{typ: "goroutine dump"}
	}
	return exception{typ: "panic", message: l}
}

// goPanic reads a panic's value. Of several the first is where it began; what
// follows on indented lines was thrown while it went up.
func goPanic(lines []string, head, stacks int, first string) exception {
	first = strings.TrimSuffix(first, " [recovered]")
	first = strings.TrimSuffix(first, " [recovered, repanicked]")
	e := goValue(first)
	for j := head + 1; j < min(stacks, len(lines), head+20); j++ {
		t := strings.TrimSpace(lines[j])
		if t == "" || strings.HasPrefix(t, "panic: ") || strings.HasPrefix(t, "[signal ") || strings.HasPrefix(t, "goroutine ") {
			break
		}
		e.message += "\n" + t
		if strings.HasPrefix(e.typ, "test timed out") && strings.HasPrefix(t, "Test") {
			name, _, _ := strings.Cut(t, " ")
			e.code = name
		}
	}
	return e
}

// goValue tells a panic's kind from the value it printed.
func goValue(v string) exception {
	e := exception{typ: "panic", message: v}
	if rest, ok := strings.CutPrefix(v, "runtime error: "); ok {
		e.typ = "runtime error: " + goRuntimeError(rest)
		return e
	}
	if strings.HasPrefix(v, "interface conversion: ") {
		e.typ = "interface conversion"
		return e
	}
	if strings.HasPrefix(v, "test timed out after") {
		e.typ = "test timed out"
		return e
	}
	for _, kind := range []string{"close of closed channel", "close of nil channel", "send on closed channel", "assignment to entry in nil map", "sync: negative WaitGroup counter", "sync: unlock of unlocked mutex"} {
		if strings.HasPrefix(v, kind) {
			e.typ = kind
			return e
		}
	}
	if t := goTyped(v); t != "" {
		e.typ = t
		return e
	}
	e.code = discriminator(v)
	return e
}

// goRuntimeErrors are the kinds of errors the runtime itself throws; what comes
// behind them differs from one time to the next.
var goRuntimeErrors = []string{
	"invalid memory address or nil pointer dereference", "index out of range", "slice bounds out of range",
	"integer divide by zero", "makeslice: len out of range", "makeslice: cap out of range", "makechan: size out of range",
	"hash of unhashable type", "comparing uncomparable type", "cannot convert slice", "growslice: len out of range",
	"cgo argument has Go pointer", "negative shift amount", "out of memory",
}

func goRuntimeError(text string) string {
	for _, kind := range goRuntimeErrors {
		if strings.HasPrefix(text, kind) {
			return kind
		}
	}
	kind, _, _ := strings.Cut(text, ":")
	kind, _, _ = strings.Cut(kind, " [")
	return strings.TrimRight(kind, " 0123456789")
}

// goTyped reads the type of a value that is no string or error: "(main.T) {…}",
// "main.Code(3)", "&errors.errorString{…}", "(*main.E) 0xc00001".
func goTyped(v string) string {
	v = strings.TrimPrefix(v, "&")
	if rest, ok := strings.CutPrefix(v, "("); ok {
		name, _, ok := strings.Cut(rest, ")")
		if ok && goTypeName(strings.TrimPrefix(name, "*")) {
			return strings.TrimPrefix(name, "*")
		}
		return ""
	}
	end := strings.IndexAny(v, "({")
	if end > 0 && goTypeName(v[:end]) {
		return v[:end]
	}
	return ""
}

func goTypeName(s string) bool {
	return strings.Contains(s, ".") && strings.Trim(s, ".") == s &&
		only(s, func(c byte) bool { return c == '.' || c == '/' || c == '*' || c < 0x80 && isIdentByte(c) })
}

// goFatal names a fatal error without what varies in it.
func goFatal(text string) exception {
	e := exception{typ: "fatal error", message: text}
	switch {
	case strings.HasPrefix(text, "goroutine stack exceeds"), strings.HasPrefix(text, "stack overflow"):
		e.typ = "stack overflow"
	case strings.Contains(text, "out of memory"), strings.HasPrefix(text, "cannot allocate memory"):
		e.typ = "out of memory"
	case strings.HasPrefix(text, "all goroutines are asleep"):
		e.typ = "deadlock"
	case strings.HasPrefix(text, "concurrent map"):
		e.typ = "concurrent map access" // which of the two sides is told is chance
	case strings.HasPrefix(text, "unexpected signal"), strings.HasPrefix(text, "fault"):
		e.typ = "fault"
	default:
		kind, _, _ := strings.Cut(text, ":")
		e.typ = "fatal error: " + strings.TrimRight(kind, " 0123456789")
	}
	return e
}
