package crash

import "strings"

// phpAt reads Collision's "  at /x.php:3".
func phpAt(l string) phpCall {
	s, ok := strings.CutPrefix(strings.TrimSpace(l), "at ")
	if !ok || strings.Contains(s, "(") {
		return phpCall{}
	}
	f, ok := phpFile(strings.TrimSpace(s))
	return phpCall{Frame: f, ok: ok && strings.Contains(f.File, ".php")}
}

// phpListed reads PHPUnit's bare /x.php:3, and Symfony's "In X.php line 3:".
func phpListed(l string) phpCall {
	if s, ok := strings.CutPrefix(l, "In "); ok {
		if file, rest, ok := strings.Cut(s, " line "); ok && strings.HasSuffix(file, ".php") {
			n, tail, ok := leadingNumber(rest)
			return phpCall{Frame: Frame{File: file, Line: n}, ok: ok && tail == ":"}
		}
		return phpCall{}
	}
	at := strings.Index(l, ".php:")
	if at <= 0 || l[0] == ' ' || strings.ContainsAny(l[:at], " (\"'") {
		return phpCall{}
	}
	n, rest, ok := leadingNumber(l[at+len(".php:"):])
	return phpCall{Frame: Frame{File: l[:at+len(".php")], Line: n}, ok: ok && strings.TrimSpace(rest) == ""}
}

// console reads what test runners and consoles print: what was thrown, then
// the places, the innermost first.
func (r *phpReader) console() bool {
	e, ok := r.consoleTitle()
	if !ok {
		return false
	}
	symfony := strings.HasPrefix(r.lines[r.i], "In ")
	last, other := r.i, 0
	for k := r.i; k < len(r.lines) && other < 25; k++ {
		c := phpListed(r.lines[k])
		if !c.ok {
			c = phpAt(r.lines[k])
		}
		if !c.ok || symfony && k > r.i {
			if other++; strings.TrimSpace(r.lines[k]) == "" && !symfony && phpListed(r.lines[r.i]).ok {
				break
			}
			continue
		}
		e.frames = append(e.frames, c.Frame)
		last, other = k+1, 0
	}
	r.i = last
	r.chain = append(r.chain, e)
	return len(e.frames) > 0
}

// consoleTitle finds what was thrown: above the place, except that Symfony
// prints it below.
func (r *phpReader) consoleTitle() (exception, bool) {
	if strings.HasPrefix(r.lines[r.i], "In ") {
		e := exception{typ: "Exception"}
		for k := r.i + 1; k < len(r.lines) && k <= r.i+4; k++ {
			s := strings.TrimSpace(r.lines[k])
			if typ, ok := strings.CutPrefix(s, "["); ok && strings.HasSuffix(typ, "]") {
				e.typ, _, _ = strings.Cut(strings.TrimSuffix(typ, "]"), " ")
			} else if s != "" {
				e.message = s
				return e, true
			}
		}
		return e, false
	}
	message := ""
	for k := r.i - 1; k >= 0 && k >= r.i-8; k-- {
		s := strings.TrimSpace(r.lines[k])
		if s == "" {
			continue
		}
		if typ, msg, ok := strings.Cut(s, ":"); ok && phpType(strings.TrimSpace(typ)) && strings.HasPrefix(msg, " ") {
			return exception{typ: strings.TrimSpace(typ), message: strings.TrimSpace(msg)}, true
		}
		if phpType(s) {
			return exception{typ: s, message: message}, true
		}
		message = s
	}
	return exception{}, false
}
