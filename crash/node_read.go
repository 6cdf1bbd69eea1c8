package crash

import "strings"

const (
	maxBlock   = 400 // lines of the properties printed behind a stack
	maxExcerpt = 12  // lines of source above a header
)

// nodeReader reads one trace with its causes and properties.
type nodeReader struct {
	lines  []string
	at     int
	head   int         // the header's line
	chain  []exception // as printed: the outermost first
	open   []int       // for each open brace whose exception's properties it holds; -1 for nobody's
	fatal  bool
	warned bool // of a rejection that nobody handled: a failure even without frames
	cut    bool
	place  Frame // what stands above the header: the place that was thrown at
}

// begin finds the header: above r.at when that is a frame, else at it. It
// leaves r.at behind the header's message.
func (r *nodeReader) begin() bool {
	if _, n := unwrap(r.lines, r.at, nodeFrame); n > 0 {
		return r.lookBack()
	}
	l := strings.TrimSpace(r.lines[r.at])
	if strings.HasPrefix(l, "- ") {
		return false
	}
	if _, ok := afterAt(l); ok {
		return false
	}
	r.head = r.at
	if _, rest, ok := strings.Cut(l, "UnhandledPromiseRejectionWarning: "); ok && (strings.HasPrefix(l, "(node:") || strings.HasPrefix(l, "Unhandled")) {
		if _, after, ok := strings.Cut(rest, "(rejection id: "); ok { // Node 6 to 8 say it all in one line
			if _, after, ok = strings.Cut(after, "): "); ok {
				rest = after
			}
		}
		e, ok := nodeHeader(rest)
		if !ok {
			if strings.HasPrefix(rest, "Unhandled promise rejection") {
				return false
			}
			e = exception{typ: "UnhandledPromiseRejection", message: rest}
		}
		r.warned = true
		return r.start(e)
	}
	if strings.HasPrefix(l, "[UnhandledPromiseRejection: ") {
		r.fatal = true
		e, _ := nodeHeader(l)
		return r.start(e)
	}
	e, ok := nodeHeader(l)
	if !ok || !nodeThrown(e.typ) || e.typ == "Exception" && e.message == "" {
		return false
	}
	r.fatal = strings.HasPrefix(l, "Uncaught ")
	return r.start(e)
}

// start begins the trace with the exception whose header is at r.at.
func (r *nodeReader) start(e exception) bool {
	r.chain = append(r.chain, e)
	l := r.lines[r.at]
	from := r.at + 1
	r.at++
	if strings.HasSuffix(strings.TrimSpace(l), " {") {
		r.open = append(r.open, len(r.chain)-1)
		return true
	}
	for k := from; k < len(r.lines) && k < from+maxHeaderGap; k++ { // a message of several lines
		if _, n := unwrap(r.lines, k, nodeFrame); n > 0 {
			r.chain[len(r.chain)-1].message = joined(e.message, r.lines[from:k])
			r.at = k
			break
		}
		if _, ok := nodeWithin(r.lines[k]); ok {
			break
		}
	}
	return true
}

// lookBack finds the header above the frame at r.at.
func (r *nodeReader) lookBack() bool {
	var said string // the nearest line with words
	for k := r.at - 1; k >= 0 && k >= r.at-maxHeaderGap; k-- {
		l := r.lines[k]
		if _, ok := nodeFrame(l); ok {
			return false
		}
		if said == "" {
			said = strings.TrimSpace(l)
		}
		e, ok := nodeWithin(l)
		if !ok {
			continue
		}
		r.head = k
		e.message = joined(e.message, r.lines[k+1:r.at])
		r.chain = append(r.chain, e)
		r.excerpt()
		return true
	}
	// What was thrown has no name, or the header was cut off.
	r.head, r.cut = r.at, true
	r.chain = append(r.chain, exception{typ: "Error", message: said})
	return true
}

