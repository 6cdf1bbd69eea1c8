package crash

import "strings"

// valgrindHead reads the first line of an error that valgrind found.
func valgrindHead(l string) (exception, bool) {
	d := goDigits(l[2:])
	if d == 0 || !strings.HasPrefix(l[2+d:], "==") {
		return exception{}, false
	}
	t := strings.TrimSpace(l[4+d:])
	for _, p := range []string{"Invalid read of size", "Invalid write of size", "Invalid free()", "Mismatched free()", "Conditional jump or move depends on uninitialised", "Use of uninitialised value", "Syscall param", "Source and destination overlap", "Jump to the invalid address", "Process terminating with default action of signal", "Argument '"} {
		if strings.HasPrefix(t, p) {
			typ := p
			if s := nativeSignal(t); s != "" && strings.HasPrefix(p, "Process") {
				typ = s
			}
			return exception{typ: strings.TrimSuffix(typ, " of size"), message: t}, true
		}
	}
	return exception{}, false
}

// valgrindRead reads an error's first stack; those of the block's allocation and
// free follow. The program goes on, unless a signal ended it.
func valgrindRead(lines []string, i int, e exception) (trace, int, bool) {
	j, began := i+1, false
	for ; j < min(len(lines), i+cMaxFrames); j++ {
		t := valgrindText(lines[j])
		f, ok := cValgrind(t)
		if ok && (strings.HasPrefix(t, "at 0x") && !began || strings.HasPrefix(t, "by 0x") && began) {
			e.frames, began = append(e.frames, f), true
			continue
		}
		if began || t == "" {
			break
		}
	}
	if len(e.frames) == 0 {
		return trace{}, i, false
	}
	fatal := strings.HasPrefix(e.typ, "SIG")
	return trace{chain: []exception{e}, fatal: fatal, class: nativeClass(e)}, j, true
}

// valgrindText takes the process off a line.
func valgrindText(l string) string {
	if rest, ok := strings.CutPrefix(l, "=="); ok {
		if d := goDigits(rest); d > 0 && strings.HasPrefix(rest[d:], "==") {
			l = rest[d+2:]
		}
	}
	return strings.TrimSpace(l)
}
