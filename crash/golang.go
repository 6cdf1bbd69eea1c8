package crash

import (
	"slices"
	"strings"
)

// golang reads what the Go runtime prints when a program ends: panics, fatal
// errors, signals, dumps of all goroutines, races; and the stacks that programs
// log of panics they survived.
func golang() language {
	return language{
		name:      "go",
		begins:    goBegins,
		read:      goRead,
		library:   goLibrary,
		ignore:    goIgnore,
		canonical: goCanonical,
		vague:     goVague,
	}
}

// goHeads are the beginnings of the lines that a failure's output starts with.
// A head that other text stands before is found from the goroutine below it.
var goHeads = []string{
	"panic: ", "fatal error: ", "runtime: ", "goroutine ", "unexpected fault address ",
	"SIGQUIT: quit", "SIGSEGV: segmentation violation", "SIGABRT: abort", "SIGBUS: bus error",
	"WARNING: DATA RACE", "Observed a panic: ", "Recovered from panic: ", "http: panic serving ",
}

// goVague reports the kinds that any value may stand behind.
func goVague(typ string) bool {
	return typ == "panic" || typ == "data race" || typ == "test timed out" || strings.HasPrefix(typ, "errors.")
}

func goBegins(l string) bool {
	if l == "" {
		return false
	}
	switch l[0] {
	case 'p', 'f', 'r', 'g', 'u', 'S', 'W', 'O', 'R', 'h':
		return goHead(l) != ""
	}
	return l[0] >= '1' && l[0] <= '9' && goGrouped(l)
}

func goHead(l string) string {
	for _, h := range goHeads {
		if strings.HasPrefix(l, h) {
			if h == "goroutine " && !goGoroutine(l) {
				return ""
			}
			return h
		}
	}
	return ""
}

// goHeadLines bounds how far below its first line a failure's goroutines may
// begin: a panic's value can have many lines.
const goHeadLines = 100

func goRead(lines []string, i int) (trace, int, bool) {
	head := goHead(lines[i])
	if head == "WARNING: DATA RACE" {
		return goRace(lines, i)
	}
	if head == "runtime: " && !goRuntimeLine(lines[i]) {
		return trace{}, i, false
	}
	stacks := i
	if head != "goroutine " && head != "" {
		stacks = goFindStacks(lines, i)
	}
	f := goFailure{lines: lines, head: i, stacks: stacks, fatal: head != "goroutine " && head != ""}
	switch {
	case strings.HasPrefix(head, "Observed"), strings.HasPrefix(head, "Recovered"), strings.HasPrefix(head, "http"):
		f.fatal = false // the program goes on, or panics again
	case !f.fatal:
		f.lookBack()
	}
	next := f.readStacks()
	if len(f.stack) == 0 && (f.head < i || !f.bare(&next)) {
		return trace{}, i, false
	}
	return f.trace(), next, true
}

// goFindStacks returns the index of the first goroutine's header below a head,
// or where the head's own text ends when there is none.
func goFindStacks(lines []string, i int) int {
	end := min(len(lines), i+1+goHeadLines)
	for j := i + 1; j < end; j++ {
		l := lines[j]
		if goGoroutine(l) || goGrouped(l) {
			return j
		}
		if strings.HasPrefix(l, "panic: ") || strings.HasPrefix(l, "WARNING: DATA RACE") {
			return j // another failure's, with which this one has nothing to do
		}
	}
	return min(len(lines), i+1)
}

// goRuntimeLine tells the runtime's last words from what a program says of its
// own runtime.
func goRuntimeLine(l string) bool {
	return strings.HasPrefix(l, "runtime: goroutine stack exceeds") ||
		strings.HasPrefix(l, "runtime: out of memory") ||
		strings.HasPrefix(l, "runtime: cannot allocate") ||
		strings.HasPrefix(l, "runtime: unexpected return pc") ||
		strings.HasPrefix(l, "runtime: unknown pc")
}

// goGoroutine reports a goroutine's header, as "goroutine 7 [running]:", with
// what newer runtimes and grouping tools put between.
func goGoroutine(l string) bool {
	rest, ok := strings.CutPrefix(l, "goroutine ")
	if !ok {
		return false
	}
	digits := countDigits(rest)
	open := strings.Index(rest, " [")
	return digits > 0 && open >= digits && strings.HasSuffix(strings.TrimRight(rest, " \t"), "]:")
}

// goGrouped reports the header of a group of goroutines that a tool made of a
// dump: "48 goroutines [semacquire, 4 minutes]:" or "3: running [Created by …]".
func goGrouped(l string) bool {
	digits := countDigits(l)
	if digits == 0 {
		return false
	}
	rest := l[digits:]
	if strings.HasPrefix(rest, " goroutines [") || strings.HasPrefix(rest, " goroutine [") {
		return strings.HasSuffix(rest, "]:")
	}
	state, ok := strings.CutPrefix(rest, ": ")
	if !ok {
		return false
	}
	for _, s := range []string{"running", "semacquire", "select", "chan receive", "chan send", "IO wait", "syscall", "sleep"} {
		if t, ok := strings.CutPrefix(state, s); ok && (t == "" || strings.HasPrefix(t, " [")) {
			return true
		}
	}
	return false
}

