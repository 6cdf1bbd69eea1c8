package crash

import (
	"strconv"
	"strings"
)

// rustSigns are made once: the table is made for each output.
var rustSigns = []string{"Error:", "error: internal compiler", "fatal runtime error", "memory allocation of", "Message:  ", "The application panicked", "overflowed its stack", "' failed at '", "panicked at ", " panicked."}

// rust reads panics of every age of the language, with and without a backtrace;
// errors that main returned, with their causes; the compiler's own failures.
func rust() language {
	return language{
		name:      "rust",
		begins:    rustBegins,
		signs:     rustSigns,
		starts:    " 0",
		read:      rustRead,
		library:   rustLibrary,
		ignore:    rustIgnore,
		canonical: rustCanonical,
		vague:     func(string) bool { return true },
	}
}

func rustBegins(l string) bool {
	if l == "" {
		return false
	}
	switch l[0] {
	case ' ', '0':
		return rustHeadless(l)
	case 'E':
		return strings.HasPrefix(l, "Error:")
	case 'e':
		if strings.HasPrefix(l, "error: internal compiler error: ") {
			return true
		}
	case 'f':
		if strings.HasPrefix(l, "fatal runtime error: ") {
			return true
		}
	case 'm':
		if strings.HasPrefix(l, "memory allocation of ") {
			return true
		}
	case 'M': // the line above was lost
		return strings.HasPrefix(l, "Message:  ")
	case 'T':
		if strings.HasPrefix(l, "The application panicked (crashed)") {
			return true
		}
	case 't':
		if strings.HasPrefix(l, "thread '") && strings.HasSuffix(l, "has overflowed its stack") {
			return true
		}
		if strings.HasPrefix(l, "task '") && strings.Contains(l, "' failed at '") {
			return true
		}
	}
	return strings.Contains(l, "panicked at ") || rustDrawn(l)
}

// rustHeadless reports the first frame of a backtrace, as programs print it with
// words of their own before it.
func rustHeadless(l string) bool {
	s := strings.TrimLeft(l, " ")
	return len(s) > 3 && s[:3] == "0: " && (isIdentByte(s[3]) || s[3] == '<') && strings.Contains(s, "::")
}

// rustBare reads a backtrace without a header: from the panic on, where it shows.
func rustBare(lines []string, i int) (trace, int, bool) {
	frames, next := rustBacktrace(lines, i)
	for k, f := range frames {
		if strings.HasPrefix(f.Function, "core::panicking::") {
			frames = frames[k:]
			break
		}
	}
	e := exception{typ: "panic", frames: frames}
	for k := i - 1; k >= 0 && k > i-3 && e.message == ""; k-- {
		e.message = strings.TrimSpace(lines[k])
	}
	e.code = discriminator(e.message)
	return trace{chain: []exception{e}, fatal: true}, next, len(frames) > 1
}

func rustRead(lines []string, i int) (trace, int, bool) {
	l := lines[i]
	switch {
	case rustHeadless(l):
		return rustBare(lines, i)
	case rustDrawn(l):
		return rustDrawnPanic(lines, i)
	case strings.HasPrefix(l, "Error:"):
		return rustReturned(lines, i)
	case strings.HasPrefix(l, "error: internal compiler error: "):
		return rustCompiler(lines, i)
	case strings.HasPrefix(l, "The application panicked (crashed)"), strings.HasPrefix(l, "Message:  "):
		return rustEyrePanics(lines, i)
	case strings.HasPrefix(l, "memory allocation of "):
		if !strings.Contains(l, " bytes failed") {
			return trace{}, i, false
		}
		e := exception{typ: "memory allocation failed", message: l}
		return trace{chain: []exception{e}, fatal: true, class: "oom"}, i + 1, true
	case strings.HasPrefix(l, "fatal runtime error: "):
		e := exception{typ: "fatal runtime error", message: strings.TrimPrefix(l, "fatal runtime error: ")}
		e.code = discriminator(e.message)
		return trace{chain: []exception{e}, fatal: true}, i + 1, true
	case strings.HasSuffix(l, "has overflowed its stack"):
		return rustOverflow(lines, i)
	}
	return rustPanics(lines, i)
}

