package crash

import "strings"

// rubyLine is a line of a backtrace: x.rb:3:in `f', with what may stand before
// (from, a number, RSpec's #) and behind (a message and its type).
type rubyLine struct {
	Frame
	ok   bool
	from bool   // from stood before it
	n    int    // the number before from, in traces printed outermost first
	rest string // behind the frame: ": message (Type)"
}

// rubyFrame reads a line of a backtrace.
func rubyFrame(l string) (r rubyLine) {
	s := strings.TrimLeft(l, " \t")
	s = strings.TrimLeft(strings.TrimPrefix(s, "! "), " ") // Heroku's
	s = strings.TrimPrefix(s, "# ")
	s = strings.TrimLeft(s, " ")
	if n, rest, ok := leadingNumber(s); ok && strings.HasPrefix(rest, ": from ") {
		r.n, r.from, s = n, true, rest[len(": from "):]
	} else if rest, ok := strings.CutPrefix(s, "from "); ok {
		r.from, s = true, rest
	}
	s = strings.TrimLeft(s, " ")
	if len(s) < 4 || len(s) > 4096 {
		return r
	}
	if at := rubyIn(s); at > 0 {
		return r.within(s, at)
	}
	at := rubyLineEnd(s)
	if at < 0 {
		return r
	}
	file, digits := s[:strings.LastIndexByte(s[:at], ':')], s[strings.LastIndexByte(s[:at], ':')+1:at]
	r.File, r.rest = file, s[at:]
	r.Line, _, _ = leadingNumber(digits)
	if !r.from && !(rubySource(file) && strings.HasSuffix(r.rest, ")") || strings.Contains(r.rest, ": [BUG] ")) {
		return r
	}
	r.ok = r.from && r.rest == "" || !r.from && strings.HasPrefix(r.rest, ": ")
	return r
}

// rubyIn returns where the ":in" of a frame is, behind a line number.
func rubyIn(s string) int {
	for from := 0; ; {
		at := strings.Index(s[from:], ":in")
		if at < 0 {
			return -1
		}
		at += from
		rest := s[at+len(":in"):]
		if quote := strings.TrimLeft(rest, " "); at > 1 && s[at-1] >= '0' && s[at-1] <= '9' && len(rest)-len(quote) <= 1 && quote != "" &&
			(quote[0] == '`' || quote[0] == '\'' || quote[0] == '"' || strings.HasPrefix(quote, "‘") || strings.HasPrefix(quote, "block")) {
			return at
		}
		from = at + 1
	}
}

// within reads the file, line and method around the ":in" at s[at].
func (r rubyLine) within(s string, at int) rubyLine {
	colon := strings.LastIndexByte(s[:at], ':')
	if colon < 1 {
		return r
	}
	n, rest, ok := leadingNumber(s[colon+1 : at])
	if !ok || rest != "" {
		return r
	}
	r.File, r.Line = s[:colon], n
	if cut := strings.LastIndex(r.File, ": "); cut >= 0 { // a log's columns
		r.File = r.File[cut+2:]
	}
	if strings.ContainsAny(r.File, "\"") || strings.Count(r.File, " ") > 6 {
		return rubyLine{}
	}
	m := strings.TrimLeft(s[at+len(":in"):], " ")
	for _, q := range []string{"`", "'", "\"", "‘"} {
		if rest, ok := strings.CutPrefix(m, q); ok {
			m = rest
			break
		}
	}
	end := strings.IndexAny(m, "'`\"’")
	if strings.HasPrefix(m, "`'") { // the method that backquotes call
		end = 1
	}
	if end < 0 {
		end = len(m)
	}
	r.Function, r.rest, r.ok = m[:end], strings.TrimLeft(m[end:], "'`\"’"), true
	return r
}

// rubyLineEnd returns where the line number ends in "x.rb:3" and "x.rb:3: …".
func rubyLineEnd(s string) int {
	from := 0
	if at := strings.Index(s, ".rb:"); at > 0 {
		from = at + len(".rb")
	} else if at := strings.IndexByte(s, ':'); at >= 0 {
		from = at
		if at == 1 { // C:
			next := strings.IndexByte(s[2:], ':')
			if next < 0 {
				return -1
			}
			from = next + 2
		}
	} else {
		return -1
	}
	_, rest, ok := leadingNumber(s[from+1:])
	if !ok || rest != "" && rest[0] != ':' {
		return -1
	}
	return len(s) - len(rest)
}

