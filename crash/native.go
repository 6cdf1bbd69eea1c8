package crash

import "strings"

// nativeSigns are made once: the table is made for each output.
var nativeSigns = []string{"*** ", "Assertion", ": assertion ", "erminate called "}

// native reads what ends a program in C or C++ without a sanitizer: the C
// library's aborts, uncaught exceptions, failed assertions, signals, and the
// stacks that debuggers and signal handlers print.
func native() language {
	return language{
		name:      "native",
		begins:    nativeBegins,
		signs:     nativeSigns,
		starts:    "#*=tlPTfdmcrsEFUSARCB/.[0i \t",
		read:      nativeRead,
		library:   cLibrary,
		ignore:    cIgnore,
		canonical: cCanonical,
		vague:     func(string) bool { return true },
	}
}

func nativeBegins(l string) bool {
	if len(l) < 5 {
		return false
	}
	switch l[0] {
	case '#', '*', '=', 't', 'l', 'P', 'T', 'f', 'd', 'm', 'c', 'r', 's', 'E', 'F', 'U', 'S', 'A', 'R', 'C', 'B', '/', '.', '[', '0', 'i':
		if _, ok := nativeHead(l); ok || nativeFrameBegins(l) {
			return true
		}
	case ' ', '\t':
		if nativeFrameBegins(strings.TrimLeft(l, " \t")) {
			return true
		}
	}
	// These may be glued to what the program printed last.
	if strings.Contains(l, "*** ") {
		return strings.Contains(l, "*** Error in `") || strings.Contains(l, "*** Error in '") || strings.Contains(l, "*** glibc detected ***") || strings.Contains(l, " malloc: *** ")
	}
	return nativeAssertion(l) || strings.Contains(l, "erminate called ")
}

// nativeFrameBegins reports a line that can only be a stack's: an address, or a
// number with a function and its place.
func nativeFrameBegins(t string) bool {
	if len(t) < 6 {
		return false
	}
	switch {
	case t[0] == '#' && t[1] >= '0' && t[1] <= '9':
		return spoken(t[:min(len(t), 9)], " 0x", " pc ") || strings.Contains(t, ") at ") || strings.Contains(t, ") from ")
	case t[0] == '@':
		return strings.HasPrefix(strings.TrimLeft(t[1:], " "), "0x")
	case t[0] == '0':
		return strings.HasPrefix(t, "0# ") || t[1] == ' ' && strings.Contains(t, " 0x") && (strings.Contains(t, " 0x0") || strings.Contains(t, " + "))
	case strings.HasSuffix(t, "]"):
		return strings.Contains(t, "[0x")
	}
	return false
}

func nativeAssertion(l string) bool {
	return strings.HasSuffix(l, "failed.") && strings.Contains(l, ": Assertion `") || strings.HasSuffix(l, "failed.") && strings.Contains(l, ": Assertion '") ||
		strings.HasPrefix(l, "Assertion failed: ") || strings.HasSuffix(l, ")") && strings.Contains(l, ": assertion failed: (") ||
		strings.Contains(l, `: assertion "`) && strings.Contains(l, `" failed`)
}

// nativeGap bounds how far below what happened its stack may begin: debuggers
// tell of threads between.
const nativeGap = 80

