package crash

import (
	"slices"
	"strconv"
	"strings"
)

const (
	exGap  = 60 // lines of a message: blamed clauses, state, inspected terms
	exDeep = 12 // exits and exceptions within each other
)

// exTitle is a line "** (Type) message".
type exTitle struct {
	exception
	ok     bool
	indent int
}

func exHead(l string) exTitle {
	_, after, ok0 := strings.Cut(l, "** (")
	if !ok0 {
		return exTitle{}
	}
	typ, msg, ok := strings.Cut(after, ")")
	if !ok || typ == "" || len(typ) > 120 || msg != "" && msg[0] != ' ' {
		return exTitle{}
	}
	if c := typ[0]; !(c >= 'A' && c <= 'Z' || listed(" exit stop throw error nocatch ", typ) || strings.HasPrefix(typ, "exit")) {
		return exTitle{}
	}
	t := exTitle{exception: exception{typ: typ, message: strings.TrimSpace(msg)}, ok: true, indent: len(indentOf(l))}
	t.wrapper = listed(" exit stop EXIT ", typ) || strings.HasPrefix(typ, "EXIT from")
	return t
}

// exFrame reads (app 1.2) lib/x.ex:3: M.f/2.
func exFrame(l string) (f Frame, ok bool) {
	s := strings.TrimLeft(l, " \t")
	s = strings.TrimPrefix(s, "└─ ")
	if strings.HasPrefix(s, "(") {
		app, rest, is := strings.Cut(s[1:], ") ")
		if !is || strings.Contains(app, "(") || strings.Count(app, " ") > 1 {
			return f, false
		}
		f.Module, _, _ = strings.Cut(app, " ")
		s = rest
	}
	for _, ext := range []string{".ex:", ".exs:", ".erl:", ".eex:", ".heex:", ".leex:", ".yrl:", ".xrl:", ".hrl:", "iex:"} {
		at := strings.Index(s, ext)
		if at < 0 || strings.Contains(s[:at], " ") {
			continue
		}
		n, rest, digits := leadingNumber(s[at+len(ext):])
		if !digits {
			continue
		}
		if c, is := strings.CutPrefix(rest, ":"); is { // a column
			if _, tail, col := leadingNumber(c); col {
				rest = tail
			}
		}
		if rest != "" && !strings.HasPrefix(rest, ":") {
			continue
		}
		f.File, f.Line, f.Function = s[:at+len(ext)-1], n, exArity(strings.TrimSpace(strings.TrimPrefix(rest, ":")))
		return f, true
	}
	// built in or without debug information: (stdlib 3.4) :maps.get(:a, %{})
	if (f.Module != "" || strings.HasPrefix(s, ":") || strings.HasPrefix(s, "anonymous fn")) && exCallable(s) {
		f.Function = s
		return f, true
	}
	return f, false
}

// exArity puts a function's arity for the arguments that a trace printed, which
// are data: M.f(:a, %{}) is M.f/2. Without their end the arity is left out.
func exArity(fn string) string {
	head, in := fn, ""
	if at := strings.LastIndex(fn, ") in "); at >= 0 && strings.HasPrefix(fn, "anonymous fn(") {
		head, in = fn[:at+1], fn[at+1:]
	}
	open := strings.IndexByte(head, '(')
	if open <= 0 {
		return fn
	}
	n, closed := exArguments(head[open:])
	if !closed {
		return head[:open]
	}
	return head[:open] + "/" + strconv.Itoa(n) + in
}

// exArguments counts the terms between the brackets that s begins with.
func exArguments(s string) (n int, closed bool) {
	depth, quoted := 0, byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted != 0:
			switch c {
			case '\\':
				i++
			case quoted:
				quoted = 0
			}
		case c == '"' || c == '\'':
			quoted = c
		case c == '(' || c == '[' || c == '{' || c == '<' && strings.HasPrefix(s[i:], "<<"):
			depth++
		case c == ')' || c == ']' || c == '}' || c == '>' && strings.HasPrefix(s[i:], ">>"):
			if depth--; depth == 0 {
				return n, i == len(s)-1
			}
			if c == '>' {
				i++
			}
		case c == ',' && depth == 1:
			n++
		}
		if n == 0 && depth == 1 && i > 0 && s[i] != ' ' || n == 0 && depth > 1 {
			n = 1
		}
	}
	return n, false
}

func exCallable(s string) bool {
	at := strings.LastIndexByte(s, '/')
	if at > 0 {
		if _, rest, ok := leadingNumber(s[at+1:]); ok && rest == "" {
			return true
		}
	}
	return strings.HasSuffix(s, ")") && strings.Contains(s, ".") && strings.Contains(s, "(")
}

func exRead(lines []string, i int) (trace, int, bool) {
	l := lines[i]
	switch {
	case exHead(l).ok, strings.TrimSpace(l) == "stacktrace:":
		return exReadExceptions(lines, i)
	case strings.HasPrefix(l, "eheap_alloc: "):
		e := exception{typ: "eheap_alloc", message: strings.TrimPrefix(l, "eheap_alloc: ")}
		return trace{chain: []exception{e}, fatal: true, class: "oom"}, i + 1, true
	case clothed(l):
		return exClothed(lines, i)
	}
	return erlRead(lines, i)
}