func rubySource(file string) bool {
	return spoken(file, ".rb", ".erb", ".haml", ".slim", ".rake", ".gemspec", "Rakefile", "Gemfile", "-e", "Vagrantfile", "Podfile", ".ru")
}

// rubyMessage splits ": message (Type)". ok is false without a type.
func rubyMessage(rest string) (typ, msg string, ok bool) {
	rest = strings.TrimSpace(strings.TrimPrefix(rest, ":"))
	if rest == "unhandled exception" {
		return "RuntimeError", "", true
	}
	at := strings.LastIndexByte(rest, '(')
	if at < 0 || !strings.HasSuffix(rest, ")") {
		return "", rest, false
	}
	typ = rest[at+1 : len(rest)-1]
	if !rubyConstant(typ) {
		return "", rest, false
	}
	return typ, strings.TrimSpace(rest[:at]), true
}

// rubyConstant reports names of classes: Foo::BarError.
func rubyConstant(s string) bool {
	return s != "" && len(s) <= 200 && s[0] >= 'A' && s[0] <= 'Z' && only(s, func(c byte) bool { return isIdentByte(c) || c == ':' })
}

// rubyOccurred reads how ExceptionNotifier begins its mails: "A Type occurred in
// controller#action:".
func rubyOccurred(l string) (e exception, ok bool) {
	s := strings.TrimSpace(l)
	rest, ok := strings.CutPrefix(s, "An ")
	if !ok {
		if rest, ok = strings.CutPrefix(s, "A "); !ok {
			return e, false
		}
	}
	typ, _, ok := strings.Cut(rest, " occurred in ")
	return exception{typ: typ}, ok && rubyConstant(typ)
}

// rubyTitle reads the line that comes before a backtrace in logs: "Type: msg",
// "Type (msg):", "Type - msg", and RSpec's "Type:".
func rubyTitle(l string) (e exception, ok bool) {
	s := strings.TrimSpace(strings.TrimPrefix(strings.TrimLeft(l, " \t"), "# "))
	s = strings.TrimLeft(s, "#* ")
	for _, p := range []string{" WARN: ", " ERROR: ", " FATAL: "} {
		if at := strings.Index(s, p); at > 0 && at < 60 && s[at-1] != ':' {
			s = s[at+len(p):]
		}
	}
	if at := strings.Index(s, "] "); at > 0 && s[0] == '[' && at < 60 {
		s = s[at+2:]
	}
	for _, p := range []string{"Error: ", "ERROR: ", "FATAL: ", "WARN: ", "Exception: ", "ERROR -- : ", "[!] "} {
		s = strings.TrimPrefix(s, p)
	}
	end := 0
	for end < len(s) && (isIdentByte(s[end]) || strings.HasPrefix(s[end:], "::") || end > 0 && s[end] == ':' && s[end-1] == ':') {
		end++
	}
	typ := strings.TrimSuffix(s[:end], ":")
	if !rubyConstant(typ) || listed(" Error ERROR FATAL WARN INFO DEBUG Tasks Failure Finished Caused Started Processing Completed Parameters Backtrace Run Please Did You It In The A I ", typ) {
		return e, false
	}
	rest := s[len(typ):]
	e.typ = typ
	switch {
	case rest == "" || rest == ":":
		return e, pyStrong(typ) || strings.Contains(typ, "::") || rest == ":"
	case strings.HasPrefix(rest, ": "):
		e.message = strings.TrimSpace(rest[2:])
	case strings.HasPrefix(rest, " ("):
		e.message = strings.TrimSuffix(strings.TrimSuffix(rest[2:], ":"), ")")
	case strings.HasPrefix(rest, " - "):
		e.message = strings.TrimSpace(rest[3:])
	default:
		return e, false
	}
	return e, pyStrong(typ) || strings.Contains(typ, "::") || strings.HasPrefix(rest, ": ")
}
