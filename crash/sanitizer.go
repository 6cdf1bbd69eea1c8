package crash

import "strings"

// sanitizerSigns are made once: the table is made for each output.
var sanitizerSigns = []string{"Sanitizer", "libFuzzer: ", "untime error: ", "==ERROR: "}

// sanitizer reads the reports of the compilers' sanitizers, LLVM's and GCC's,
// and of libFuzzer.
func sanitizer() language {
	return language{
		name:      "sanitizer",
		begins:    sanitizerBegins,
		signs:     sanitizerSigns,
		starts:    " \t#",
		read:      sanitizerRead,
		library:   cLibrary,
		ignore:    cIgnore,
		canonical: cCanonical,
		vague:     func(string) bool { return true },
	}
}

func sanitizerBegins(l string) bool {
	if len(l) < 16 {
		return false
	}
	switch l[0] {
	case '=', 'E', 'W', 'S', 'A':
		if strings.Contains(l, "Sanitizer:") || strings.Contains(l, "Sanitizer CHECK") || strings.Contains(l, "ERROR: libFuzzer: ") {
			return true
		}
	case ' ', '#':
		if t := strings.TrimLeft(l, " \t"); len(t) > 4 && t[0] == '#' && t[1] >= '0' && t[1] <= '9' {
			return strings.Contains(t[:min(len(t), 8)], " 0x")
		}
	}
	// Both may be glued to what the program printed last.
	return strings.Contains(l, "untime error: ") && strings.Contains(l, ": runtime error: ") || strings.Contains(l, "==ERROR: ")
}

// sanitizerLines bounds how far one report reaches.
const sanitizerLines = 4000

func sanitizerRead(lines []string, i int) (trace, int, bool) {
	l := lines[i]
	switch {
	case strings.Contains(l, ": runtime error: "):
		return undefinedRead(lines, i)
	case strings.HasPrefix(l, "SUMMARY: "):
		e, ok := sanitizerSummary(l)
		if !ok {
			return trace{}, i, false
		}
		t := trace{chain: []exception{e}, fatal: e.typ != undefined, rank: 1, cut: true, class: sanitizerClass(e.typ)}
		if !t.fatal {
			t.rank = 0 // the finding itself says more
		}
		return t, i + 1, true
	case strings.Contains(l, "Sanitizer:DEADLYSIGNAL"):
		return trace{}, i, false // the report follows
	}
	tool, finding, ok := sanitizerHead(l)
	if !ok {
		if strings.HasPrefix(strings.TrimLeft(l, " \t"), "#") {
			return sanitizerTail(lines, i)
		}
		return trace{}, i, false
	}
	return sanitizerReport(lines, i, tool, finding)
}

// sanitizerHead reads "==1==ERROR: AddressSanitizer: heap-use-after-free on …".
func sanitizerHead(l string) (tool, finding string, ok bool) {
	for _, tool := range []string{"AddressSanitizer", "ThreadSanitizer", "MemorySanitizer", "LeakSanitizer", "HWAddressSanitizer", "UndefinedBehaviorSanitizer", "libFuzzer"} {
		k := strings.Index(l, tool+": ")
		if k < 0 {
			if k = strings.Index(l, tool+" CHECK failed: "); k >= 0 {
				return tool, "CHECK failed", true
			}
			continue
		}
		before := l[:k]
		if strings.HasSuffix(before, "ERROR: ") || strings.HasSuffix(before, "WARNING: ") || before == "" {
			return tool, l[k+len(tool)+2:], true
		}
	}
	return "", "", false
}

// sanitizerFindings brings the wordings of heads and summaries together.
var sanitizerFindings = []struct{ has, name string }{
	{"attempting double-free", "double-free"},
	{"attempting free on address which was not malloc", "bad-free"},
	{"attempting to call malloc_usable_size", "bad-malloc_usable_size"},
	{"attempting free in HWA", "bad-free"},
	{"SEGV on", "SEGV"},
	{"FPE on", "FPE"},
	{"BUS on", "BUS"},
	{"ILL on", "ILL"},
	{"ABRT on", "ABRT"},
	{"TRAP on", "TRAP"},
	{"detected memory leaks", "memory leak"},
	{"byte(s) leaked", "memory leak"},
	{"requested allocation size", "allocation-size-too-big"},
	{"failed to allocate", "out-of-memory"},
	{"allocator is out of memory", "out-of-memory"},
	{"new-delete-type-mismatch", "new-delete-type-mismatch"},
	{"alloc-dealloc-mismatch", "alloc-dealloc-mismatch"},
	{"-param-overlap", "param-overlap"},
	{"deadly signal", "deadly signal"},
	{"out-of-memory", "out-of-memory"},
	{"timeout after", "timeout"},
	{"tag-mismatch", "tag-mismatch"},
	{"data race on vptr", "data race on vptr"},
	{"data race", "data race"},
	{"lock-order-inversion", "lock-order-inversion"},
	{"heap-use-after-free (race", "heap-use-after-free"},
	{"thread leak", "thread leak"},
	{"calloc parameters overflow", "calloc-overflow"},
	{"stack-overflow", "stack-overflow"},
}

