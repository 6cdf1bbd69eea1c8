package crash

import "strings"

const (
	erlBack  = 25       // lines from the first frame of a term back to its reason
	erlAhead = 80       // lines that a term may go on for
	erlTerm  = 16 << 10 // bytes of a term that are read
)

// erlRead reads a reason of Erlang's with its stack.
func erlRead(lines []string, i int) (trace, int, bool) {
	var e exception
	next := i + 1
	ok := false
	switch {
	case strings.Contains(lines[i], "[{file,"), strings.HasPrefix(lines[i], "** Reason"):
		e, next, ok = erlTermStack(lines, i)
	case strings.Contains(lines[i], " with reason: "):
		e, ok = erlLager(lines[i])
	default:
		e, next, ok = erlShell(lines, i)
	}
	if !ok {
		return trace{}, i, false
	}
	if e.code == "" {
		e.code = exCode(e.message)
	}
	e.frames = withoutInner(e.frames, exLibrary, exOTP)
	return trace{chain: []exception{e}, fatal: true, class: exClass(e)}, next, true
}

// erlCall reads the shell's "in function  m:f/2 (src/m.erl, line 3)".
func erlCall(l string) (c struct {
	Frame
	ok bool
},
) {
	s := strings.TrimLeft(l, " \t|")
	for _, p := range []string{"in function ", "in call from "} {
		rest, is := strings.CutPrefix(s, p)
		if !is {
			continue
		}
		fn, place, _ := strings.Cut(strings.TrimLeft(rest, " "), " (")
		c.Function = fn
		file, line, is := strings.Cut(strings.TrimSuffix(place, ")"), ", line ")
		if is {
			c.File = file
			c.Line, _, _ = leadingNumber(line)
		}
		c.ok = strings.Contains(fn, ":") || strings.Contains(fn, "/")
		return c
	}
	return c
}

// erlShell reads "** exception error: no match of right hand side value x" and
// the calls below, of the shell and of escript.
func erlShell(lines []string, i int) (e exception, next int, ok bool) {
	start := i
	if erlCall(lines[i]).ok {
		for start > 0 && i-start < 10 && !strings.Contains(lines[start], "exception ") {
			start--
		}
	}
	_, text, said := strings.Cut(lines[start], "exception ")
	if said {
		_, e.message, _ = strings.Cut(text, ": ")
		e.typ = erlSpoken(e.message)
	}
	next = i + 1
	for k, other := i, 0; k < len(lines) && other < 12; k++ {
		c := erlCall(lines[k])
		if !c.ok {
			other++
			continue
		}
		e.frames = append(e.frames, c.Frame)
		next, other = k+1, 0
	}
	return e, next, said && (len(e.frames) > 0 || strings.HasPrefix(strings.TrimSpace(lines[start]), "** exception")) || len(e.frames) > 1
}

// erlSpoken returns the reason that a sentence of the shell stands for.
func erlSpoken(msg string) string {
	for _, s := range erlSentences {
		if strings.HasPrefix(msg, s[0]) {
			return s[1]
		}
	}
	return erlAtom(msg)
}

var erlSentences = [][2]string{
	{"bad argument", "badarg"},
	{"no match of right hand", "badmatch"},
	{"no function clause matching", "function_clause"},
	{"undefined function", "undef"},
	{"call to undefined function", "undef"},
	{"no case clause matching", "case_clause"},
	{"an error occurred when evaluating an arithmetic", "badarith"},
	{"bad key", "badkey"},
	{"bad map", "badmap"},
	{"bad function", "badfun"},
	{"no true branch found", "if_clause"},
	{"no try clause matching", "try_clause"},
	{"a system limit", "system_limit"},
	{"interpreted function with arity", "badarity"},
}

// erlAtom returns the atom that a term begins with: badmatch of {badmatch,x}.
func erlAtom(s string) string {
	s = strings.TrimLeft(s, "{[( *'\"")
	end := 0
	for end < len(s) && isIdentByte(s[end]) {
		end++
	}
	return s[:end]
}

// erlReported reports Lager's one-line reports of processes.
func erlReported(l string) bool {
	return strings.Contains(l, " crashed with reason: ") && strings.Contains(l, " line ") ||
		strings.Contains(l, "CRASH REPORT Process ") || strings.Contains(l, "gen_server ") && strings.Contains(l, " terminated with reason: ")
}

// erlLager reads "… crashed with reason: bad argument in m:f/2 line 3", and
// what terminates for a reason without a place.
func erlLager(l string) (e exception, ok bool) {
	_, msg, _ := strings.Cut(l, " with reason: ")
	e.message = msg
	e.typ = erlSpoken(msg)
	at := strings.LastIndex(msg, " in ")
	if at < 0 {
		return e, e.typ != ""
	}
	fn, line, ok := strings.Cut(msg[at+len(" in "):], " line ")
	if !ok || !strings.Contains(fn, ":") {
		return e, e.typ != ""
	}
	n, _, ok := leadingNumber(line)
	mod, _, _ := strings.Cut(fn, ":")
	e.message = msg[:at]
	e.frames = []Frame{{File: mod + ".erl", Line: n, Function: fn}}
	return e, ok
}

