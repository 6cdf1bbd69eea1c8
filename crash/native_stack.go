package crash

import (
	"slices"
	"strings"
)

// nativeStackBegins reports the first line of a stack below a head.
func nativeStackBegins(l string) bool {
	t := strings.TrimPrefix(strings.TrimPrefix(strings.TrimLeft(l, " \t"), "* "), "frame ") // lldb's
	if nativeFrameBegins(t) {
		return true
	}
	if len(t) < 6 || !(t[0] >= '0' && t[0] <= '9' || strings.HasPrefix(t, "Object \"") || strings.HasPrefix(t, "#")) {
		return false
	}
	if _, ok := cFrame(t); ok {
		return true
	}
	_, ok := cBackward(t)
	return ok
}

// nativeStack reads a stack in any of the forms and returns the index behind it.
// Lines that a debugger wrapped are joined; values of variables are passed over.
func nativeStack(lines []string, i int) ([]Frame, int) {
	var frames []Frame
	next := i
	outermostFirst := i > 0 && strings.Contains(lines[i-1], "most recent call last")
	for j := i; j < len(lines); {
		l := strings.TrimSpace(lines[j])
		if l == "" || len(frames) > 0 && !outermostFirst && nativeFirst(l) {
			break
		}
		whole, n := nativeWhole(lines, j)
		f, ok := cFrame(whole)
		if !ok {
			f, ok = cBackward(whole)
		}
		if strings.HasPrefix(l, "---Type <return>") || strings.HasPrefix(l, "--Type <RET>") {
			j++ // gdb asked whether to go on
			continue
		}
		if !ok {
			if indented := lines[j] != strings.TrimLeft(lines[j], " \t"); !indented && !strings.HasPrefix(l, "No ") || len(frames) == 0 || j > next+60 {
				break
			}
			j++
			continue
		}
		if len(frames) < cMaxFrames {
			frames = append(frames, f)
		}
		j, next = n, n
	}
	if outermostFirst {
		slices.Reverse(frames)
	}
	return frames, next
}

// nativeFirst reports the innermost frame of another stack.
func nativeFirst(l string) bool {
	return strings.HasPrefix(l, "#0 ") || strings.HasPrefix(l, "0# ")
}

// nativeWhole joins a frame with the lines it was wrapped onto, and returns the
// index behind them.
func nativeWhole(lines []string, i int) (string, int) {
	l := strings.TrimSpace(lines[i])
	if len(l) < 2 || l[0] != '#' || l[1] < '0' || l[1] > '9' {
		return l, i + 1
	}
	if strings.Contains(l, ") at ") || strings.Contains(l, ") from ") {
		return l, i + 1
	}
	for j := i + 1; j < min(len(lines), i+6); j++ {
		t := strings.TrimSpace(lines[j])
		if t == "" || t[0] == '#' {
			break
		}
		if strings.HasPrefix(t, "at ") || strings.HasPrefix(t, "from ") || strings.Contains(t, ") at ") || strings.Contains(t, ") from ") {
			for k := i + 1; k <= j; k++ {
				l += " " + strings.TrimSpace(lines[k])
			}
			return l, j + 1
		}
		if strings.HasSuffix(l, ")") {
			break // complete: what follows are variables
		}
	}
	return l, i + 1
}

// cBackward reads backward-cpp's `Source "step.cpp", line 12, in step [0x…]` and
// `Object "./solve", at 0x55d2a4, in step`.
func cBackward(t string) (Frame, bool) {
	if strings.HasPrefix(t, "#") {
		d := countDigits(t[1:])
		t = strings.TrimSpace(t[1+d:])
	}
	rest, source := strings.CutPrefix(t, `Source "`)
	if !source {
		var object bool
		if rest, object = strings.CutPrefix(t, `Object "`); !object {
			return Frame{}, false
		}
	}
	file, rest, ok := strings.Cut(rest, `", `)
	if !ok {
		return Frame{}, false
	}
	where, name, _ := strings.Cut(rest, ", in ")
	if k := strings.LastIndex(name, " [0x"); k > 0 {
		name = name[:k]
	}
	if !source {
		return Frame{Module: file, Function: name}, true
	}
	return Frame{File: file, Function: name, Line: atoi(strings.TrimPrefix(where, "line "))}, true
}

// nativeStopped reads the line in which gdb says where it stopped.
func nativeStopped(l string) (Frame, bool) {
	if rest, ok := strings.CutPrefix(l, "0x"); ok {
		if _, rest, ok = strings.Cut(rest, " in "); !ok {
			return Frame{}, false
		}
		return cDebugger(rest)
	}
	if !strings.Contains(l, ") at ") {
		return Frame{}, false
	}
	return cDebugger(l)
}

// nativeAfter reads the signal that some handlers print behind the stack.
func nativeAfter(lines []string, i int, e *exception) int {
	if e.typ != "stack" && e.typ != "signal" {
		return i
	}
	for j := i; j < min(len(lines), i+4); j++ {
		if s := nativeSignal(lines[j]); s != "" {
			e.typ, e.message = s, strings.TrimSpace(lines[j])
			return j + 1
		}
	}
	return i
}

// nativeHandler is what gdb prints for the frame through which the kernel called a
// signal's handler.
const nativeHandler = "<signal handler called>"

// nativeBelowSignal leaves out the handler that printed the stack: all above the
// frame through which the kernel called it. Without symbols that is a frame of
// the C library with the program's on both sides.
func nativeBelowSignal(frames []Frame) []Frame {
	for i := len(frames) - 2; i >= 0; i-- {
		if frames[i].Function == nativeHandler {
			return frames[i+1:]
		}
		switch cBareName(frames[i].Function) {
		case "_sigtramp", "__restore_rt", "killpg", "__kernel_rt_sigreturn", "KiUserExceptionDispatcher":
			return frames[i+1:]
		}
	}
	unnamed := func(f Frame) bool { return cOffset(f.Function) && f.File == "" && cSystemModule(f.Module) }
	for i := 1; i < len(frames)-2; i++ {
		f := frames[i]
		if !unnamed(f) || !strings.HasPrefix(cModule(f.Module), "libc") {
			continue
		}
		if cLibrary(frames[i-1]) {
			break
		}
		for i < len(frames) && unnamed(frames[i]) {
			i++
		}
		if i < len(frames)-1 && !cIgnore(frames[i]) { // what begins a program has none below
			return frames[i:]
		}
		break
	}
	return frames
}

// nativeBelowAbort leaves out what ran because the program gave up: all above
// the innermost frame that raised or threw, when something of its own is below.
func nativeBelowAbort(frames []Frame) []Frame {
	for i := len(frames) - 2; i > 0; i-- {
		switch cBareName(frames[i].Function) {
		case "abort", "__GI_abort", "raise", "gsignal", "__cxa_throw", "__cxa_rethrow", "std::terminate", "__assert_fail", "__assert_fail_base", "__assert_rtn", "_CxxThrowException":
			for _, f := range frames[i+1:] {
				if !cLibrary(f) {
					return frames[i+1:]
				}
			}
			return frames
		}
	}
	return frames
}