// rustPanics reads a panic and those that came of it: of a poisoned lock, a
// thread joined, a destructor that ran while unwinding.
func rustPanics(lines []string, i int) (trace, int, bool) {
	first, next, ok := rustPanic(lines, i)
	if !ok {
		return trace{}, i, false
	}
	chain, behind := []exception{first}, next
	for j := next; j < min(len(lines), behind+4) && len(chain) < 16; j++ {
		l := lines[j]
		if strings.HasPrefix(l, "thread panicked while") || strings.HasPrefix(l, "thread caused non-unwinding") {
			return trace{chain: chain, fatal: true, class: "crash"}, j + 1, true
		}
		e, n, ok := exception{}, 0, false
		if strings.Contains(l, "panicked at ") {
			e, n, ok = rustPanic(lines, j)
		}
		if !ok {
			continue
		}
		e.wrapper = rustConsequence(e.message)
		chain = append(chain, e)
		j, behind = n-1, n
		if e.wrapper {
			next = n
		}
	}
	// Panics behind the last consequence have nothing to do with the first.
	for len(chain) > 1 && !chain[len(chain)-1].wrapper {
		chain = chain[:len(chain)-1]
	}
	return trace{chain: chain, fatal: true}, next, true
}

// rustConsequence reports what a thread says when another's panic reached it.
func rustConsequence(message string) bool {
	return spoken(message, "PoisonError", "RecvError", "SendError", "value: Any", "panic in a destructor during cleanup", "panic in a function that cannot unwind", "a scoped thread panicked", "JoinError::Panic", "panic indicator set", "thread panicked")
}

// rustMessageLines bounds a panic's message.
const rustMessageLines = 200

// rustPanic reads one panic with its backtrace.
func rustPanic(lines []string, i int) (exception, int, bool) {
	_, rest, ok := strings.Cut(lines[i], "panicked at ")
	if !ok {
		if _, rest, ok = strings.Cut(lines[i], "' failed at "); !ok {
			return exception{}, i, false
		}
	}
	rest = strings.TrimRight(rest, " \t")
	var at Frame
	var column, message string
	var next int
	if strings.HasPrefix(rest, "'") {
		at, column, message, next, ok = rustQuoted(lines, i, rest)
	} else {
		at, column, message, next, ok = rustPlain(lines, i, rest)
	}
	if !ok {
		return exception{}, i, false
	}
	frames, next := rustBacktrace(lines, next)
	e := rustException(at, column, message, frames)
	if e.code == rustNowhere {
		e.code += rustThread(lines[i])
	}
	return e, next, true
}

// rustThread returns the name that a program gave the thread that panicked,
// without its numbers; "" for the names that every program's have.
func rustThread(l string) string {
	_, rest, ok := strings.Cut(l, "thread '")
	name, _, closed := strings.Cut(rest, "'")
	name = strings.Trim(name, "0123456789-:# ")
	if !ok || !closed || name == "main" || name == "<main>" || name == "<unnamed>" || name == "" {
		return ""
	}
	return " " + name
}

// rustQuoted reads the form before 1.73: 'message', file:line:column. The
// message may have several lines, and quotes of its own.
func rustQuoted(lines []string, i int, rest string) (at Frame, column, message string, next int, ok bool) {
	var b strings.Builder
	text := rest[1:]
	for j := i; j < min(len(lines), i+rustMessageLines); j++ {
		if j > i {
			text = lines[j]
			b.WriteByte('\n')
		}
		for _, sep := range []string{"', ", "': "} {
			k := strings.LastIndex(text, sep)
			if k < 0 {
				continue
			}
			place := text[k+len(sep):]
			if place == "" && j+1 < len(lines) { // wrapped behind the comma
				place = strings.TrimSpace(lines[j+1])
			}
			if end := rustPlaceEnd(place); end > 0 && strings.HasPrefix(place[end:], " note: ") { // lines run together
				place = place[:end]
			}
			if at, column, ok = rustPlace(place); ok {
				b.WriteString(text[:k])
				return at, column, b.String(), j + 1, true
			}
		}
		if j > i && strings.Contains(text, "panicked at ") {
			break
		}
		if b.Len() < 4<<10 {
			b.WriteString(text)
		}
	}
	// The place was lost; the words remain.
	message, _, _ = strings.Cut(rest[1:], "', ")
	return Frame{}, "", strings.TrimSuffix(message, "'"), i + 1, true
}

