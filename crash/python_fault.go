package crash

import "strings"

// pyThread reports the header of a stack that faulthandler dumps, which has
// the innermost frame first.
func pyThread(m string) bool {
	return (strings.HasPrefix(m, "Thread 0x") || strings.HasPrefix(m, "Current thread 0x")) &&
		strings.Contains(m, "most recent call first")
}

// pyReadFault reads a fatal error of the interpreter with the stack of the
// thread that it met, and passes over the others.
func pyReadFault(lines []string, i int) (trace, int, bool) {
	e := exception{}
	m := pyMargin(lines[i])
	fatal := true
	switch {
	case strings.HasPrefix(m, pyFatal):
		e.typ, e.message = pyFaultType(m[len(pyFatal):])
		i++
	case strings.HasPrefix(m, pyWinFatal):
		e.typ, e.message = m[len(pyWinFatal):], m[len(pyWinFatal):]
		i++
	default:
		e.typ, fatal = "thread dump", false
	}
	next, current, gap := i, false, 0
	for ; i < len(lines) && gap < 12; i++ {
		m := pyMargin(lines[i])
		switch {
		case pyThread(m):
			current = strings.HasPrefix(m, "Current") || !fatal && len(e.frames) == 0
			next = i + 1
			if gap++; fatal || len(e.frames) > 0 {
				gap = 0
			}
		case strings.HasPrefix(m, `File "`):
			if p := pyQuoted(m[len(`File "`):]); p.ok && current {
				e.frames = append(e.frames, p.Frame)
			}
			next, gap = i+1, 0
		case strings.Contains(m, pyHead), strings.HasPrefix(m, pyFatal):
			gap = 12
		case e.frames == nil && pyInnerError(&e, m):
			next = i + 1
		default:
			gap++
		}
	}
	if !fatal && len(e.frames) == 0 {
		return trace{}, i, false
	}
	e.frames = withoutInner(e.frames, pyLibrary, func(f Frame) bool { return pyIgnore(f) || pyStdlib(f.File) })
	t := trace{chain: []exception{e}, fatal: fatal, rank: 1}
	switch {
	case strings.Contains(e.typ, "MemoryError"):
		t.class = "oom"
	case listed(" Segmentation Aborted Bus Illegal Floating access stack ", strings.SplitN(e.typ, " ", 2)[0]):
		t.class = "crash"
	}
	return t, next, true
}

// pyFaultType separates what the interpreter writes behind "Fatal Python
// error: " – "Segmentation fault", or "init_sys_streams: can't open stdin".
func pyFaultType(s string) (typ, message string) {
	fn, msg, ok := strings.Cut(s, ": ")
	if ok && !strings.Contains(fn, " ") {
		return fn, msg
	}
	return s, s
}

// pyInnerError takes the exception that a fatal error of the interpreter's own
// start prints without a traceback.
func pyInnerError(e *exception, m string) bool {
	inner, strong, ok := pyException(m)
	if !ok || !strong {
		return false
	}
	e.typ, e.message, e.code = inner.typ, inner.message, pyCode(inner.typ, inner.message)
	return true
}
