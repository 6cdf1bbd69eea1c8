package crash

import "strings"

// nativeShell marks what a shell or the system says of a program that a signal
// ended; anything else that was printed says more.
const nativeShell = "shell"

// nativeHead reads a line that says what happened.
func nativeHead(l string) (exception, bool) {
	if l == "" {
		return exception{}, false
	}
	for _, read := range []func(string) (exception, bool){nativeThrown, nativeHeap, nativeAsserted, nativeRaised} {
		if e, ok := read(l); ok {
			return e, true
		}
	}
	return exception{}, false
}

// nativeThrown reads what the C++ runtimes say of an exception nobody caught.
func nativeThrown(l string) (exception, bool) {
	if _, after, ok := strings.Cut(l, "erminate called "); ok {
		rest := after
		if _, typ, ok := strings.Cut(rest, "an instance of '"); ok {
			typ, _, _ = strings.Cut(typ, "'")
			return exception{typ: cType(typ), message: rest}, true
		}
		return exception{typ: "terminate", message: rest}, strings.HasPrefix(rest, "without") || strings.HasPrefix(rest, "recursively")
	}
	before, after, ok := strings.Cut(l, "uncaught exception of type ")
	if !ok || !strings.Contains(before, "terminating ") {
		if strings.HasPrefix(l, "libc++abi") && strings.Contains(l, "terminat") {
			_, rest, _ := strings.Cut(l, ": ")
			return exception{typ: "terminate", message: rest}, true
		}
		return exception{}, false
	}
	typ, what, _ := strings.Cut(after, ": ")
	return exception{typ: cType(typ), message: what}, true
}

// cType takes the inline namespaces and the library's version off a type.
func cType(typ string) string {
	return strings.NewReplacer("std::__1::", "std::", "std::__cxx11::", "std::", "[abi:cxx11]", "", "> >", ">>").Replace(typ)
}

// nativeHeap reads what the C library says before it aborts.
func nativeHeap(l string) (exception, bool) {
	if k := indexAnyOf(l, "*** Error in `", "*** Error in '"); k >= 0 {
		_, rest, ok := strings.Cut(l[k:], "': ")
		return heapFinding(rest), ok
	}
	if _, after, ok := strings.Cut(l, "*** glibc detected ***"); ok {
		rest := strings.TrimSpace(after)
		if _, after, ok := strings.Cut(rest, ": "); ok {
			rest = after
		}
		return heapFinding(rest), true
	}
	if k := strings.Index(l, " malloc: *** "); k >= 0 {
		_, what, _ := strings.Cut(l[k:], ": *** ")
		if _, after, ok := strings.Cut(what, ": "); ok {
			what = after
		}
		return heapFinding(what), !strings.HasPrefix(what, "set a breakpoint")
	}
	for _, p := range []string{"*** stack smashing detected ***", "*** buffer overflow detected ***", "*** longjmp causes", "*** invalid %N$ use detected ***", "*** %n in writable segment detected ***"} {
		if strings.HasPrefix(l, p) {
			return exception{typ: strings.Trim(p, "* "), message: strings.Trim(p, "* ")}, true
		}
	}
	if startsWith(l, "free(): ", "malloc(): ", "realloc(): ", "munmap_chunk(): ", "double free or corruption", "corrupted size vs. prev_size", "corrupted double-linked list", "malloc_consolidate(): ", "mremap_chunk(): ", "free_consolidate(): ", "invalid fastbin entry", "break adjusted to free malloc space") {
		return heapFinding(l), len(l) < 80
	}
	return exception{}, false
}

// heapFinding cuts the address off.
func heapFinding(text string) exception {
	if k := strings.Index(text, ": 0x"); k > 0 {
		text = text[:k]
	}
	text = strings.TrimSpace(strings.Trim(text, " *\t"))
	return exception{typ: text, message: text}
}

// nativeAsserted reads failed assertions as the C libraries print them.
func nativeAsserted(l string) (exception, bool) {
	if !nativeAssertion(l) {
		return nativeChecked(l)
	}
	e := exception{typ: "assertion failed"}
	for _, quote := range []string{": Assertion `", ": Assertion '"} {
		before, expression, ok := strings.Cut(l, quote)
		if !ok {
			continue
		}
		e.message = strings.TrimRight(strings.TrimSuffix(expression, " failed."), "'`")
		e.code = assertedCode(e.message)
		e.frames = assertedPlace(before)
		return e, true
	}
	if rest, ok := strings.CutPrefix(l, "Assertion failed: "); ok {
		return assertedAfter(strings.TrimRight(rest, " "), e), true
	}
	if before, expression, ok := strings.Cut(l, `: assertion "`); ok { // Android's
		e.message, _, _ = strings.Cut(expression, `" failed`)
		e.code = assertedCode(e.message)
		e.frames = assertedPlace(strings.TrimPrefix(before, "Abort message: '"))
		return e, true
	}
	before, expression, _ := strings.Cut(l, ": assertion failed: ")
	if k := strings.Index(before, "ERROR:"); k >= 0 {
		before = before[k+len("ERROR:"):]
	}
	e.message = strings.Trim(expression, "() ")
	e.code = assertedCode(e.message)
	e.frames = assertedPlace(strings.ReplaceAll(before, ":", ": "))
	return e, true
}

