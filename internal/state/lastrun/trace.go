package lastrun

import (
	"path"
	"slices"
	"strings"
)

type kind uint8

const (
	unreadable kind = iota
	panicked
	exhausted // the runtime got no memory
	signalled // a signal from outside: SIGQUIT, SIGABRT
)

// trace is the parsed text of a crash.
type trace struct {
	kind  kind
	line  string
	lines []string
	calls []string
}

// frame is a function on a stack, and its position.
type frame struct{ name, place string }

// The bounds on what is read and reported.
const (
	maxRead   = 128 << 10
	maxBefore = 64 // lines before the one with the cause
	maxFrames = 256
	maxName   = 256     // bytes of a function's name
	maxLine   = 240     // bytes of a reported line
	maxScrub  = 4 << 10 // bytes of a line that are scrubbed
	maxLines  = 12
	maxAfter  = 3 // reported lines between the first and the frames
)

// parse reads the text that the Go runtime writes when it ends a program. The runtime indents the lines of a panic's value,
// so no value can look like a frame: frames begin in the first column.
func parse(text []byte, scrub func(string) string) trace {
	in := input(text[:min(len(text), maxRead)])
	for range maxBefore {
		line, ok := in.next()
		switch {
		case !ok:
			return trace{}
		case line == stackOfRuntime, running(line):
			return fatal(line, &in)
		}
		if k := kindOf(line); k != unreadable {
			return told(k, clip(scrub(line[:min(len(line), maxScrub)])), &in, scrub)
		}
	}
	return trace{}
}

// told reads a crash whose first line names the cause.
func told(k kind, line string, in *input, scrub func(string) string) trace {
	tr := trace{kind: k, line: line, lines: []string{line}}
	if k == signalled {
		return tr // the stacks show what ran, not the cause
	}
	for after := 0; ; {
		line, ok := in.next()
		switch {
		case !ok:
			return tr
		case running(line):
			tr.add(in.stack())
			return tr
		case line == stackOfRuntime:
			in.stack()
		case line != "" && after < maxAfter:
			after++
			tr.lines = append(tr.lines, clip(scrub(line[:min(len(line), maxScrub)])))
		}
	}
}

// fatal reads a crash that begins with a stack: the runtime writes the words of a fatal error only to standard error.
func fatal(heading string, in *input) trace {
	var inner []frame
	for ok := true; ok && !running(heading); heading, ok = in.next() {
		if heading == stackOfRuntime {
			inner = in.stack()
		}
	}
	stack := in.stack() // empty at the end of the text
	all := slices.Concat(inner, stack)
	if len(all) == 0 {
		return trace{}
	}
	tr := trace{kind: panicked, line: "fatal error"}
	for _, f := range all {
		if why, ok := fatalIn(f.name); ok {
			tr.line += ": " + why
			if why == noMemory {
				tr.kind = exhausted
			}
			break
		}
	}
	if i := slices.IndexFunc(all, func(f frame) bool { return !ofRuntime(f.name) }); i >= 0 {
		tr.line += " in " + all[i].String()
	}
	tr.line = clip(tr.line)
	tr.lines = []string{tr.line}
	tr.add(stack)
	return tr
}

const noMemory = "out of memory"

// fatalIn returns the cause of a fatal error that was found in a function.
func fatalIn(name string) (string, bool) {
	switch name {
	case "runtime.newstack", "runtime.morestack":
		return "stack overflow", true
	case "internal/runtime/maps.fatal":
		return "concurrent use of a map", true
	case "sync.fatal", "internal/sync.fatal":
		return "misuse of a lock", true
	case "runtime.sysMapOS", "runtime.sysUsedOS", "runtime.(*mcache).refill", "runtime.(*mcache).allocLarge",
		"runtime.(*mheap).sysAlloc", "runtime.persistentalloc1", "runtime.stackalloc", "runtime.stackpoolalloc":
		return noMemory, true
	}
	return "", false
}

func ofRuntime(name string) bool {
	return name == "panic" || strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "internal/runtime/") || strings.HasSuffix(name, ".fatal")
}

func kindOf(line string) kind {
	switch {
	case strings.HasPrefix(line, "fatal error: "):
		if strings.Contains(line, noMemory) || strings.Contains(line, "cannot allocate memory") {
			return exhausted
		}
		return panicked
	case strings.HasPrefix(line, "panic: "):
		return panicked
	case strings.HasPrefix(line, "SIG"):
		if name, _, ok := strings.Cut(line, ": "); ok && strings.ToUpper(name) == name && !strings.Contains(name, " ") {
			return signalled
		}
	}
	return unreadable
}

// add reports the frames of the goroutine that crashed.
func (tr *trace) add(stack []frame) {
	for _, f := range stack {
		tr.calls = append(tr.calls, f.name)
		if len(tr.lines) < maxLines && !ofRuntime(f.name) {
			tr.lines = append(tr.lines, clip(f.String()))
		}
	}
}

func (f frame) String() string {
	if f.place == "" {
		return f.name
	}
	return f.name + " (" + f.place + ")"
}

// stackOfRuntime is the heading of the stack of the thread on which the runtime itself ran.
const stackOfRuntime = "runtime stack:"

// running reports whether line is the heading of the stack of the goroutine that crashed: "goroutine 7 [running]:", or with
// more words inside.
func running(line string) bool {
	return strings.HasPrefix(line, "goroutine ") && strings.HasSuffix(line, "]:") && strings.Contains(line, "[running")
}

// input is a text that is read line by line.
type input string

func (in *input) next() (line string, ok bool) {
	if *in == "" {
		return "", false
	}
	before, after, _ := strings.Cut(string(*in), "\n")
	*in = input(after)
	return before, true
}

// stack reads frames up to an empty line: a function's line, then the indented line of its position.
func (in *input) stack() (out []frame) {
	for len(out) < maxFrames {
		line, ok := in.next()
		if !ok || line == "" {
			break
		}
		name, ok := function(line)
		if !ok {
			continue
		}
		f := frame{name: name}
		if at, ok := strings.CutPrefix(string(*in), "\t"); ok {
			at, _, _ = strings.Cut(at, "\n")
			at, _, _ = strings.Cut(at, " ")
			f.place = tidy(path.Base(at), maxName)
		}
		out = append(out, f)
	}
	return out
}

// function returns the name in a frame's first line, without arguments, which are words of memory and may be secret.
func function(line string) (string, bool) {
	if line[0] == '\t' || line[0] == ' ' || line[0] == '.' { // a position, or "...12 frames elided..."
		return "", false
	}
	if name, ok := strings.CutPrefix(line, "created by "); ok {
		name, _, _ = strings.Cut(name, " in goroutine ")
		return tidy(name, maxName), name != ""
	}
	at := strings.LastIndexByte(line, '(')
	if at <= 0 || !strings.HasSuffix(line, ")") {
		return "", false
	}
	return tidy(line[:at], maxName), true
}

func clip(line string) string { return tidy(line, maxLine) }