func nativeRead(lines []string, i int) (trace, int, bool) {
	e, ok := nativeHead(lines[i])
	if !ok {
		return nativeBare(lines, i)
	}
	t := trace{fatal: true}
	next := i + 1
	gap := nativeGap
	var stopped []Frame                                                                                            // where a debugger says it stopped, for want of a stack
	for j := next; j < min(len(lines), next+5*nativeGap) && strings.HasPrefix(lines[i], "Exception Type: "); j++ { // a Mac's report lists all threads
		if strings.HasPrefix(lines[j], "Thread ") && strings.Contains(lines[j], " Crashed:") {
			next = j + 1
			break
		}
	}
	asserted := e.frames // where an assertion says it stands: better than what a debugger shows
	for j := next; j < min(len(lines), next+gap); j++ {
		l := lines[j]
		if what, found := strings.CutPrefix(strings.TrimSpace(l), "what():"); found {
			e.message = strings.TrimSpace(what)
			next, gap = j+1, nativeGap
			continue
		}
		if nativeStackBegins(l) {
			frames, n := nativeStack(lines, j)
			if len(frames) < 2 && !nativeNamed(frames) {
				continue
			}
			e.frames, next = append(e.frames, frames...), n
			break
		}
		if f, found := nativeStopped(l); found && len(e.frames) == 0 {
			stopped = []Frame{f}
		}
		if other, isHead := nativeHead(l); isHead {
			if !nativeFollows(e, other) {
				break
			}
			e = nativeJoin(e, other)
			next, gap = j+1, nativeGap
		} else if _, _, report := sanitizerHead(l); report {
			break
		}
	}
	if e.typ == nativeShell {
		e.typ, t.rank = e.code, -1
		e.code = ""
	}
	if len(e.frames) == 0 {
		e.frames = stopped
	}
	next = nativeAfter(lines, next, &e)
	e.frames = nativeFailing(e.frames)
	if len(asserted) > 0 && len(e.frames) > 0 && e.frames[0] != asserted[0] && e.typ == "assertion failed" {
		e.frames = append(asserted[:1:1], e.frames...)
	}
	t.chain, t.cut = []exception{e}, cUnnamed(e.frames)
	t.class = nativeClass(e)
	return t, next, true
}

func nativeClass(e exception) string {
	switch {
	case strings.HasSuffix(e.typ, "bad_alloc"):
		return "oom"
	case strings.HasPrefix(e.typ, "SIG"), e.typ == "signal", strings.HasPrefix(e.typ, "Invalid "), e.typ == "access violation":
		return "crash"
	}
	if spoken(e.typ, "free", "corrupt", "smashing", "malloc", "chunk", "overflow", "overrun") {
		return "crash"
	}
	return "" // its words may know more
}

// nativeFollows reports whether what was printed second is how the first ended:
// a signal after an exception, the shell's word after both.
func nativeFollows(first, second exception) bool {
	if second.typ == nativeShell || second.typ == "signal" {
		return true
	}
	return strings.HasPrefix(second.typ, "SIG") && first.typ != second.typ || first.typ == second.typ && len(second.frames) == 0
}

// nativeJoin keeps of two heads the one that says more.
func nativeJoin(first, second exception) exception {
	if first.typ == nativeShell || first.typ == "signal" {
		second.frames = append(second.frames, first.frames...)
		return second
	}
	return first
}

func nativeNamed(frames []Frame) bool {
	return len(frames) > 0 && (frames[0].Function != "" && !strings.HasPrefix(frames[0].Function, "+0x") || frames[0].File != "")
}

// nativeBare reads a stack that nothing stands before.
func nativeBare(lines []string, i int) (trace, int, bool) {
	frames, next := nativeStack(lines, i)
	if len(frames) < 2 {
		return trace{}, i, false
	}
	e := exception{typ: nativeRaisedBy(frames), frames: frames}
	for j := i - 1; j >= max(0, i-16); j-- {
		if s := nativeSignal(lines[j]); s != "" {
			e.typ, e.message = s, strings.TrimSpace(lines[j])
			break
		}
	}
	next = nativeAfter(lines, next, &e)
	e.frames = nativeFailing(e.frames)
	return trace{chain: []exception{e}, fatal: e.typ != "stack", cut: cUnnamed(e.frames), class: nativeClass(e)}, next, true
}

// nativeRaisedBy names what a stack by itself tells of its end.
func nativeRaisedBy(frames []Frame) string {
	for _, f := range frames[:min(len(frames), 10)] {
		if f.Function == nativeHandler {
			return "signal"
		}
		switch cBareName(f.Function) {
		case "abort", "__GI_abort", "raise", "gsignal", "__GI_raise", "__pthread_kill_internal", "__pthread_kill_implementation":
			return "SIGABRT"
		}
	}
	return "stack"
}

