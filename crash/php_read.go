package crash

import (
	"slices"
	"strings"
)

const (
	phpLines = 15  // of one message, until its place
	phpBack  = 15  // from #0 back to what was thrown
	phpAhead = 200 // behind a trace that was glued into one line
)

// phpReader reads an error and the exceptions that belong to it.
type phpReader struct {
	lines   []string
	i       int
	chain   []exception // as printed
	reverse bool        // the outermost was printed first
	cut     bool
	warned  bool // PHP went on
}

func phpRead(lines []string, i int) (trace, int, bool) {
	r := phpReader{lines: lines, i: i}
	glued := 0
	if at := strings.Index(lines[i], "Stack trace:"); at > 0 {
		r.lines, r.i = phpUnglue(lines[i], at, lines[i+1:])
		glued = len(r.lines) - min(len(lines)-i-1, phpAhead)
	}
	if !r.first() {
		return trace{}, i, false
	}
	for r.next() {
	}
	if glued > 0 {
		r.i = i + 1 + max(0, r.i-glued)
	}
	t := trace{fatal: !r.warned, cut: r.cut}
	for k := range r.chain {
		e := r.chain[k]
		if r.reverse {
			e = r.chain[len(r.chain)-1-k]
		}
		t.chain = append(t.chain, phpFinish(e))
	}
	return t, max(r.i, i+1), true
}

// phpUnglue makes lines of a trace that stands in one, with some of those that
// follow it.
func phpUnglue(l string, at int, after []string) ([]string, int) {
	out := []string{strings.TrimRight(l[:at], " ")}
	rest := l[at:]
	for len(out) < 500 {
		cut := -1
		for from := 1; from < len(rest); {
			k := strings.Index(rest[from:], " #")
			if k < 0 {
				break
			}
			from += k + 1
			if _, tail, ok := leadingNumber(rest[from+1:]); ok && strings.HasPrefix(tail, " ") {
				cut = from
				break
			}
		}
		if cut < 0 {
			break
		}
		out = append(out, strings.TrimRight(rest[:cut], " "))
		rest = rest[cut:]
	}
	out = append(out, rest)
	return append(out, after[:min(len(after), phpAhead)]...), 0
}

func (r *phpReader) first() bool {
	l := r.lines[r.i]
	switch {
	case phpListed(l).ok, phpAt(l).ok:
		return r.console()
	case phpStep(l).ok:
		return r.headless()
	}
	return r.header()
}

// header reads an error's text, which may have many lines, and its steps.
func (r *phpReader) header() bool {
	s := r.lines[r.i]
	e, f, ok := phpHeader(s)
	next := r.i + 1
	for k := next; (!ok || f.File == "") && k < len(r.lines) && k-next < phpLines; k++ {
		l := r.lines[k]
		if strings.HasPrefix(strings.TrimSpace(l), "Stack trace:") || phpStep(l).ok || strings.HasPrefix(strings.TrimSpace(l), "thrown in") {
			break
		}
		if strings.HasSuffix(s, " in") || strings.HasPrefix(r.lines[r.i], "Error message: ") {
			s += " " + strings.TrimSpace(l) // a mail's line was full
		} else {
			s += "\n" + strings.TrimSpace(l)
		}
		if je, jf, jok := phpHeader(s); jok && jf.File != "" {
			e, f, ok, next = je, jf, true, k+1
		}
	}
	if !ok || e.typ == "" {
		return false
	}
	r.warned = listed(" Warning Notice Deprecated ", e.typ)
	r.reverse = strings.Contains(s, "[object] (")
	r.i = next
	e.frames = r.steps(f)
	if len(e.frames) == 1 && e.frames[0].File == "" {
		e.frames, r.cut = nil, true
	}
	r.chain = append(r.chain, e)
	return true
}

// headless reads steps whose error was cut off, or stands in a line above.
func (r *phpReader) headless() bool {
	e := exception{}
	var f Frame
	start := r.i
	for k := start - 1; k >= 0 && start-k <= phpBack; k-- {
		if phpStep(r.lines[k]).ok {
			break
		}
		if he, hf, ok := phpHeader(r.lines[k]); ok && he.typ != "" {
			e, f = he, hf
			break
		}
	}
	e.frames = r.steps(f)
	if e.typ == "" && len(e.frames) < 3 {
		return false
	}
	r.cut = e.typ == ""
	r.chain = append(r.chain, e)
	return true
}

// phpCall is one step of a backtrace: #0 /x.php(3): f().
type phpCall struct {
	Frame  // File and Line are the caller's, Function is what it called
	ok     bool
	main   bool
	listed bool
}

func phpStep(l string) phpCall {
	s := strings.TrimLeft(l, " \t")
	if s, ok := strings.CutPrefix(s, "#"); ok {
		_, rest, ok := leadingNumber(s)
		if !ok || !strings.HasPrefix(rest, " ") {
			return phpCall{}
		}
		return phpStepAt(strings.TrimLeft(rest, " "))
	}
	return phpXdebug(s)
}

