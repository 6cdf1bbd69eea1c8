package crash

import (
	"strconv"
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
	if n := goDigits(name); n > 0 && strings.HasPrefix(name[n:], "  ") { // a frame's size
		name = strings.TrimSpace(name[n:])
	}
	return Frame{Function: name}, ok
}

// cBracketed reads Open MPI's "[ 4] ./solve(+0x12a4)[0x55d2a4]".
func cBracketed(t string) (Frame, bool) {
	inner, rest, ok := strings.Cut(t[1:], "]")
	inner = strings.TrimSpace(inner)
	if rest = strings.TrimSpace(rest); ok && strings.HasPrefix(rest, "[ ") || strings.HasPrefix(rest, "[1") { // behind the host's name
		inner, rest, ok = strings.Cut(rest[1:], "]")
		inner = strings.TrimSpace(inner)
	}
	if !ok || inner == "" || goDigits(inner) != len(inner) {
		return Frame{}, false
	}
	return cSymbols(strings.TrimSpace(rest))
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

// cAligned reads "3 solve.exe      0x00007ff6 step(n)[ src\\step.cpp : 12 ]".
func cAligned(t string) (Frame, bool) {
	d := goDigits(t)
	if d == 0 || d > 4 || !strings.HasPrefix(t[d:], " ") {
		return Frame{}, false
	}
	module, rest, ok := strings.Cut(t[d:], " 0x")
	if !ok {
		return Frame{}, false
	}
	_, name, _ := strings.Cut(rest, " ")
	f := Frame{Module: strings.TrimSpace(module), Function: strings.TrimSpace(name)}
	if k := strings.LastIndex(name, "[ "); k > 0 && strings.HasSuffix(name, " ]") {
		if file, line, placed := strings.Cut(name[k+2:len(name)-2], " : "); placed {
			f.File, f.Line, f.Function, f.Module = file, cNumber(line), strings.TrimSpace(name[:k]), ""
		}
	}
	return f, true
}

// cLLDB reads "frame #3: 0x0000000100003f2c solve`step(n=3) at step.c:12:5".
func cLLDB(t string) (Frame, bool) {
	_, rest, ok := strings.Cut(t, ": ")
	if !ok {
		return Frame{}, false
	}
	if strings.HasPrefix(rest, "0x") {
		_, rest, _ = strings.Cut(rest, " ")
	}
	module, name, ok := strings.Cut(rest, "`")
	if !ok {
		return Frame{Module: module}, true
	}
	f := Frame{Module: module}
	if k := strings.LastIndex(name, " at "); k > 0 {
		if file, line, ok := cPlace(name[k+4:]); ok {
			f.File, f.Line, f.Module = file, line, ""
			name = name[:k]
		}
	}
	if k := strings.LastIndex(name, " + "); k > 0 {
		name = name[:k]
	}
	f.Function = strings.TrimSuffix(name, " [inlined]")
	return f, true
}

// cValgrind reads "by 0x10917A: step (step.c:12)" and "(in /usr/lib/x.so)".
func cValgrind(t string) (Frame, bool) {
	_, rest, ok := strings.Cut(t, ": ")
	if !ok || !strings.HasSuffix(rest, ")") {
		return Frame{}, false
	}
	k := strings.LastIndex(rest, " (")
	if k < 0 {
		return Frame{}, false
	}
	f := Frame{Function: rest[:k]}
	inner := rest[k+2 : len(rest)-1]
	if module, ok := strings.CutPrefix(inner, "in "); ok {
		f.Module = module
		return f, true
	}
	f.File, f.Line, _ = cPlace(inner)
	return f, true
}

// cDigitFirst reads frames that begin with a bare number: boost's " 4# step at
// step.cpp:12", breakpad's "4  solve!step [step.cpp : 12 + 0x5]" and Apple's
// "4   solve   0x0000000104 step + 44 (step.cpp:12)".
func cDigitFirst(t string) (Frame, bool) {
	d := goDigits(t)
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
	if strings.HasPrefix(rest, "0x") && strings.Contains(rest, " in ") { // gdb's, the # lost to markdown
		return cNumbered(t)
	}
	if module, name, ok := strings.Cut(rest, "!"); ok && !strings.ContainsAny(module, " \t") {
		return cBreakpad(module, name), true
	}
	fields := strings.Fields(rest)
	for k := 1; k < len(fields)-1 && k < 4; k++ {
		if strings.HasPrefix(fields[k], "0x") && len(fields[k]) >= 10 {
			_, name, _ := strings.Cut(rest, fields[k])
			return cApple(strings.Join(fields[:k], " "), strings.TrimSpace(name)), true
		}
	}
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

func cBreakpad(module, name string) Frame {
	f := Frame{Module: module, Function: name}
	if k := strings.LastIndex(name, " ["); k > 0 && strings.HasSuffix(name, "]") {
		parts := strings.Split(name[k+2:len(name)-1], " : ")
		if len(parts) >= 2 {
			f.File = parts[0]
			f.Line, _ = strconv.Atoi(parts[1][:goDigits(parts[1])])
			f.Module = ""
		}
		f.Function = name[:k]
	}
	if k := strings.LastIndex(f.Function, " + 0x"); k > 0 {
		f.Function = f.Function[:k]
	}
	return f
}

func cApple(module, name string) Frame {
	f := Frame{Module: module}
	if k := strings.LastIndex(name, " ("); k > 0 && strings.HasSuffix(name, ")") {
		if file, line, ok := cPlace(name[k+2 : len(name)-1]); ok && line > 0 {
			f.File, f.Line, f.Module = file, line, ""
			name = name[:k]
		}
	}
	if k := strings.LastIndex(name, " + "); k > 0 {
		name = name[:k]
	}
	if strings.HasPrefix(name, "0x") { // no symbol: only where the image begins
		name = ""
	}
	f.Function = name
	return f
}