// nativeFailing begins a stack where the program failed: below what reported
// it, at a function that recurs, at a name where the innermost have none.
func nativeFailing(frames []Frame) []Frame {
	frames = nativeDeepest(nativeBelowSignal(nativeBelowAbort(frames)))
	for i, f := range frames {
		if cLibrary(f) {
			continue
		}
		if f.File != "" || !cOffset(f.Function) {
			return frames
		}
		for j := i + 1; j < min(len(frames), i+9); j++ {
			if g := frames[j]; !cLibrary(g) && !cOffset(g.Function) && cBareName(g.Function) != "main" {
				return frames[j:]
			}
		}
		return frames
	}
	return frames
}

// cOffset reports a place that has no name.
func cOffset(function string) bool {
	return function == "" || function == "??" || strings.HasPrefix(function, "+0x")
}

// cUnnamed reports that the innermost own frame is known by its binary alone.
func cUnnamed(frames []Frame) bool {
	for _, f := range frames {
		if !cLibrary(f) {
			return f.File == "" && cOffset(f.Function)
		}
	}
	return false
}

// nativeSignal names the signal that a line of a signal handler tells of.
func nativeSignal(l string) string {
	for _, s := range []struct{ has, name string }{
		{"SIGSEGV", "SIGSEGV"},
		{"SIGABRT", "SIGABRT"},
		{"SIGFPE", "SIGFPE"},
		{"SIGBUS", "SIGBUS"},
		{"SIGILL", "SIGILL"},
		{"SIGTRAP", "SIGTRAP"},
		{"SIGSYS", "SIGSYS"},
		{"SIGPIPE", "SIGPIPE"},
		{"SIGTERM", "SIGTERM"},
		{"SIGINT", "SIGINT"},
		{"egmentation fault", "SIGSEGV"},
		{"egmentation violation", "SIGSEGV"},
		{"egmentation Fault", "SIGSEGV"},
		{"signal: 11", "SIGSEGV"},
		{"signal 11", "SIGSEGV"},
		{"signal 6", "SIGABRT"},
		{"signal 8", "SIGFPE"},
		{"Aborted", "SIGABRT"},
		{"loating point exception", "SIGFPE"},
		{"Floating-point exception", "SIGFPE"},
		{"Bus error", "SIGBUS"},
		{"llegal instruction", "SIGILL"},
		{"EXC_BAD_ACCESS", "SIGSEGV"},
		{"EXC_BAD_INSTRUCTION", "SIGILL"},
		{"EXC_BREAKPOINT", "SIGTRAP"},
		{"EXC_CRASH", "SIGABRT"},
		{"EXC_ARITHMETIC", "SIGFPE"},
		{"SEGV_", "SIGSEGV"},
		{"ACCESS_VIOLATION", "access violation"},
		{"ccess violation", "access violation"},
		{"c0000005", "access violation"},
		{"C0000005", "access violation"},
		{"c0000409", "stack buffer overrun"},
		{"c0000374", "heap corruption"},
		{"c00000fd", "stack overflow"},
		{"C00000FD", "stack overflow"},
		{"80000003", "breakpoint"},
		{"STACK_OVERFLOW", "stack overflow"},
		{"e06d7363", "C++ exception"},
	} {
		if strings.Contains(l, s.has) {
			return s.name
		}
	}
	return ""
}

// nativeDeepest begins at a recurring function when a stack has overflown, which
// a signal alone does not tell: a hundred frames of a few functions do.
func nativeDeepest(frames []Frame) []Frame {
	if len(frames) < 100 {
		return frames
	}
	names := make(map[string]bool)
	for _, f := range frames {
		names[f.Function] = true
	}
	if len(names)*5 > len(frames) {
		return frames
	}
	return mostFrequent(frames, cLibrary)
}
