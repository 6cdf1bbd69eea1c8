package crash

import (
	"slices"
	"strings"
)

// rustKinds are the messages that the language itself writes, old wordings and
// new ones, and how each is called here. The place's column tells two of a file
// apart, since it does not move with the lines.
var rustKinds = []struct{ has, kind string }{
	{"Option::unwrap()", "Option::unwrap() on None"},
	{"Result::unwrap()", "Result::unwrap() on Err"},
	{"Result::unwrap_err()", "Result::unwrap_err() on Ok"},
	{"called `Option::unwrap_none()`", "Option::unwrap_none() on Some"},
	{"index out of bounds: the len is", "index out of bounds"},
	{"is not a char boundary", "not a char boundary"},
	{"do not lie on character boundary", "not a char boundary"},
	{"byte index ", "byte index out of bounds"},
	{"slice index starts at", "slice out of range"},
	{"out of range for slice", "slice out of range"},
	{"out of range for str", "slice out of range"},
	{"range end index", "slice out of range"},
	{"range start index", "slice out of range"},
	{"to add with overflow", "arithmetic overflow: add"},
	{"to subtract with overflow", "arithmetic overflow: subtract"},
	{"to multiply with overflow", "arithmetic overflow: multiply"},
	{"to negate with overflow", "arithmetic overflow: negate"},
	{"to shift left with overflow", "arithmetic overflow: shift"},
	{"to shift right with overflow", "arithmetic overflow: shift"},
	{"arithmetic operation overflowed", "arithmetic overflow"},
	{"attempt to divide by zero", "divide by zero"},
	{"attempted to divide by zero", "divide by zero"},
	{"remainder with a divisor of zero", "divide by zero"},
	{"already mutably borrowed", "RefCell already borrowed"},
	{"already borrowed: BorrowMutError", "RefCell already borrowed"},
	{"RefCell already ", "RefCell already borrowed"},
	{"capacity overflow", "capacity overflow"},
	{"explicit panic", "explicit panic"},
	{"entered unreachable code", "unreachable code"},
	{"not yet implemented", "not implemented"},
	{"not implemented", "not implemented"},
	{"Box<Any>", "panic"},
	{"Box<dyn Any>", "panic"},
	{"copy_from_slice", "slice lengths differ"},
	{"mid > len", "slice out of range"},
	{"removal index", "slice out of range"},
	{"insertion index", "slice out of range"},
	{"no entry found for key", "no entry for key"},
	{"misaligned pointer dereference", "misaligned pointer"},
	{"null pointer dereference occurred", "null pointer"},
}

// rustNowhere is the discriminator of a panic in the standard library of which
// neither the caller nor any words are known.
const rustNowhere = "std"