// excerpt reads the place and the source line that Node prints above the
// header of what ended it.
func (r *nodeReader) excerpt() {
	l := r.lines[r.head]
	r.fatal = r.fatal || spoken(l, "Uncaught ", "Unhandled") && !strings.Contains(l, "UnhandledPromiseRejectionWarning")
	caret := -1
	for k := r.head - 1; k >= 0 && k >= r.head-maxExcerpt; k-- {
		s := strings.TrimSpace(r.lines[k])
		switch {
		case s == "":
		case strings.Trim(s, "^~ ") == "":
			caret = k
		case caret < 0:
			return
		default:
			if _, rest, ok := strings.Cut(s, "UnhandledPromiseRejectionWarning: "); ok {
				s = rest
			}
			if file, line, ok := nodeCutNumber(s); ok && line > 0 && !strings.ContainsAny(file, "(){}\"'`;") && (strings.ContainsAny(file, `/\`) || nodeBuiltin(strings.TrimSuffix(file, ".js"))) {
				r.place, r.fatal = Frame{File: file, Line: line}, true
				return
			}
		}
	}
}

// body reads frames, causes and properties up to what does not belong.
func (r *nodeReader) body() {
	for end := r.at + maxFrames + maxBlock; r.at < len(r.lines) && r.at < end; {
		l := r.lines[r.at]
		s := strings.TrimSpace(l)
		if f, n := unwrap(r.lines, r.at, nodeFrame); n > 0 {
			last := len(r.chain) - 1
			r.chain[last].add(f)
			if strings.HasSuffix(strings.TrimRight(r.lines[r.at+n-1], " \t\r,"), "{") {
				r.open = append(r.open, last)
			}
			r.at += n
			continue
		}
		switch {
		case strings.HasPrefix(s, "... ") && strings.Contains(s, "matching"), s == "From previous event:":
			r.at++
		case len(r.open) > 0:
			r.property(s)
			r.at++
		case r.isCause(s):
			r.at++
		case r.goesOn():
			r.at++
		default:
			return
		}
	}
}

// isCause begins the next exception where a line outside braces names one.
func (r *nodeReader) isCause(s string) bool {
	for _, p := range []string{"Caused by: ", "caused by: ", "Cause: ", "[cause]: ", "cause: ", "Original error: "} {
		if rest, ok := strings.CutPrefix(s, p); ok {
			return r.nested(rest)
		}
	}
	return false
}

// nested begins another exception within the trace.
func (r *nodeReader) nested(header string) bool {
	e, ok := nodeHeader(header)
	if !ok || len(r.chain) >= maxChain {
		return false
	}
	r.chain = append(r.chain, e)
	if strings.HasSuffix(header, "{") {
		r.open = append(r.open, len(r.chain)-1)
	}
	return true
}

// property reads a line of the braces behind a stack.
func (r *nodeReader) property(s string) {
	owner := r.open[len(r.open)-1]
	bare := strings.TrimRight(s, ",")
	switch bare {
	case "}", "]", "})", "},", "]}", "}]":
		r.open = r.open[:len(r.open)-1]
		return
	}
	name, value, _ := strings.Cut(bare, ": ")
	name = strings.Trim(name, "[]'\"")
	switch {
	case (name == "cause" || name == "originalError" || name == "reason") && r.nested(value):
		return
	case name == "errors" && strings.HasSuffix(bare, "["):
		r.open = append(r.open, -1)
		return
	case nodeMember(s) && r.nested(s):
		return
	case name == "code" && owner >= 0 && r.chain[owner].code == "":
		// A code that the header does not name is printed by one way of
		// logging only, but for the system's.
		if v := strings.Trim(value, "'\""); len(v) < 48 && !strings.ContainsAny(v, " \n") && !strings.HasPrefix(v, "ERR_") {
			r.chain[owner].code = v
		}
	}
	if strings.HasSuffix(bare, "{") || strings.HasSuffix(bare, "[") {
		r.open = append(r.open, -1)
	}
}

// nodeMember reports a line that begins a member of an AggregateError.
func nodeMember(s string) bool {
	n := 0
	for n < len(s) && isWord(s[n]) {
		n++
	}
	return n > 4 && nodeThrown(s[:n]) && n < len(s) && (s[n] == ':' || s[n] == ' ')
}

// goesOn reports whether the line at r.at is noise with more of the stack
// right behind it.
func (r *nodeReader) goesOn() bool {
	if _, ok := nodeWithin(r.lines[r.at]); ok || r.at+1 >= len(r.lines) || len(r.chain[len(r.chain)-1].frames) == 0 {
		return false
	}
	_, n := unwrap(r.lines, r.at+1, nodeFrame)
	return n > 0
}

// finish puts the chain in order and sees how it ended.
func (r *nodeReader) finish() (trace, bool) {
	outer := &r.chain[0]
	if outer.typ == "Trace" || strings.HasSuffix(outer.typ, "Warning") {
		return trace{}, false
	}
	if len(outer.frames) == 0 && outer.typ != "UnhandledPromiseRejection" && !r.warned && outer.code == "" && nodeErrno(outer.message) == "" && !r.fatal && len(r.chain) == 1 {
		return trace{}, false // "Error: words": any program says that
	}
	if outer.typ == "SyntaxError" && r.place.File != "" && nodeLoading(outer.frames) {
		outer.frames = append([]Frame{r.place}, outer.frames...)
	}
	for k := r.at; k < len(r.lines) && k < r.at+4; k++ {
		if strings.HasPrefix(r.lines[k], "Node.js v") || strings.HasPrefix(r.lines[k], "Bun v") {
			r.fatal = true
			r.at = k + 1
			break
		}
	}
	t := trace{chain: reversed(r.chain), fatal: r.fatal, cut: r.cut}
	for i := range t.chain {
		e := &t.chain[i]
		nodeDetail(e)
		e.wrapper = i > 0 && (e.typ == "AggregateError" || e.typ == "UnhandledPromiseRejection")
		if t.class == "" && nodeOutage(e) {
			t.class = "outage"
		}
	}
	withoutRuntime(t.chain, nodeLibrary, nodeIgnore, func(f Frame) bool { return nodeRuntime(f) || nodeIgnore(f) })
	return t, true
}

// nodeLoading reports a stack that begins where Node compiles a module: a
// mistake in its source, not in what JSON.parse was given.
func nodeLoading(frames []Frame) bool {
	return len(frames) == 0 || nodeRuntime(frames[0]) && frames[0].File != "<anonymous>"
}