// erlTermStack reads {Reason,[{m,f,a,[{file,"m.erl"},{line,3}]},…]}, which may
// be broken into any number of lines.
func erlTermStack(lines []string, i int) (e exception, next int, ok bool) {
	start := i
	if strings.HasPrefix(lines[i], "** Reason") && i+1 < len(lines) {
		i++
	}
	for start > 0 && i-start < erlBack && !erlReason(lines[start]) && strings.TrimSpace(lines[start-1]) != "" {
		start--
	}
	var b strings.Builder
	next = i + 1
	for k := start; k < len(lines) && k-start < erlAhead && b.Len() < erlTerm; k++ {
		l := strings.TrimSpace(lines[k])
		if k > i && (l == "" && b.Len() > 0 || erlReason(lines[k]) || strings.HasPrefix(l, "** ") || exHead(l).ok) {
			break
		}
		b.WriteString(l)
		next = max(next, k+1)
	}
	term := b.String()
	first := strings.Index(term, "[{file,")
	if first < 0 {
		return erlBare(term, next)
	}
	if at := erlReasonAt(term); at >= 0 && at < first {
		term, first = term[at:], first-at
	}
	e.message = term[:min(first, 300)]
	e.typ = erlAtom(term)
	for rest, from := term, 0; ; {
		at := strings.Index(rest[from:], "[{file,")
		if at < 0 {
			break
		}
		at += from
		if f, ok := erlFrame(rest, at); ok {
			e.frames = append(e.frames, f)
		}
		from = at + 1
	}
	return e, next, len(e.frames) > 0
}

// erlBare reads the stacks of releases before R15, which name no files:
// {badarg,[{m,f,2},{m2,g,0}]}.
func erlBare(term string, next int) (e exception, _ int, ok bool) {
	if at := erlReasonAt(term); at >= 0 {
		term = term[at:]
	}
	e.typ, e.message = erlAtom(term), term[:min(len(term), 300)]
	for rest := term; ; {
		at := strings.IndexByte(rest, '{')
		if at < 0 {
			break
		}
		rest = rest[at+1:]
		m, tail, ok := strings.Cut(rest, ",")
		f, tail, more := strings.Cut(tail, ",")
		n, tail, digits := leadingNumber(strings.TrimSpace(tail))
		if ok && more && digits && n < 256 && strings.HasPrefix(tail, "}") && erlAtom(m) == m && erlAtom(f) == strings.TrimSpace(f) && m != "" {
			e.frames = append(e.frames, Frame{File: m + ".erl", Function: m + ":" + strings.TrimSpace(f)})
		}
	}
	return e, next, len(e.frames) > 0
}

func erlReason(l string) bool { return erlReasonAt(l) >= 0 }

// erlReasonAt returns where a reason begins in a report.
func erlReasonAt(l string) int {
	for _, s := range []string{"exception error: ", "exception exit: ", "exit value: ", "exit value:", "Reason for termination ==", "Reason for termination =", "reason: ", "Reason: ", "{reason,", "exception: ", "do_boot (", `do_boot",`} {
		if at := strings.Index(l, s); at >= 0 {
			return at + len(s)
		}
	}
	s := strings.TrimSpace(l)
	if strings.HasPrefix(s, "** {") || strings.HasPrefix(s, "exited: {") {
		return strings.Index(l, "{")
	}
	return -1
}

// erlFrame reads the frame whose place begins at s[at]: {m,f,2,[{file,"m.erl"},{line,3}]}.
func erlFrame(s string, at int) (f Frame, ok bool) {
	place := s[at+len("[{file,"):]
	if !strings.HasPrefix(place, `"`) && !strings.HasPrefix(place, `\"`) {
		return f, false
	}
	file, rest, ok := strings.Cut(strings.TrimLeft(place, `\"`), `"`)
	if !ok {
		return f, false
	}
	f.File = strings.TrimRight(file, `\`)
	if line, is := between(rest[:min(len(rest), 40)], "{line,", "}"); is {
		f.Line, _, _ = leadingNumber(strings.TrimSpace(line))
	}
	depth := 0
	for k := at - 1; k >= 0 && at-k < 2048; k-- {
		switch s[k] {
		case ']', '}', ')':
			depth++
		case '[', '(':
			depth--
		case '{':
			if depth--; depth < 0 {
				m, rest, _ := strings.Cut(s[k+1:at], ",")
				fn, _, _ := strings.Cut(rest, ",")
				f.Function = strings.TrimSpace(m) + ":" + strings.TrimSpace(fn)
				return f, true
			}
		}
	}
	return f, true
}