// rustPlain reads today's form: file:line:column, then the message on lines of
// its own.
func rustPlain(lines []string, i int, rest string) (at Frame, column, message string, next int, ok bool) {
	place, behind := rest, ""
	if k := rustPlaceEnd(rest); k > 0 {
		place, behind = rest[:k], strings.TrimSpace(strings.TrimPrefix(rest[k:], ":"))
	}
	if at, column, ok = rustPlace(strings.TrimSuffix(place, ":")); !ok {
		return at, "", "", i, false
	}
	var b strings.Builder
	b.WriteString(behind)
	next = i + 1
	for ; next < min(len(lines), i+rustMessageLines); next++ {
		l := lines[next]
		if rustMessageEnds(l) {
			break
		}
		if strings.TrimSpace(l) == "" && (b.Len() > 0 && !rustMore(lines, next)) {
			break
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		if b.Len() < 4<<10 {
			b.WriteString(l)
		}
	}
	return at, column, b.String(), next, true
}

func rustMessageEnds(l string) bool {
	t := strings.TrimSpace(l)
	return strings.HasPrefix(t, "note: ") || strings.HasPrefix(t, "stack backtrace:") || strings.HasPrefix(t, "thread '") ||
		strings.HasPrefix(t, "error: ") || strings.HasPrefix(t, "thread panicked while")
}

// rustMore reports whether a message goes on behind a blank line: its end, a note
// or the backtrace, is near.
func rustMore(lines []string, i int) bool {
	for j := i + 1; j < min(len(lines), i+6); j++ {
		t := strings.TrimSpace(lines[j])
		if strings.HasPrefix(t, "note: run with `RUST_BACKTRACE") || strings.HasPrefix(t, "stack backtrace:") {
			return true
		}
	}
	return false
}

// rustPlaceEnd returns where in text a place that begins it ends.
func rustPlaceEnd(text string) int {
	k := strings.Index(text, ".rs:")
	if k < 0 {
		return 0
	}
	k += len(".rs:")
	k += countDigits(text[k:])
	if k < len(text) && text[k] == ':' {
		if d := countDigits(text[k+1:]); d > 0 {
			k += 1 + d
		}
	}
	return k
}

// rustPlace reads "src/main.rs:4:15"; very old compilers print no column.
func rustPlace(s string) (Frame, string, bool) {
	s = strings.TrimSpace(s)
	// Logs put a full stop or a bracket behind.
	s = strings.TrimRight(s, ".,)")
	k := strings.LastIndexByte(s, ':')
	if k <= 0 || countDigits(s[k+1:]) == 0 || countDigits(s[k+1:]) != len(s[k+1:]) {
		return Frame{}, "", false
	}
	file, last := s[:k], s[k+1:]
	column := ""
	if m := strings.LastIndexByte(file, ':'); m > 0 && countDigits(file[m+1:]) > 0 && countDigits(file[m+1:]) == len(file[m+1:]) {
		column, last, file = last, file[m+1:], file[:m]
	}
	if !strings.HasSuffix(file, ".rs") && !strings.HasSuffix(file, "macros>") {
		return Frame{}, "", false
	}
	line, err := strconv.Atoi(last)
	if err != nil {
		return Frame{}, "", false
	}
	return Frame{File: file, Line: line, Module: rustLocation}, column, true
}