// exReader reads exceptions that stand within each other, the outermost first.
type exReader struct {
	lines []string
	heads []exTitle
}

func exReadExceptions(lines []string, i int) (trace, int, bool) {
	r := exReader{lines: lines}
	next := i + 1
	if h := exHead(lines[i]); h.ok {
		r.heads = append(r.heads, h)
	} else { // ExUnit's failed assertion
		r.heads = append(r.heads, exTitle{exception: exception{typ: "ExUnit.AssertionError", message: exAsserted(lines, i)}, indent: len(indentOf(lines[i]))})
	}
	framed := false
	for k, other := i+1, 0; k < len(lines) && other <= exGap; k++ {
		l := lines[k]
		if h := exHead(l); h.ok {
			if h.indent <= r.heads[0].indent || framed || len(r.heads) >= exDeep {
				break
			}
			r.heads = append(r.heads, h)
			next, other = k+1, 0
			continue
		}
		f, ok := exFrame(l)
		if ok && len(indentOf(l)) >= r.heads[0].indent {
			r.add(f, len(indentOf(l)))
			framed, next, other = true, k+1, 0
			continue
		}
		if s := strings.TrimSpace(l); framed && (strings.HasPrefix(s, "code: ") || s == "stacktrace:" || s == "arguments:") {
			continue // ExUnit's
		}
		if other++; framed && (other > 1 || strings.TrimSpace(l) == "") || exEnds(l) {
			break
		}
	}
	return r.trace(), next, true
}

// exEnds reports lines that no exception's message goes on with.
func exEnds(l string) bool {
	return strings.HasPrefix(l, "Last message") || strings.HasPrefix(l, "State: ") || strings.HasPrefix(l, "[error]")
}

func exAsserted(lines []string, i int) string {
	for k := i - 1; k >= 0 && i-k < 20; k-- {
		if s := strings.TrimSpace(lines[k]); strings.HasPrefix(s, "Assertion with") || strings.HasPrefix(s, "Expected ") || strings.HasPrefix(s, "match (") {
			return s
		}
	}
	return ""
}

// add gives a frame to the innermost exception that it is indented behind.
func (r *exReader) add(f Frame, indent int) {
	k := len(r.heads) - 1
	for k > 0 && r.heads[k].indent >= indent {
		k--
	}
	r.heads[k].frames = append(r.heads[k].frames, f)
}

func (r *exReader) trace() trace {
	t := trace{fatal: true}
	for _, v := range slices.Backward(r.heads) {
		t.chain = append(t.chain, exFinish(v.exception))
	}
	if len(t.chain) == 1 {
		t.chain[0].wrapper = false
	}
	for _, e := range t.chain {
		if t.class = exClass(e); t.class != "" {
			break
		}
	}
	return t
}

func exFinish(e exception) exception {
	e.code = exCode(e.message)
	if f, ok := exCompiled(e); ok {
		e.frames = append([]Frame{f}, e.frames...)
	}
	e.frames = withoutInner(e.frames, exLibrary, exOTP)
	return e
}

// exCompiled reads the place that a compiler's error has in its message:
// "lib/x.ex:3: undefined function", "invalid syntax found on lib/x.ex:3:5:".
func exCompiled(e exception) (Frame, bool) {
	if !listed(" CompileError SyntaxError TokenMissingError EEx.SyntaxError MismatchedDelimiterError ", e.typ) {
		return Frame{}, false
	}
	head, _, _ := strings.Cut(e.message, "\n")
	for w := range strings.FieldsSeq(head) {
		if f, ok := exFrame(w); ok && f.File != "" {
			f.Function = "(module)"
			return f, true
		}
	}
	return Frame{}, false
}

// exClothed takes Rollbar's traces of Elixir: File "lib/x.ex", line 3, in
// M.f/2 (app).
func exClothed(lines []string, i int) (trace, int, bool) {
	e, line, next, ok := readClothed(lines, i, " .ex .exs .erl .eex .heex ")
	if !ok {
		return trace{}, i, false
	}
	if strings.Contains(lines[i], pyHead) {
		slices.Reverse(e.frames) // they are in Elixir's order, whatever the header says
	}
	for k := range e.frames {
		f := &e.frames[k]
		if fn, app, ok := strings.Cut(f.Function, " ("); ok && strings.HasSuffix(app, ")") {
			f.Function, f.Module = fn, strings.TrimSuffix(app, ")")
		}
	}
	if h := exHead("** (" + afterParen(line)); h.ok {
		e.typ, e.message = h.typ, strings.TrimPrefix(h.message, ": ")
	} else if e.typ == "" {
		e.message = line
	}
	e = exFinish(e)
	return trace{chain: []exception{e}, fatal: true, class: exClass(e)}, next, true
}

// afterParen returns "Type) message" of "GenServer terminating (Type): message".
func afterParen(s string) string {
	_, rest, _ := strings.Cut(s, "(")
	return strings.Replace(rest, "):", ") ", 1)
}