// assertedPlace reads "solve: step.c:12: int step(int)".
func assertedPlace(before string) []Frame {
	k := 0
	for k < len(before) {
		m := strings.Index(before[k:], ": ")
		part, rest := before[k:], ""
		if m >= 0 {
			part, rest = before[k:k+m], before[k+m+2:]
		}
		file, line, ok := cPlace(part)
		if ok && line > 0 {
			return []Frame{{File: file, Line: line, Function: strings.TrimSuffix(rest, ":")}}
		}
		if m >= 0 && cSource(part) { // GLib has a colon of its own between
			if n := countDigits(rest); n > 0 {
				return []Frame{{File: part, Line: atoi(rest), Function: strings.TrimPrefix(rest[n:], ": ")}}
			}
		}
		if m < 0 {
			break
		}
		k += m + 2
	}
	return nil
}

// assertedAfter reads "(n > 0), function step, file step.c, line 12." and
// "n > 0 (step.c: step: 12)" and "n > 0, file step.c, line 12".
func assertedAfter(rest string, e exception) exception {
	f := Frame{}
	if k := strings.Index(rest, ", file "); k > 0 {
		file, line, _ := strings.Cut(rest[k+len(", file "):], ", line ")
		f.File, f.Line = file, atoi(line)
		rest = rest[:k]
		if m := strings.Index(rest, ", function "); m > 0 {
			f.Function, rest = rest[m+len(", function "):], rest[:m]
		}
	} else if k := strings.LastIndex(rest, " ("); k > 0 && strings.HasSuffix(rest, ")") {
		if parts := strings.Split(rest[k+2:len(rest)-1], ": "); len(parts) == 3 {
			f.File, f.Function, f.Line = parts[0], parts[1], atoi(parts[2])
			rest = rest[:k]
		}
	}
	e.message = strings.Trim(rest, "() ")
	e.code = assertedCode(e.message)
	if f.File != "" {
		e.frames = []Frame{f}
	}
	return e
}

func assertedCode(expression string) string {
	s := strings.Join(strings.Fields(strings.Trim(expression, "() ")), "")
	return s[:min(len(s), discriminatorBytes)]
}

// nativeChecked reads the checks of Google's and Qt's libraries.
func nativeChecked(l string) (exception, bool) {
	if k := strings.Index(l, "Check failed: "); k >= 0 && k < 200 {
		e := exception{typ: "Check failed", message: l[k+len("Check failed: "):]}
		expression, _, _ := strings.Cut(e.message, " (")
		e.code = assertedCode(expression)
		place, _, _ := strings.Cut(l[:k], "]")
		if m := strings.LastIndexByte(place, ' '); m >= 0 {
			place = place[m+1:]
		}
		if file, line, ok := cPlace(place); ok && line > 0 {
			e.frames = []Frame{{File: file, Line: line}}
		}
		return e, true
	}
	if !strings.HasPrefix(l, "ASSERT") {
		return exception{}, false
	}
	e := exception{typ: "assertion failed", message: l}
	what, place, ok := strings.Cut(l, ", file ")
	if !ok {
		what, place, ok = strings.Cut(l, " in file ")
	}
	file, line, found := strings.Cut(place, ", line ")
	if !ok || !found {
		return exception{}, false
	}
	if _, quoted, ok := strings.Cut(what, `"`); ok {
		expression, _, _ := strings.Cut(quoted, `"`)
		e.code = assertedCode(expression)
	}
	e.frames = []Frame{{File: file, Line: atoi(line)}}
	return e, true
}

// nativeRaised reads what debuggers, shells and handlers say of a signal.
func nativeRaised(l string) (exception, bool) {
	t := strings.TrimSpace(l)
	for _, mark := range []string{"received signal ", "terminated with signal ", "Signal: ", "stop reason = ", "Received signal ", "Caught signal ", "caught signal ", "Exception Type: ", "Crash reason: ", "Fatal signal "} {
		k := strings.Index(t, mark)
		if k < 0 || k > 300 {
			continue
		}
		if s := nativeSignal(t[k:]); s != "" {
			return exception{typ: s, message: t}, true
		}
	}
	if _, signal, ok := strings.Cut(t, "ignal "); ok && len(t)-len(signal) == len("signal ") { // Android's: signal 11 (SIGSEGV), code 1
		if s := nativeSignal(signal); s != "" && strings.Contains(signal, " ("+s+"), code ") {
			return exception{typ: s, message: t}, true
		}
	}
	if strings.HasPrefix(t, "*** ") {
		if strings.HasPrefix(t, "*** Aborted at ") || strings.Contains(t, "Process received signal") || strings.HasPrefix(t, "*** Check failure stack trace") {
			return exception{typ: "signal", message: t}, true
		}
		if s := nativeSignal(t); s != "" {
			return exception{typ: s, message: t}, true
		}
	}
	if strings.HasPrefix(t, "Stack trace (most recent call") || strings.HasPrefix(t, "Stack dump:") {
		return exception{typ: "signal", message: t}, true
	}
	switch strings.TrimSuffix(t, " (core dumped)") {
	case "Segmentation fault", "Aborted", "Bus error", "Illegal instruction", "Floating point exception", "Segmentation fault: 11", "Abort trap: 6", "Illegal instruction: 4", "Bus error: 10":
		s := nativeSignal(t)
		if strings.HasPrefix(t, "Abort") {
			s = "SIGABRT"
		}
		return exception{typ: nativeShell, code: s, message: t}, true
	}
	return exception{}, false
}
