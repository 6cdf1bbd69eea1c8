package crash

import "strings"

// undefined names what UndefinedBehaviorSanitizer finds, before what it is.
const undefined = "UndefinedBehaviorSanitizer"

// undefinedPlace marks, as its Module, the frame that the finding's own line
// names. Its column tells findings of one file apart: a function is only known
// where a stack was asked for.
const undefinedPlace = "found at"

// undefinedRead reads "file:line:column: runtime error: …" with the stack that
// may follow. The program goes on unless told not to, so it is not fatal.
func undefinedRead(lines []string, i int) (trace, int, bool) {
	before, finding, _ := strings.Cut(lines[i], ": runtime error: ")
	// Something may stand before the place: a test's number, output without
	// an end of line.
	if k := strings.LastIndexByte(before, ' '); k >= 0 && !strings.Contains(before[k:], `\`) {
		before = before[k+1:]
	}
	f, column := Frame{}, ""
	if k := strings.LastIndexByte(before, ':'); k > 0 && countDigits(before[k+1:]) == len(before)-k-1 {
		column = before[k+1:]
	}
	file, line, ok := cPlace(before)
	if before == "<unknown>" || strings.HasPrefix(before, "(/") {
		f.Module, _, _ = strings.Cut(strings.Trim(before, "()"), "+0x")
	} else if f.File, f.Line = file, line; !ok || line == 0 || !cSource(file) {
		return trace{}, i, false
	}
	if strings.Count(before, ":") < 2 {
		column = ""
	}
	next := i + 1
	for next < len(lines) && next < i+6 && strings.HasPrefix(lines[next], "0x") || next < len(lines) && undefinedDump(lines[next]) {
		next++ // the bytes there
	}
	if next+1 < len(lines) && lines[next] == "" && strings.HasPrefix(lines[next+1], "#0 ") {
		next++
	}
	frames, next := sanitizerStack(lines, next)
	kind := undefinedKind(finding)
	e := exception{typ: undefined + ": " + kind, message: finding, code: undefinedSkeleton(finding)}
	if f.Function = undefinedFunction(frames, f); f.File != "" {
		f.Module, e.code = undefinedPlace, e.code+" "+column
	}
	e.frames = append([]Frame{f}, frames...)
	t := trace{chain: []exception{e}, rank: 1}
	for next < len(lines) && next < i+200 && lines[next] == "" {
		next++
	}
	if next < len(lines) && strings.Contains(lines[next], "SUMMARY: UndefinedBehaviorSanitizer") {
		next++
	}
	if next < len(lines) && strings.Contains(lines[next], "==ABORTING") {
		t.fatal = true
		next++
	}
	return t, undefinedSkip(lines, next), true
}

// undefinedSkip passes over findings that follow at once: the first is where it
// began, the others often come of it.
func undefinedSkip(lines []string, i int) int {
	for i < len(lines) {
		l := lines[i]
		if !strings.Contains(l, ": runtime error: ") && !strings.Contains(l, "SUMMARY: "+undefined) && !undefinedDump(l) && !strings.HasPrefix(l, "0x") {
			return i
		}
		i++
	}
	return i
}

// undefinedDump reports a line of the memory that a finding is followed by.
func undefinedDump(l string) bool {
	t := strings.TrimSpace(l)
	return t == "^" || strings.HasPrefix(t, "^~") || strings.HasPrefix(t, "<memory cannot be printed>") ||
		strings.HasPrefix(l, " ") && len(t) > 5 && t[2] == ' ' && isLowerHex(t[:2]) && isLowerHex(t[3:5])
}

// undefinedFunction finds the function of a finding's place in its stack.
func undefinedFunction(frames []Frame, at Frame) string {
	for _, f := range frames {
		if f.Line == at.Line && cCanonical(f).File == cCanonical(at).File {
			return f.Function
		}
	}
	return ""
}

// undefinedKinds name the findings by a part of their wording.
var undefinedKinds = []string{
	"signed integer overflow", "unsigned integer overflow", "negation of", "division by zero", "out of bounds for type", "shift exponent", "left shift of", "null pointer", "misaligned address",
	"which is not a valid value for type", "outside the range of representable values", "implicit conversion", "pointer overflow", "pointer index expression", "applying non-zero offset", "applying zero offset",
	"insufficient space for an object", "does not point to an object of type", "through pointer to incorrect function type", "unreachable", "variable length array", "reached the end of a value-returning function", "passing zero to", "execution reached", "subtraction of", "addition of",
}

func undefinedKind(finding string) string {
	for _, k := range undefinedKinds {
		if strings.Contains(finding, k) {
			return strings.TrimSuffix(k, " of")
		}
	}
	return "undefined behavior"
}

// undefinedSkeleton drops a finding's values and keeps its operators and types.
func undefinedSkeleton(finding string) string {
	finding, _, _ = strings.Cut(finding, ";")
	var b strings.Builder
	for w := range strings.FieldsSeq(finding) {
		bare := strings.Trim(w, ",:()")
		switch {
		case strings.HasPrefix(bare, "(aka"):
			continue
		case strings.ContainsAny(bare, "0123456789") && !strings.Contains(bare, "'") && !strings.Contains(bare, "["):
			bare = "N"
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(bare)
		if b.Len() > discriminatorBytes {
			break
		}
	}
	return b.String()
}