func phpStepAt(s string) phpCall {
	if strings.HasPrefix(s, "{main}") {
		return phpCall{ok: true, main: true}
	}
	if fn, ok := strings.CutPrefix(s, "[internal function]: "); ok {
		return phpCall{Frame: Frame{Function: phpCallee(fn)}, ok: true}
	}
	if strings.HasSuffix(s, "):") { // wrapped before what was called
		s += " "
	}
	for from := 0; ; {
		at := strings.Index(s[from:], "): ")
		if at < 0 {
			break
		}
		at += from
		open := strings.LastIndexByte(s[:at], '(')
		if open > 0 {
			if n, rest, ok := leadingNumber(s[open+1 : at]); ok && rest == "" && phpIsFile(s[:open]) {
				return phpCall{Frame: phpEvaluated(Frame{File: s[:open], Line: n, Function: phpCallee(s[at+len("): "):])}), ok: true}
			}
		}
		if from = at + 1; from > 1024 {
			break
		}
	}
	if at := strings.LastIndexByte(s, '('); at > 0 && strings.HasSuffix(s, ")") && strings.HasSuffix(s[:at], ".php") {
		n, rest, ok := leadingNumber(s[at+1:])
		return phpCall{Frame: Frame{File: s[:at], Line: n}, ok: ok && rest == ")"}
	}
	return phpCall{}
}

// phpCallee strips a call's arguments.
func phpCallee(s string) string {
	if at := strings.IndexByte(s, '('); at > 0 {
		return s[:at]
	}
	return s
}

// phpXdebug reads "PHP   2. X->f($a = 1) /x.php:3".
func phpXdebug(s string) phpCall {
	s = strings.TrimLeft(strings.TrimPrefix(s, "PHP "), " ")
	_, rest, ok := leadingNumber(s)
	if !ok || !strings.HasPrefix(rest, ". ") {
		return phpCall{}
	}
	if c := phpStepAt(rest[2:]); c.ok && !strings.HasPrefix(rest[2:], "{main}(") { // # made a list of it
		c.listed = true
		return c
	}
	at := strings.LastIndex(rest, ") ")
	if at < 0 {
		return phpCall{}
	}
	f, ok := phpFile(rest[at+2:])
	f.Function = phpCallee(rest[2:])
	return phpCall{Frame: f, ok: ok && strings.Contains(f.File, ".")}
}

// steps reads a backtrace. Each step names the caller's place and what was
// called there: a frame has its own place, and its name from the step below.
func (r *phpReader) steps(f Frame) []Frame {
	frames := []Frame{f}
	last, other, xdebug := r.i, 0, false
	for k := r.i; k < len(r.lines) && other <= 3; k++ {
		l := strings.TrimSpace(r.lines[k])
		s := phpStep(l)
		switch {
		case s.ok && l[0] != '#' && !s.listed:
			xdebug = true
			frames = append(frames, s.Frame)
		case s.ok && s.main:
			frames[len(frames)-1].Function = "{main}"
			r.i = k + 1
			return phpEntry(frames)
		case s.ok && len(frames) == 1 && s.Line == f.Line && s.File == f.File: // PHP's own function complained
		case s.ok:
			if frames[len(frames)-1].Function == "" && !strings.HasSuffix(s.Function, "->handleError") {
				frames[len(frames)-1].Function = s.Function
			}
			s.Function = ""
			frames = append(frames, s.Frame)
		case strings.HasPrefix(l, "Stack trace:"), strings.HasPrefix(l, "PHP Stack trace:"), strings.HasPrefix(l, "[stacktrace]"),
			strings.HasPrefix(l, "thrown in "), strings.HasPrefix(l, "Backtrace"):
		case strings.HasPrefix(l, "Next "), strings.HasPrefix(l, "[previous exception]"), phpLevel(l) != "":
			other = 4
			continue
		default:
			other++
			continue
		}
		last, other = k+1, 0
	}
	r.i = last
	if xdebug {
		slices.Reverse(frames[1:])
		for a := 0; a+1 < len(frames); a++ { // each names what was called from its place
			frames[a].Function = frames[a+1].Function
		}
		frames = frames[:len(frames)-1]
	}
	return phpEntry(frames)
}

// phpEntry drops the script that a server or a console calls whatever is
// asked of it.
func phpEntry(frames []Frame) []Frame {
	if n := len(frames); n > 1 && frames[0].File != "" {
		_, base := splitBase(slashed(frames[n-1].File))
		if listed(" index.php artisan server.php console cron.php app.php app_dev.php occ remote.php v2.php v1.php xmlrpc.php pub.php magento ", base) {
			return frames[:n-1]
		}
	}
	return frames
}

// next reads the next exception of a chain.
func (r *phpReader) next() bool {
	for k := r.i; k < len(r.lines) && k <= r.i+3; k++ {
		l := strings.TrimSpace(r.lines[k])
		switch {
		case l == "", strings.HasPrefix(l, "thrown in "), l == `"}`:
			continue
		case strings.HasPrefix(l, "Next "), strings.HasPrefix(l, "[previous exception]"):
			save := *r
			r.i = k
			if !r.header() {
				*r = save
				return false
			}
			r.reverse = r.reverse || save.reverse
			return true
		}
		return false
	}
	return false
}

func phpFinish(e exception) exception {
	e.typ = strings.ReplaceAll(e.typ, `\\`, `\`)
	e.message = strings.ReplaceAll(e.message, `\"`, `"`)
	if at := strings.LastIndex(e.message, "(View: "); at > 0 && len(e.frames) > 0 { // the template, not what it was compiled to
		e.frames[0].File = strings.TrimRight(e.message[at+len("(View: "):], ") ")
		e.message = strings.TrimSpace(e.message[:at])
	}
	e.code = phpCode(e)
	return e
}
