package crash

import (
	"strconv"
	"strings"
)

// The frames of native code, as sanitizers, debuggers and a dozen libraries
// print them. Module is the binary or library a frame lies in, where no source is
// known.

// cMaxFrames bounds the frames kept of one stack.
const cMaxFrames = 256

// cFrame reads one line of a native stack, whoever printed it.
func cFrame(l string) (Frame, bool) {
	t := strings.TrimSpace(l)
	t = strings.TrimPrefix(strings.TrimPrefix(t, "* "), "frame ") // lldb's
	if len(t) < 3 {
		return Frame{}, false
	}
	switch c := t[0]; {
	case c == '#':
		return cNumbered(t[1:])
	case c == '@':
		return cAt(t[1:])
	case c >= '0' && c <= '9':
		return cDigitFirst(t)
	}
	return cSymbols(t)
}

// cNumbered reads what follows "#" in the stacks of sanitizers, gdb and LLVM.
func cNumbered(t string) (Frame, bool) {
	d := countDigits(t)
	if d == 0 || d > 4 || d == len(t) || t[d] != ' ' && t[d] != ':' {
		return Frame{}, false
	}
	rest := strings.TrimSpace(t[d+1:])
	rest = strings.Replace(rest, "pc ", "0x", 1) // Android's
	address := strings.HasPrefix(rest, "0x")
	if address {
		_, after, ok := strings.Cut(rest, " ")
		if !ok {
			return Frame{}, true // an address alone
		}
		rest = strings.TrimSpace(after)
	}
	if rest == "<signal handler called>" {
		return Frame{Function: rest}, true
	}
	name := strings.TrimPrefix(rest, "in ")
	if _, behind, ok := strings.Cut(name, "`"); ok && address { // lldb's module
		name = behind
	}
	if f, ok := cDebugger(name); ok {
		return f, true
	}
	if !address {
		return Frame{}, false
	}
	return cSymbolizer(name), true
}

// cDebugger reads gdb's "f (args) at file:line" and "f (args) from library".
func cDebugger(rest string) (Frame, bool) {
	if k := strings.LastIndex(rest, " at "); k > 0 {
		name := strings.TrimSpace(rest[:k])
		if file, line, ok := cPlace(rest[k+4:]); ok && line > 0 && strings.HasSuffix(name, ")") {
			return Frame{Function: cCallee(name), File: file, Line: line}, true
		}
	}
	if k := strings.LastIndex(rest, " from "); k > 0 {
		name := strings.TrimSpace(rest[:k])
		if strings.HasSuffix(name, ")") {
			return Frame{Function: cCallee(name), Module: rest[k+6:]}, true
		}
	}
	if k := strings.Index(rest, " ("); k > 0 && strings.HasSuffix(rest, ")") && !strings.ContainsAny(rest[k:], "+/\\") {
		return Frame{Function: cCallee(rest)}, true
	}
	return Frame{}, false
}

// cCallee takes gdb's list of arguments off a name: the last bracketed part
// that a space stands before.
func cCallee(name string) string {
	if open := goOpening(name); open > 0 {
		return strings.TrimSpace(name[:open])
	}
	return name
}

// cSymbolizer reads what sanitizers and LLVM print behind an address: a
// function and its place, or the binary and the offset in it.
func cSymbolizer(rest string) Frame {
	if k := strings.Index(rest, " (BuildId: "); k > 0 {
		rest = rest[:k]
	}
	rest = strings.TrimSuffix(strings.TrimSpace(rest), " (discriminator 1)")
	if k := strings.Index(rest, " (discriminator "); k > 0 {
		rest = rest[:k]
	}
	if strings.HasSuffix(rest, ")") {
		open := strings.LastIndex(rest, "(")
		inner := rest[open+1 : len(rest)-1]
		if plus := strings.LastIndexByte(inner, '+'); open > 1 && rest[0] == '/' && plus > 0 && allDigits(inner[plus+1:]) { // /lib.so (f+12)
			return Frame{Function: demangle(inner[:plus]), Module: strings.TrimSpace(rest[:open])}
		}
		if plus := strings.LastIndex(inner, "+0x"); plus > 0 && open >= 0 {
			name := strings.TrimSpace(rest[:open])
			f := Frame{Function: name, Module: cArch(inner[:plus])}
			if name == "" || name == "<unknown module>" {
				f.Function = inner[plus:]
			}
			return f
		}
	}
	if k := cPathStart(rest); k >= 0 {
		if file, line, ok := cPlace(rest[k:]); ok {
			return Frame{Function: strings.TrimSpace(rest[:k]), File: file, Line: line}
		}
	}
	name := strings.TrimSuffix(strings.TrimSuffix(rest, " ??:?"), " ??:0")
	return Frame{Function: strings.TrimSuffix(name, " <null>")}
}

// cPathStart finds where the place begins behind a function's name, which may
// itself have spaces.
func cPathStart(rest string) int {
	depth := 0
	for k := range len(rest) {
		switch rest[k] {
		case '(', '<', '[', '{':
			depth++
		case ')', '>', ']', '}':
			depth--
		case ' ':
			if k+1 < len(rest) && depth <= 0 && (rest[k+1] == '/' || rest[k+1] == '.' || k+3 < len(rest) && rest[k+2] == ':' && (rest[k+3] == '\\' || rest[k+3] == '/')) {
				return k + 1
			}
		}
	}
	if k := strings.LastIndexByte(rest, ' '); k >= 0 {
		return k + 1
	}
	if strings.HasPrefix(rest, "/") || strings.Contains(rest, ":") && !strings.Contains(rest, "::") {
		return 0
	}
	return -1
}

// cArch takes the architecture off a Mac's "libfoo.dylib:x86_64h".
func cArch(module string) string {
	if k := strings.LastIndexByte(module, ':'); k > 1 {
		return module[:k]
	}
	return module
}

// cPlace reads "file:line", "file:line:column", "file(line)" or a file alone.
func cPlace(s string) (file string, line int, ok bool) {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "<null>") || strings.HasPrefix(s, "??") || s == "" {
		return "", 0, false
	}
	for range 2 {
		k := strings.LastIndexByte(s, ':')
		if k <= 0 || countDigits(s[k+1:]) == 0 || countDigits(s[k+1:]) != len(s[k+1:]) {
			break
		}
		line, _ = strconv.Atoi(s[k+1:])
		s, ok = s[:k], true
	}
	if !ok && strings.HasSuffix(s, ")") {
		if k := strings.LastIndexByte(s, '('); k > 0 && countDigits(s[k+1:]) == len(s)-k-2 && len(s)-k > 2 {
			line, _ = strconv.Atoi(s[k+1 : len(s)-1])
			return s[:k], line, true
		}
	}
	if !ok {
		return s, 0, cSource(s)
	}
	return s, line, true
}

// cSource reports a file of source code by its ending.
func cSource(file string) bool {
	dot := strings.LastIndexByte(file, '.')
	if dot < 0 {
		return false
	}
	switch strings.ToLower(file[dot+1:]) {
	case "c", "cc", "cpp", "cxx", "c++", "h", "hh", "hpp", "hxx", "inl", "inc", "ipp", "tcc", "m", "mm", "cu", "cuh", "s", "y", "l", "rl", "f", "f90", "swift", "rs":
		return true
	}
	return false
}