func sanitizerFinding(text string) string {
	for _, f := range sanitizerFindings {
		if strings.Contains(text[:min(len(text), 120)], f.has) {
			return f.name
		}
	}
	name, _, _ := strings.Cut(text, " ")
	return strings.Trim(name, ":,")
}

// sanitizerReport reads what is below a head: how memory was accessed, and the
// stack of the fault, which is the first. Those of the allocation, the free and
// the other threads follow and only mark where the report ends.
func sanitizerReport(lines []string, i int, tool, finding string) (trace, int, bool) {
	e := exception{typ: tool + ": " + sanitizerFinding(finding), message: finding}
	summary := exception{}
	var stacks [][]Frame
	access, next := "", i+1
	for j := i + 1; j < min(len(lines), i+sanitizerLines); {
		l := lines[j]
		if frames, n := sanitizerStack(lines, j); n > j {
			stacks = append(stacks, frames)
			j, next = n, n
			continue
		}
		switch {
		case strings.HasPrefix(l, "SUMMARY: "):
			summary, _ = sanitizerSummary(l)
			next = j + 1
		case strings.Contains(l, "==ABORTING"), strings.Contains(l, "==HINT: "):
			next = j + 1
		case access == "" && len(stacks) == 0:
			access = sanitizerAccess(l)
		default:
			if _, _, other := sanitizerHead(l); other || strings.Contains(l, ": runtime error: ") {
				j = len(lines) // the next report
			}
		}
		j++
	}
	t := trace{fatal: sanitizerFatal(tool), rank: 1, class: sanitizerClass(e.typ)}
	switch {
	case tool == "ThreadSanitizer" && len(stacks) > 1:
		e.frames, e.code = racePair(stacks[0], stacks[1])
	case len(stacks) > 0:
		access, size, _ := strings.Cut(access, " of size ")
		if sanitizerIntercepted(size, stacks[0]) {
			stacks[0] = stacks[0][1:]
		}
		e.frames, t.cut = stacks[0], cUnnamed(stacks[0])
		e.code = sanitizerCode(sanitizerSized(access, size), stacks[0])
	default:
		e.frames, t.cut = summary.frames, true
	}
	if strings.HasSuffix(e.typ, "stack-overflow") {
		e.frames, e.code = mostFrequent(e.frames, cLibrary), ""
	}
	t.chain = []exception{e}
	return t, next, true
}

func sanitizerFatal(tool string) bool {
	return tool != "UndefinedBehaviorSanitizer" && tool != "ThreadSanitizer"
}

func sanitizerClass(typ string) string {
	switch {
	case strings.HasSuffix(typ, "out-of-memory"), strings.HasSuffix(typ, "allocation-size-too-big"):
		return "oom"
	case typ == "libFuzzer: timeout":
		return "timeout"
	}
	if strings.HasPrefix(typ, undefined) || strings.HasPrefix(typ, "ThreadS") || strings.HasPrefix(typ, "LeakS") {
		return ""
	}
	return "crash"
}

// sanitizerAccess reads "READ of size 4".
func sanitizerAccess(l string) string {
	for _, a := range []string{"READ", "WRITE", "ACCESS"} {
		if rest, ok := strings.CutPrefix(l, a+" of size "); ok {
			return a + " of size " + rest[:countDigits(rest)]
		}
	}
	return ""
}

// sanitizerSized joins an access with its size while that is small: then it is
// the type's or the format's, and two places in one function rarely agree in
// it. A large one is the data's.
func sanitizerSized(access, size string) string {
	if n := atoi(size); n == 0 || n > 32 {
		return access
	}
	return access + " " + size
}

// sanitizerIntercepted reports that the innermost frame, which has no name, is
// the sanitizer's: no machine accesses so many bytes by itself.
func sanitizerIntercepted(size string, frames []Frame) bool {
	switch size {
	case "", "1", "2", "4", "8", "16", "32", "64":
		return false
	}
	return len(frames) > 1 && frames[0].File == "" && cOffset(frames[0].Function) && !cLibrary(frames[1])
}

// sanitizerCode tells findings of one function apart: whether it read or wrote,
// and by which function of the C library.
func sanitizerCode(access string, frames []Frame) string {
	called := ""
	for _, f := range frames {
		if f.Function == "" || strings.HasPrefix(f.Function, "+0x") || !cIgnore(f) {
			break
		}
		name := cBareName(f.Function)
		for _, p := range []string{"___interceptor_", "__interceptor_", "wrap_", "__asan_", "__sanitizer_", "__", "_"} {
			name = strings.TrimPrefix(name, p)
		}
		if strings.Contains(name, "::") { // the sanitizer's own
			continue
		}
		called = strings.TrimSuffix(name, "_chk")
	}
	switch called {
	case "strcpy", "strncpy", "stpcpy", "memcpy", "memmove", "bcopy":
		called = "copy" // compilers replace one by another
	}
	return strings.TrimSpace(access + " " + called)
}