// rustException makes a panic out of its parts. Which discriminator it has
// depends on what its place is: the message's kind and column where the program
// panicked itself, more of the message the less is known of the place.
func rustException(at Frame, column, message string, frames []Frame) exception {
	e := exception{typ: "panic", message: message}
	generic := false
	for _, k := range rustKinds {
		if strings.Contains(message, k.has) {
			e.typ, generic = k.kind, true
			break
		}
	}
	if !generic && strings.HasPrefix(message, "assertion ") {
		e.typ = "assertion failed"
	}
	words := discriminator(rustAssertion(message))
	if crate := strings.ReplaceAll(rustFetched(strings.ReplaceAll(at.File, `\`, "/")), "-", "_"); crate != "" { // its functions are not the program's
		frames = slices.DeleteFunc(frames, func(f Frame) bool { return f.File == "" && rustCrate(f.Function) == crate })
	}
	switch {
	case at.File != "" && !rustLibrary(at):
		at.Function = rustNamed(at, frames)
		e.frames = append([]Frame{at}, frames...)
		e.code = words
		if generic || words == "" {
			e.code = column
		}
	case ownFrames(frames, rustLibrary, rustIgnore):
		e.frames = append(frames, at)
		if !generic {
			e.code = words
		}
	case at.File != "" && rustFetched(strings.ReplaceAll(at.File, `\`, "/")) != "":
		e.frames = append([]Frame{at}, frames...)
		e.code = words
		if generic || words == "" {
			e.code = column
		}
	default:
		// Somewhere in the standard library, from nobody knows where.
		e.frames = append([]Frame{at}, frames...)
		e.code = words
		if _, value, ok := strings.Cut(message, " value: "); ok && e.typ == "Result::unwrap() on Err" {
			e.code = rustValue(value)
		} else if generic {
			e.code = rustNowhere // the rest of the message are values
		}
	}
	return e
}

// rustAssertion leaves an assertion's expression, which is the program's own
// text, and takes off the values.
func rustAssertion(message string) string {
	line, rest, _ := strings.Cut(message, "\n")
	line = strings.ReplaceAll(line, "`(left == right)`", "left == right")
	line = strings.ReplaceAll(line, "`(left != right)`", "left != right")
	line = strings.ReplaceAll(line, "`left == right` failed", "left == right")
	line = strings.ReplaceAll(line, "`left != right` failed", "left != right")
	if after, ok := strings.CutPrefix(line, "assertion failed: "); ok {
		if after != "" {
			return strings.ReplaceAll(after, ":", " ")
		}
		return rest
	}
	if after, ok := strings.CutPrefix(line, "assertion "); ok {
		return strings.ReplaceAll(after, ":", " ")
	}
	return line
}

// rustValue reduces the value that unwrap found to the names in it:
// Os { code: 2, kind: NotFound, … } to "Os NotFound".
func rustValue(value string) string {
	value = withoutQuoted(value)
	var b strings.Builder
	for _, w := range strings.FieldsFunc(value, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' || r >= '0' && r <= '9')
	}) {
		if w[0] < 'A' || w[0] > 'Z' {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w)
		if b.Len() > discriminatorBytes {
			break
		}
	}
	if b.Len() == 0 {
		return strings.TrimSpace(value[:min(len(value), 16)])
	}
	return b.String()
}

// rustNamed finds the function of a place among the frames of its backtrace.
func rustNamed(at Frame, frames []Frame) string {
	for _, f := range frames {
		if f.Line == at.Line && f.File != "" && rustBelowSource(f.File) == rustBelowSource(at.File) {
			return rustFunction(f.Function)
		}
	}
	return rustStripped(frames)
}

// rustStripped returns the innermost own function of a backtrace without any
// places, as release builds print it: the panic's place lies in it, or in what
// was inlined into it.
func rustStripped(frames []Frame) string {
	own := ""
	for _, f := range frames {
		if f.File != "" {
			return ""
		}
		if own == "" && !rustIgnore(f) && !rustLibrary(f) {
			own = rustFunction(f.Function)
		}
	}
	return own
}

// rustOverflow reads what the runtime says of an overflown stack.
func rustOverflow(lines []string, i int) (trace, int, bool) {
	next := i + 1
	for next < len(lines) && next < i+4 {
		l := strings.TrimSpace(lines[next])
		if l != "" && !strings.HasPrefix(l, "fatal runtime error: stack overflow") {
			break
		}
		next++
	}
	e := exception{typ: "stack overflow", message: lines[i]}
	return trace{chain: []exception{e}, fatal: true}, next, true
}

// rustCompiler reads a failure of the compiler's own: the place behind its head,
// or the panic that follows.
func rustCompiler(lines []string, i int) (trace, int, bool) {
	rest := strings.TrimPrefix(lines[i], "error: internal compiler error: ")
	if at, column, message, next, ok := rustPlain(lines, i, rest); ok {
		frames, next := rustBacktrace(lines, next)
		e := rustException(at, column, message, frames)
		e.typ = "internal compiler error"
		return trace{chain: []exception{e}, fatal: true, rank: 1}, next, true
	}
	if strings.HasPrefix(rest, "unexpected panic") {
		return trace{}, i, false // the panic itself says more
	}
	e := exception{typ: "internal compiler error", message: rest, code: discriminator(rest)}
	return trace{chain: []exception{e}, fatal: true, rank: 1}, i + 1, true
}

// rustEyrePanics reads panics as color-eyre prints them: the first and those that
// came of it.
func rustEyrePanics(lines []string, i int) (trace, int, bool) {
	e, next, ok := rustEyrePanic(lines, i)
	if !ok {
		return trace{}, i, false
	}
	t := trace{chain: []exception{e}, fatal: true}
	for j := next; j < min(len(lines), next+8) && len(t.chain) < 16; j++ {
		if !strings.HasPrefix(lines[j], "The application panicked") {
			continue
		}
		more, n, ok := rustEyrePanic(lines, j)
		if !ok || !rustConsequence(more.message) {
			break
		}
		more.wrapper = true
		t.chain = append(t.chain, more)
		j, next = n-1, n
	}
	return t, next, true
}

func rustEyrePanic(lines []string, i int) (exception, int, bool) {
	message := ""
	for j := i; j < min(len(lines), i+30); j++ {
		t := strings.TrimSpace(lines[j])
		if rest, ok := strings.CutPrefix(t, "Message:"); ok {
			message = strings.TrimSpace(rest)
			continue
		}
		rest, ok := strings.CutPrefix(t, "Location:")
		if !ok {
			continue
		}
		at, column, ok := rustPlace(rest)
		if !ok {
			break
		}
		frames, next := []Frame(nil), j+1
		for k := j + 1; k < min(len(lines), j+8); k++ {
			if strings.Contains(lines[k], "BACKTRACE") {
				frames, next = rustBacktrace(lines, k)
				break
			}
		}
		return rustException(at, column, message, frames), next, true
	}
	return exception{}, i, false
}

// rustReturned reads an error that main returned: a value as the language
// prints it for programmers, or a list of causes.
func rustReturned(lines []string, i int) (trace, int, bool) {
	first := strings.TrimSpace(strings.TrimPrefix(lines[i], "Error:"))
	e := exception{typ: "Error", message: first}
	next, causes := rustCauses(lines, i, &e)
	if name, rest, ok := strings.Cut(first, " {"); ok && rustTypeName(name) {
		e.typ, e.code = name, rustValue(rest)
		return trace{chain: []exception{e}, fatal: true}, next, true
	}
	if !causes {
		return trace{}, i, false
	}
	e.code = discriminator(e.message)
	if at := strings.LastIndexByte(e.message, '\n'); at > 0 && first != "" { // what it was for and why, as far as the author wrote it
		e.code += ": " + discriminator(strings.TrimPrefix(e.message[at+1:], "wasm trap: "))
	}
	return trace{chain: []exception{e}, fatal: true}, next, true
}

// rustCauses reads the causes, the place and the backtrace below an error.
func rustCauses(lines []string, i int, e *exception) (next int, ok bool) {
	next = i + 1
	listed := e.message == ""
	for j := i + 1; j < min(len(lines), i+60); j++ {
		t := strings.TrimSpace(lines[j])
		switch {
		case t == "":
		case t == "Caused by:":
			listed, ok, next = true, true, j+1
		case t == "Location:" && j+1 < len(lines):
			if at, _, isPlace := rustPlace(lines[j+1]); isPlace {
				e.frames, ok, next = append(e.frames, at), true, j+2
				j++
			}
		case strings.HasPrefix(t, "Stack backtrace:"), strings.HasPrefix(t, "stack backtrace:"):
			frames, n := rustBacktrace(lines, j)
			e.frames = append(e.frames, frames...)
			return n, true
		case len(e.frames) < rustMaxFrames && wasmFrame(t) != "":
			e.frames = append(e.frames, Frame{Function: wasmFrame(t)})
		case t == "wasm backtrace:":
		case listed && indentOf(lines[j]) != "":
			if d := countDigits(t); d > 0 && strings.HasPrefix(t[d:], ":") {
				t, ok = strings.TrimSpace(t[d+1:]), true
			}
			e.message = strings.TrimPrefix(e.message+"\n"+t, "\n")
			next = j + 1
		default:
			return next, ok
		}
	}
	return next, ok
}

// wasmFrame is the function in "0: 0x47 - module.wasm!shop::total", as a host of
// WebAssembly prints it; "" for other lines.
func wasmFrame(t string) string {
	n := countDigits(t)
	if n == 0 || !strings.HasPrefix(t[n:], ":") {
		return ""
	}
	t = strings.TrimSpace(t[n+1:])
	if address, rest, ok := strings.Cut(t, " - "); ok && strings.HasPrefix(address, "0x") {
		t = rest
	}
	module, function, ok := strings.Cut(t, "!")
	if !ok || module == "" || strings.Contains(module, " ") {
		return ""
	}
	return function
}

// rustTypeName reports a type's name as derive(Debug) prints it.
func rustTypeName(s string) bool {
	return s != "" && s[0] >= 'A' && s[0] <= 'Z' && only(s, func(c byte) bool { return c < 0x80 && isIdentByte(c) })
}
