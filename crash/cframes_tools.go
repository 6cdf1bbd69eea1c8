package crash

import (
	"strings"
)

// cAt reads glog's "@     0x55d2f0 shop::total()".
func cAt(t string) (Frame, bool) {
	t = strings.TrimSpace(t)
	if !strings.HasPrefix(t, "0x") {
		return Frame{}, false
	}
	_, name, ok := strings.Cut(t, " ")
	name = strings.TrimSpace(name)
	for strings.HasPrefix(name, "(") && !strings.HasPrefix(name, "(anonymous") { // (unknown), or sizes that newer versions print
		_, after, cut := strings.Cut(name, ") ")
		if !cut {
			return Frame{}, ok
		}
		name = strings.TrimSpace(after)
	}
	if k := strings.Index(name, "  "); k > 0 {
		name = name[:k]
	}
	if n := countDigits(name); n > 0 && strings.HasPrefix(name[n:], "  ") { // a frame's size
		name = strings.TrimSpace(name[n:])
	}
	return Frame{Function: name}, ok
}

// cSymbols reads backtrace_symbols' "./solve(step+0x1d)[0x55d2a4]".
func cSymbols(t string) (Frame, bool) {
	if !strings.HasSuffix(t, "]") {
		return Frame{}, false
	}
	open := strings.LastIndex(t, "[0x")
	if open <= 0 {
		return Frame{}, false
	}
	t = strings.TrimSpace(t[:open])
	if module, name, ok := strings.Cut(t, " : "); ok && strings.Contains(name, ")+0x") {
		return cSpaced(module, name), true
	}
	bracket := strings.LastIndexByte(t, '(')
	if bracket < 0 || !strings.HasSuffix(t, ")") {
		if strings.ContainsAny(t, " \t=") {
			return Frame{}, false
		}
		return Frame{Module: t}, true
	}
	f := Frame{Module: strings.TrimSpace(t[:bracket])}
	name, offset, plus := strings.Cut(t[bracket+1:len(t)-1], "+0x")
	if f.Module == "" || strings.ContainsAny(name, " ") && !strings.Contains(name, "::") {
		return Frame{}, false
	}
	f.Function = demangle(name)
	if name == "" && plus {
		f.Function = "+0x" + offset
	}
	return f, true
}

// cSpaced reads "libsolve.so : step(int)+0x1d" and "libsolve.so : ()+0x12a4".
func cSpaced(module, name string) Frame {
	k := strings.LastIndex(name, "+0x")
	f := Frame{Module: strings.TrimSpace(module), Function: name[:k]}
	if f.Function == "()" {
		f.Function = name[k:]
	}
	return f
}

// cDigitFirst reads frames that begin with a bare number: boost's " 4# step at
// step.cpp:12".
func cDigitFirst(t string) (Frame, bool) {
	d := countDigits(t)
	if d > 4 || d == len(t) {
		return Frame{}, false
	}
	rest := t[d:]
	if after, ok := strings.CutPrefix(rest, "# "); ok {
		return cBoost(after)
	}
	if rest[0] != ' ' {
		return Frame{}, false
	}
	rest = strings.TrimSpace(rest)
	if how, after, ok := strings.Cut(rest, "] "); ok && how[0] == '[' { // Swift's: [ra], [inlined]
		rest = after
	}
	if before, name, _ := strings.Cut(rest, " "); strings.HasPrefix(before, "0x") && strings.Contains(rest, " in ") {
		if strings.HasPrefix(name, "in ") { // gdb's, the # lost to markdown
			return cNumbered(t)
		}
		f, ok := cBoost(name)
		f.Function, _, _ = strings.Cut(f.Function, " + ")
		return f, ok
	}
	if module, after, ok := strings.Cut(rest, " 0x"); ok && strings.Contains(after, " + ") { // a Mac's: module, address, name + offset
		_, name, _ := strings.Cut(after, " ")
		name, offset, _ := strings.Cut(name, " + ")
		if strings.HasPrefix(name, "0x") { // no symbols: from where the module was loaded
			name = "+0x" + offset
		}
		return Frame{Module: strings.TrimSpace(module), Function: name}, true
	}
	fields := strings.Fields(rest)
	if len(fields) == 3 && fields[1] == "+" && strings.HasPrefix(fields[2], "0x") {
		return Frame{Module: fields[0], Function: "+" + fields[2]}, true
	}
	return Frame{}, false
}

func cBoost(rest string) (Frame, bool) {
	if k := strings.LastIndex(rest, " at "); k > 0 {
		if file, line, ok := cPlace(rest[k+4:]); ok {
			return Frame{Function: rest[:k], File: file, Line: line}, true
		}
	}
	name, module := rest, ""
	if k := strings.LastIndex(rest, " in "); k > 0 {
		name, module = rest[:k], rest[k+4:]
	}
	if strings.HasPrefix(name, "0x") {
		name = cWithinPage(name)
	}
	return Frame{Function: name, Module: module}, true
}

// cWithinPage leaves of an address what is the same wherever a binary is loaded.
func cWithinPage(address string) string {
	if len(address) < len("0x000") {
		return ""
	}
	return "+0x" + strings.ToLower(address[len(address)-3:])
}