// sanitizerStack reads a run of numbered frames and returns the index behind it.
func sanitizerStack(lines []string, i int) ([]Frame, int) {
	var frames []Frame
	j := i
	for ; j < len(lines); j++ {
		t := strings.TrimLeft(lines[j], " \t")
		if len(t) < 2 || t[0] != '#' || t[1] < '0' || t[1] > '9' {
			break
		}
		if j > i && strings.HasPrefix(t, "#0 ") {
			break // stacks without a line between
		}
		f, ok := cNumbered(t[1:])
		if !ok {
			f, ok = cPlainNumbered(t)
		}
		if !ok {
			break
		}
		if len(frames) < cMaxFrames {
			frames = append(frames, f)
		}
	}
	return frames, j
}

// cPlainNumbered reads a frame that lacks its address, as ThreadSanitizer's
// "#0 step /src/step.c:12 (solve+0x12)".
func cPlainNumbered(t string) (Frame, bool) {
	_, rest, ok := strings.Cut(t, " ")
	rest = strings.TrimSpace(rest)
	if !ok || rest == "" {
		return Frame{}, false
	}
	if open := strings.LastIndex(rest, " ("); open > 0 && strings.Contains(rest[open:], "+0x") {
		f := cSymbolizer(rest[:open])
		if f.File != "" {
			return f, true
		}
		if name, found := strings.CutSuffix(rest[:open], " <null>"); found {
			return cSymbolizer(name + rest[open:]), true
		}
	}
	f := cSymbolizer(rest)
	f.Function = strings.TrimSuffix(f.Function, " at")
	return f, f.File != "" || f.Module != ""
}

// racePair returns the stack whose place sorts first and the other's place:
// which of two threads came second is chance.
func racePair(a, b []Frame) ([]Frame, string) {
	pa, pb := cOwnPlace(a), cOwnPlace(b)
	if pb != "" && pb < pa {
		a, pb = b, pa
	}
	return a, pb
}

func cOwnPlace(frames []Frame) string {
	for _, f := range frames {
		if !cLibrary(f) {
			c := cCanonical(f)
			return c.File + " " + c.Function + c.Module
		}
	}
	return ""
}

// sanitizerSummary reads the last line of a report, in both compilers' wordings.
func sanitizerSummary(l string) (exception, bool) {
	rest := strings.TrimPrefix(l, "SUMMARY: ")
	tool, rest, ok := strings.Cut(rest, ": ")
	if !ok || !strings.HasSuffix(tool, "Sanitizer") && tool != "libFuzzer" {
		return exception{}, false
	}
	e := exception{typ: tool + ": " + sanitizerFinding(rest), message: rest}
	if tool == "UndefinedBehaviorSanitizer" {
		e.typ = undefined
	}
	_, place, ok := strings.Cut(rest, " ")
	if !ok || strings.HasPrefix(place, "??") || strings.Contains(rest, " leaked in ") {
		return e, true
	}
	place, function, _ := strings.Cut(place, " in ")
	f := Frame{Function: function}
	if inner, found := strings.CutPrefix(place, "("); found {
		f.Module, _, _ = strings.Cut(strings.TrimSuffix(inner, ")"), "+0x")
	} else {
		if k := strings.LastIndexByte(place, ' '); k > 0 && function == "" { // GCC
			place, f.Function = place[:k], place[k+1:]
		}
		f.File, f.Line, _ = cPlace(place)
	}
	e.frames = []Frame{f}
	return e, true
}

// sanitizerTail reads the end of a report whose head was lost: a stack, then the
// summary, which alone says what was found.
func sanitizerTail(lines []string, i int) (trace, int, bool) {
	frames, j := sanitizerStack(lines, i)
	if len(frames) < 2 {
		return trace{}, i, false
	}
	for end := min(len(lines), j+200); j < end; {
		if _, n := sanitizerStack(lines, j); n > j {
			j = n
			continue
		}
		l := lines[j]
		if _, _, head := sanitizerHead(l); head {
			break
		}
		if j++; !strings.HasPrefix(l, "SUMMARY: ") {
			continue
		}
		e, ok := sanitizerSummary(l)
		if !ok {
			break
		}
		if len(e.frames) == 0 || cLibrary(e.frames[0]) {
			e.frames = append(frames, e.frames...)
		}
		if strings.HasSuffix(e.typ, "stack-overflow") {
			e.frames = mostFrequent(e.frames, cLibrary)
		}
		return trace{chain: []exception{e}, fatal: e.typ != undefined, rank: 1, cut: true, class: sanitizerClass(e.typ)}, j, true
	}
	return trace{}, i, false
}
