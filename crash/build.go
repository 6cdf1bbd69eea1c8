package crash

import "strings"

// build reads what compilers print: the first error of a run counts, those
// behind it follow from it.
func build() language {
	return language{
		name:    "build",
		begins:  buildBegins,
		signs:   []string{"rror", "undefined reference"},
		read:    buildRead,
		library: func(Frame) bool { return false },
		vague:   func(string) bool { return true },
	}
}

func buildBegins(l string) bool {
	return l != "" && l[0] != ' ' && (strings.Contains(l, "rror") || strings.Contains(l, ": undefined reference to "))
}

// buildGap is how many other lines (the source, carets, notes) may stand
// between two errors of one run.
const buildGap = 24

func buildRead(lines []string, i int) (trace, int, bool) {
	e, ok := parseBuild(lines, i)
	if !ok {
		return trace{}, i, false
	}
	next := i + 1
	for j, gap := next, 0; j < len(lines) && gap < buildGap; j++ {
		gap++
		if buildBegins(lines[j]) {
			if _, ok := parseBuild(lines, j); ok {
				next, gap = j+1, 0
			}
		}
	}
	return trace{chain: []exception{e}, rank: rankBuild}, next, true
}

// parseBuild reads "a.c:1:2: error: message", "A.cs(1,2): error CS0103:
// message", "a.ts:1:2 - error TS2304: message" and rustc's "error[E0308]:
// message" with its place in the next line.
func parseBuild(lines []string, i int) (exception, bool) {
	l := lines[i]
	if place, symbol, ok := strings.Cut(l, ": undefined reference to "); ok {
		place = place[strings.LastIndexByte(place, ' ')+1:]
		place, _, _ = strings.Cut(place, ":(") // the section, without debug information
		frame, ok := placeBefore(place + ":")
		if !ok {
			frame = Frame{File: place}
		}
		symbol = strings.Trim(symbol, "`'\"")
		return exception{typ: "undefined reference", code: symbol, message: "undefined reference to " + symbol, frames: []Frame{frame}}, true
	}
	at := strings.Index(l, "error")
	if at < 0 {
		return exception{}, false
	}
	typ, msg, ok := strings.Cut(l[at:], ": ")
	if !ok || len(typ) > 24 || strings.Contains(typ, "errors") {
		return exception{}, false
	}
	before := strings.TrimSuffix(strings.TrimSuffix(l[:at], "fatal "), "internal compiler ")
	if before == "" {
		if i+1 >= len(lines) {
			return exception{}, false
		}
		place, ok := strings.CutPrefix(strings.TrimSpace(lines[i+1]), "--> ")
		if !ok {
			return exception{}, false
		}
		before = place + ": "
	}
	frame, ok := placeBefore(before)
	if !ok {
		return exception{}, false
	}
	return exception{typ: typ, code: fold(msg), message: msg, frames: []Frame{frame}}, true
}

// placeBefore reads "file:12:3: ", "file(12,3): " and "file:12:3 - ".
func placeBefore(s string) (Frame, bool) {
	s = strings.TrimRight(s, " :-")
	if open := strings.LastIndexByte(s, '('); open > 0 && strings.HasSuffix(s, ")") {
		n := countDigits(s[open+1:])
		return Frame{File: strings.TrimSpace(s[:open]), Line: atoi(s[open+1 : open+1+n])}, n > 0
	}
	var numbers []string
	for len(numbers) < 2 {
		colon := strings.LastIndexByte(s, ':')
		if colon <= 0 || colon+1 == len(s) || countDigits(s[colon+1:]) != len(s)-colon-1 {
			break
		}
		numbers = append(numbers, s[colon+1:])
		s = s[:colon]
	}
	if len(numbers) == 0 || strings.ContainsAny(s, " \t") {
		return Frame{}, false
	}
	return Frame{File: s, Line: atoi(numbers[len(numbers)-1])}, true
}

// makefile reads make's own last words. They only tell that a command failed,
// so anything else that was read comes first.
func makefile() language {
	return language{
		name:    "make",
		begins:  func(l string) bool { return len(l) > 8 && strings.Contains(l, ": *** ") },
		signs:   []string{": *** "},
		read:    makeRead,
		library: func(Frame) bool { return false },
		vague:   func(string) bool { return true },
	}
}

// makeRead reads "make[1]: *** [Makefile:12: all] Error 2" and "Makefile:12:
// *** missing separator.  Stop."; the first of nested makes counts.
func makeRead(lines []string, i int) (trace, int, bool) {
	who, said, ok := strings.Cut(lines[i], ": *** ")
	if !ok || strings.ContainsAny(who, " \t") {
		return trace{}, i, false
	}
	e := exception{typ: "make", message: said}
	if file, line, ok := strings.Cut(who, ":"); ok && countDigits(line) == len(line) {
		e.frames = []Frame{{File: file, Line: atoi(line)}}
		e.code = fold(said)
	} else if target, _, ok := strings.Cut(strings.TrimPrefix(said, "["), "]"); ok && said[0] == '[' {
		e.frames = []Frame{makeFrame(target)}
	} else {
		e.code = fold(said)
	}
	next := i + 1
	for next < len(lines) && strings.Contains(lines[next], ": *** ") {
		next++
	}
	return trace{chain: []exception{e}, rank: rankMake}, next, true
}

// makeFrame reads what stands in the brackets: "Makefile:12: all" or "all".
func makeFrame(s string) Frame {
	file, rest, ok := strings.Cut(s, ":")
	line, target, ok2 := strings.Cut(rest, ": ")
	if !ok || !ok2 || countDigits(line) != len(line) {
		return Frame{Function: s}
	}
	return Frame{File: file, Line: atoi(line), Function: target}
}