// goStack is one goroutine of a failure.
type goStack struct {
	header string
	frames []Frame // the innermost first, what created it last
	cut    bool
}

// goFailure is what has been read of one failure.
type goFailure struct {
	lines  []string
	head   int // the line that says what happened
	stacks int // the first goroutine's header
	fatal  bool
	stack  []goStack
}

// lookBack finds what happened when the first line is a goroutine's: a log may
// have put something before "panic: ".
func (f *goFailure) lookBack() {
	for j, seen := f.stacks-1, 0; j >= 0 && seen < 4; j-- {
		l := f.lines[j]
		if strings.TrimSpace(l) == "" {
			continue
		}
		seen++
		for _, h := range []string{"panic: ", "fatal error: ", "panic serving ", "bserved a panic", "panic recovered", "ecovered", "runtime error: "} {
			if found := strings.Contains(l, h); found {
				f.head = j
				f.fatal = h == "panic: " || h == "fatal error: "
				return
			}
		}
	}
}

// goMaxStacks bounds the goroutines kept; the failing one is always among the
// first.
const goMaxStacks = 256

// readStacks reads the goroutines and returns the index behind them, or behind
// the head when there are none.
func (f *goFailure) readStacks() int {
	next := f.head + 1
	for j := f.stacks; j < len(f.lines); {
		l := strings.TrimRight(f.lines[j], " \t")
		if l == "" && len(f.stack) > 0 {
			j++
			continue
		}
		if !goGoroutine(l) && !goGrouped(l) {
			break
		}
		s, n := goReadStack(f.lines, j)
		if len(f.stack) < goMaxStacks && len(s.frames) > 0 {
			f.stack = append(f.stack, s)
		}
		j, next = n, n
	}
	return next
}

// bare reads a panic without a goroutine: its line alone, or the file names
// that a program printed below it. next is moved behind them.
func (f *goFailure) bare(next *int) bool {
	l := f.lines[f.head]
	if !strings.HasPrefix(l, "Observed a panic") && !strings.HasPrefix(l, "Recovered from panic: ") && !strings.HasPrefix(l, "http: panic serving ") && !strings.HasPrefix(l, "panic: ") && !strings.HasPrefix(l, "fatal error: ") && !strings.HasPrefix(l, "unexpected fault") {
		return false
	}
	*next = f.head + 1
	var s goStack
	for j := f.head + 1; j < min(len(f.lines), f.head+goHeadLines); j++ {
		t := strings.TrimPrefix(strings.TrimSpace(f.lines[j]), ": ")
		function, place := goNumbered(t)
		if file, line, ok := goLocation(place); ok && file != "" {
			s.frames = append(s.frames, goMakeFrame(function, file, line))
			*next = j + 1
			continue
		}
		if len(s.frames) > 0 || !(t == "" || strings.HasPrefix(t, "[signal ") || strings.HasPrefix(t, "panic: ") || strings.EqualFold(t, "stack trace:") || strings.Trim(t, ". ") == "") {
			break
		}
	}
	s.cut = len(s.frames) == 0
	f.stack = append(f.stack, s)
	return true
}

// trace makes the failure's trace: what happened, and the goroutine it happened
// in.
func (f *goFailure) trace() trace {
	e := goException(f.lines, f.head, f.stacks)
	s := f.choose(&e)
	e.frames = goBelowPanic(s.frames)
	if e.typ == "stack overflow" {
		e.frames = mostFrequent(e.frames, goLibrary)
	}
	goMarkModules(e.frames, f.stack)
	e.frames = goSkipHelpers(withoutInner(e.frames, func(f Frame) bool { return goLibrary(f) || goIgnore(f) }, func(f Frame) bool { return f.Module == goStd }))
	return trace{chain: []exception{e}, fatal: f.fatal, cut: s.cut && !ownFrames(e.frames, goLibrary, goIgnore), class: goClass(e)}
}

// choose picks the goroutine that failed. The one that a panic happened in is
// printed first; a dump begins with idle ones, and a test's deadline is told by
// a goroutine of the runtime's own.
func (f *goFailure) choose(e *exception) goStack {
	first := f.stack[0]
	if strings.HasPrefix(e.typ, "test timed out") {
		for _, s := range f.stack {
			if goCalls(s.frames, "testing.tRunner") && ownFrames(s.frames, goLibrary, goIgnore) {
				return s
			}
		}
	}
	if strings.Contains(first.header, "[running") && ownFrames(first.frames, goLibrary, goIgnore) {
		return first
	}
	for _, s := range f.stack {
		if ownFrames(s.frames, goLibrary, goIgnore) {
			return s
		}
	}
	return first
}

func goCalls(frames []Frame, function string) bool {
	return slices.ContainsFunc(frames, func(f Frame) bool { return f.Function == function })
}

func goClass(e exception) string {
	switch {
	case strings.HasSuffix(e.typ, "out of memory"):
		return "oom"
	case strings.HasPrefix(e.typ, "fatal error"), e.typ == "stack overflow", e.typ == "fault", e.typ == "concurrent map access", strings.HasPrefix(e.typ, "SIG"):
		return "crash"
	case strings.HasPrefix(e.typ, "test timed out"):
		return "timeout"
	}
	return ""
}
