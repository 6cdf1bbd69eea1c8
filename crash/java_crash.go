package crash

import "strings"

// javaReadCrash reads the banner of a JVM that died itself, on the terminal
// or at the top of hs_err_pid.log.
func javaReadCrash(lines []string, i int) (trace, int, bool) {
	e := exception{}
	t := trace{fatal: true, rank: 1}
	k := i
	for ; k < len(lines) && k < i+30; k++ {
		s := strings.TrimLeft(lines[k], "# \t")
		switch {
		case strings.HasPrefix(s, "There is insufficient memory"), strings.HasPrefix(s, "Out of Memory Error"):
			e.typ, e.message, t.class = "Out of Memory Error", s, "oom"
		case e.typ == "" && (strings.HasPrefix(s, "SIG") || strings.HasPrefix(s, "EXCEPTION_") || strings.HasPrefix(s, "Internal Error")):
			e.typ, _, _ = strings.Cut(s, " (")
			e.message, t.class = s, "crash"
		case strings.HasPrefix(s, "Problematic frame:") && k+1 < len(lines):
			if f, ok := javaNative(strings.TrimLeft(lines[k+1], "# \t")); ok {
				e.frames = []Frame{f}
			}
			k++
		case strings.HasPrefix(s, "If you would like to submit a bug report"):
			k = min(k+4, len(lines))
			t.chain = []exception{e}
			return t, k, e.typ != ""
		}
	}
	t.chain = []exception{e}
	return t, min(k, i+8), e.typ != ""
}

// javaNative reads a problematic frame: "C  [libfoo.so+0x12]  Java_f+0x3",
// "V  [libjvm.so+0x99]", "J 12 C2 pkg.Class.m(I)V (9 bytes) @ 0x…",
// "j  pkg.Class.m()V+3".
func javaNative(s string) (Frame, bool) {
	kind, rest, ok := strings.Cut(s, " ")
	if !ok {
		return Frame{}, false
	}
	rest = strings.TrimSpace(rest)
	switch kind {
	case "C", "V":
		if !strings.HasPrefix(rest, "[") {
			return Frame{}, false
		}
		place, function, _ := strings.Cut(rest[1:], "]")
		binary, offset, _ := strings.Cut(place, "+0x")
		function, _, _ = strings.Cut(strings.TrimSpace(function), "+0x")
		if function != "" {
			offset = ""
		} else {
			function = unextracted(binary)
		}
		return Frame{File: binary, Function: strings.ReplaceAll(function, "$", "_"), offset: offset}, true
	case "j", "J":
		end := strings.IndexByte(rest, '(')
		if end < 0 {
			return Frame{}, false
		}
		name := rest[strings.LastIndexByte(rest[:end], ' ')+1 : end]
		return Frame{Function: name}, true
	}
	return Frame{}, false
}

// javaReadSpring reads the report of Spring Boot's failure analysers, which
// replaces the stack.
func javaReadSpring(lines []string, i int) (trace, int, bool) {
	for k := i + 1; k < len(lines) && k < i+12; k++ {
		if strings.TrimSpace(lines[k]) != "Description:" {
			continue
		}
		text, next := paragraph(lines, k+1)
		e := exception{typ: "APPLICATION FAILED TO START", message: text}
		return trace{chain: []exception{e}, fatal: true}, next, text != ""
	}
	return trace{}, 0, false
}

// paragraph is the next run of lines that are not blank.
func paragraph(lines []string, i int) (text string, next int) {
	for i < len(lines) && strings.TrimSpace(lines[i]) == "" {
		i++
	}
	from := i
	for i < len(lines) && i < from+12 && strings.TrimSpace(lines[i]) != "" {
		i++
	}
	return joined("", lines[from:i]), i
}
