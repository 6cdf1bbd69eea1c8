package crash

import (
	"slices"
	"strings"
)

// kernel is for what Linux says of a process that it ended: the fault and the binary
// that it happened in, or that there was no memory left. It counts where the process
// itself said nothing.
func kernel() language {
	return language{
		name:      "kernel",
		read:      kernelRead,
		library:   func(Frame) bool { return true },
		canonical: kernelCanonical,
	}
}

func kernelBegins(l string) bool {
	if at := strings.IndexByte(l, '['); at >= 0 && (strings.Contains(l[at:], "]: segfault at ") || strings.Contains(l[at:], " ip:")) {
		return strings.Contains(l, " ip ") || strings.Contains(l, "general protection") || strings.Contains(l, " trap ")
	}
	return kernelKilled(l)
}

// kernelKilled reports a line of the out-of-memory killer's.
func kernelKilled(l string) bool {
	if _, rest, ok := strings.Cut(l, "ill"); !ok || !strings.Contains(rest, "process ") {
		return false
	}
	return strings.Contains(l, "ut of memory: Kill") || strings.Contains(l, "Killed process ") && strings.Contains(l, " total-vm:")
}

// kernelRead reads the last such line, if it is near the end.
func kernelRead(lines []string, _ int) (trace, int, bool) {
	start := max(0, len(lines)-genericLines)
	for i, l := range slices.Backward(lines[start:]) {
		if kernelBegins(l) {
			t, ok := kernelLine(l)
			return t, start + i + 1, ok
		}
	}
	return trace{}, 0, false
}

func kernelLine(l string) (trace, bool) {
	t := trace{fatal: true, class: "crash"}
	e := exception{typ: "SIGSEGV"}
	process, said, _ := strings.Cut(l, "segfault at ")
	if kernelKilled(l) {
		t.class = "oom"
		e.typ = "out of memory"
		at := strings.Index(l, " process ")
		e.message = l[at+1:]
		name, _ := between(e.message, " (", ") ")
		e.frames = []Frame{{Function: name}}
	} else {
		if said == "" {
			process, said, e.typ = kernelTrap(l)
		}
		f := kernelBinary(said)
		f.Function = kernelProcess(process)
		e.message, e.frames = l[len(process):], []Frame{f}
	}
	t.chain = []exception{e}
	return t, e.frames[0].Function != ""
}

// kernelTrap splits a line about another fault than a bad address.
func kernelTrap(l string) (process, said, signal string) {
	for _, trap := range [...]struct{ words, signal string }{
		{" general protection", "SIGSEGV"}, {" trap invalid opcode", "SIGILL"}, {" trap divide error", "SIGFPE"}, {" trap int3", "SIGTRAP"}, {" trap ", "SIGSEGV"},
	} {
		if process, said, ok := strings.Cut(l, trap.words); ok {
			return process, said, trap.signal
		}
	}
	return "", "", ""
}

// kernelProcess is the name in "kernel: [123.456] traps: name[77]: ".
func kernelProcess(before string) string {
	open := strings.LastIndexByte(before, '[')
	if open < 0 {
		return ""
	}
	name := before[:open]
	for _, end := range [...]string{": ", "] "} {
		name = name[strings.LastIndex(name, end)+1:]
	}
	return strings.TrimSpace(strings.TrimLeft(name, " ]"))
}

// kernelBinary reads "… ip 5f1c sp 7ffe error 4 in libz.so[5c,5000+1000]": new
// versions say where in the file it was, for others it is counted.
func kernelBinary(said string) Frame {
	address, ok := between(said, " ip ", " ")
	if !ok {
		address, _ = between(said, " ip:", " ")
	}
	_, in, _ := strings.Cut(said, " in ")
	name, rest, _ := strings.Cut(in, "[")
	mapped, _, _ := strings.Cut(rest, "]")
	offset, _, listed := strings.Cut(mapped, ",")
	if !listed {
		begin, _, _ := strings.Cut(mapped, "+")
		offset = offsetIn(address, begin)
	}
	return Frame{File: name, offset: offset}
}

// kernelCanonical names the thread without its number, and the binary without
// what a temporary file's name has.
func kernelCanonical(f Frame) Frame {
	return Frame{File: unextracted(f.File), Function: strings.TrimRight(f.Function, "0123456789-:#/ "), Line: f.Line}
}
