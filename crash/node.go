package crash

import "strings"

// node is JavaScript and TypeScript wherever they run: Node.js, Deno, Bun,
// browsers.
func node() language {
	return language{
		name: "node", begins: nodeBegins, read: nodeRead,
		library: nodeLibrary, ignore: nodeIgnore, canonical: nodeCanonical,
		vague: nodeVague, kind: nodeKind,
	}
}

// nodeBegins passes frames (the header is then looked for above) and the few
// failures that print none.
func nodeBegins(l string) bool {
	s := strings.TrimLeft(l, " \t")
	if len(s) < 8 {
		return false
	}
	switch s[0] {
	case 'a':
		return strings.HasPrefix(s, "at ")
	case 'F':
		if strings.HasPrefix(s, "FATAL ERROR: ") {
			return true
		}
	case '[':
		if strings.HasPrefix(s, "[UnhandledPromiseRejection: ") {
			return true
		}
	case '(':
		if strings.HasPrefix(s, "(Use `node --trace-uncaught") || strings.HasPrefix(s, "(node:") && strings.Contains(s, "UnhandledPromiseRejectionWarning: ") {
			return true
		}
	case 'U':
		if strings.HasPrefix(s, "Uncaught ") || strings.HasPrefix(s, "UnhandledPromiseRejectionWarning: ") {
			return true
		}
	}
	return strings.Contains(s, "@http") || strings.HasSuffix(s, " {") && strings.Contains(s, "rror") // Error: message {, then its properties
}

func nodeRead(lines []string, i int) (trace, int, bool) {
	s := strings.TrimSpace(lines[i])
	switch {
	case strings.HasPrefix(s, "FATAL ERROR: "):
		return nodeReadFatal(lines, i)
	case strings.HasPrefix(s, "(Use `node --trace-uncaught"):
		return nodeReadThrown(lines, i)
	}
	r := nodeReader{lines: lines, at: i}
	if !r.begin() {
		return trace{}, 0, false
	}
	r.body()
	t, ok := r.finish()
	return t, r.at, ok
}

// nodeVague are types whose cause is told by a code.
func nodeVague(typ string) bool {
	switch typ {
	case "Error", "TypeError", "ReferenceError", "RangeError", "AggregateError", "SystemError", "FetchError", "AxiosError", "RequestError", "MongoServerError", "MongoError", "DOMException", "UnhandledPromiseRejection", "error":
		return true
	}
	return false
}

// nodeKind folds names that libraries gave the same error over time.
func nodeKind(e exception) string {
	switch e.typ {
	case "MongoNetworkTimeoutError":
		return "MongoNetworkError"
	case "UnhandledPromiseRejectionWarning", "ERR_UNHANDLED_REJECTION":
		return "UnhandledPromiseRejection"
	}
	return e.typ
}

// nodeHeader splits "Uncaught TypeError [ERR_X]: message".
func nodeHeader(s string) (e exception, ok bool) {
	s = strings.TrimSpace(s)
	for again := true; again; {
		again = false
		for _, p := range []string{"Uncaught ", "(in promise) ", "error: ", "Unhandled Rejection: ", "[cause]: ", "UnhandledPromiseRejectionWarning: ", "Unhandled rejection ", "Unhandled Rejection ", "Exception: "} {
			if rest, found := strings.CutPrefix(s, p); found && rest != "" {
				s, again = strings.TrimLeft(rest, " "), true
			}
		}
	}
	if strings.HasPrefix(s, "[") && len(s) > 2 && s[1] >= 'A' && s[1] <= 'Z' {
		s = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(s[1:], " {"), ","), "]")
	}
	n := 0
	for n < len(s) && (isWord(s[n]) || s[n] == '$' || s[n] == '.') {
		n++
	}
	e.typ = s[:n]
	if n < 3 || e.typ[0] >= '0' && e.typ[0] <= '9' {
		return e, false
	}
	rest := s[n:]
	if code, after, found := strings.Cut(strings.TrimPrefix(rest, " "), "]"); found && strings.HasPrefix(code, "[") {
		e.code, rest = code[1:], after
	} else if code, after, found := strings.Cut(strings.TrimPrefix(rest, " "), ")"); found && strings.HasPrefix(code, "(code ") {
		rest = after
	}
	if rest == "" {
		return e, nodeThrown(e.typ)
	}
	if !strings.HasPrefix(rest, ":") && !strings.HasPrefix(rest, " {") {
		return e, false
	}
	e.message = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(rest, ":"), " {"))
	return e, true
}

// nodeThrown reports whether a class says by its name that it is thrown.
func nodeThrown(typ string) bool {
	return strings.HasSuffix(typ, "Error") || strings.HasSuffix(typ, "Exception") || strings.HasSuffix(typ, "Rejection") || strings.HasSuffix(typ, "Warning")
}

// nodeWithin finds a header anywhere in a line.
func nodeWithin(l string) (exception, bool) {
	first, ok := nodeHeader(l)
	if ok && nodeThrown(first.typ) {
		return first, true
	}
	ok = ok && first.typ[0] >= 'A' && first.typ[0] <= 'Z' && len(first.typ) > 4 && !strings.HasPrefix(first.message, "//")
	for from := 0; from < len(l); {
		k := strings.Index(l[from:], "Error")
		if k < 0 {
			return first, ok // a class whose name does not say that it is thrown
		}
		start := from + k
		for start > 0 && (isWord(l[start-1]) || l[start-1] == '$') {
			start--
		}
		if start == 0 || strings.IndexByte(" \t:([<>\"'=|,", l[start-1]) >= 0 {
			if e, ok := nodeHeader(l[start:]); ok && nodeThrown(e.typ) {
				return e, true
			}
		}
		from += k + 5
	}
	return first, ok
}
