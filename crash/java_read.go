package crash

import "strings"

// javaReader reads one trace with all its causes.
type javaReader struct {
	lines []string
	at    int
	head  int         // the header's line
	chain []exception // as printed
	own   int         // frames printed of the last exception
	first bool        // "Wrapped by": the root was printed first
	fatal bool
	cut   bool
}

// begin finds the header: at r.at, or above when r.at is a frame. It leaves
// r.at at the first line behind the header's message.
func (r *javaReader) begin() bool {
	if _, n := unwrap(r.lines, r.at, javaFrame); n > 0 {
		return r.lookBack()
	}
	if _, ok := afterAt(r.lines[r.at]); ok {
		return false
	}
	typ, message, ok := javaWithin(r.lines[r.at])
	if !ok {
		return false
	}
	r.head = r.at
	r.cut = strings.HasPrefix(strings.TrimSpace(r.lines[r.at]), "Caused by: ")
	if flat := javaUnroll(message); flat != nil {
		return r.single(typ, flat)
	}
	r.start(typ, message)
	r.at++
	r.message()
	r.fatal = r.isFatal()
	return true
}

// start appends an exception.
func (r *javaReader) start(typ, message string) {
	typ = typ[strings.LastIndexByte(typ, '/')+1:]
	r.chain = append(r.chain, exception{typ: typ, message: message, code: javaCode(message)})
	r.own = 0
}

// message takes the lines of the last header's message up to its first frame;
// without a frame the message is the header's line alone.
func (r *javaReader) message() {
	e := &r.chain[len(r.chain)-1]
	for k := r.at; k < len(r.lines) && k < r.at+maxHeaderGap; k++ {
		l := strings.TrimSpace(r.lines[k])
		if _, n := unwrap(r.lines, k, javaFrame); n > 0 || javaMore(l) || strings.HasPrefix(l, "Caused by: ") {
			e.message = joined(e.message, r.lines[r.at:k])
			r.at = k
			return
		}
		if _, _, ok := javaWithin(l); ok && k > r.at && strings.TrimSpace(r.lines[k-1]) == "" {
			return
		}
		if _, _, ok := javaHeader(l); ok && javaThrowable(l[:javaNameLen(l)]) || strings.HasPrefix(l, "Exception in thread ") {
			return
		}
	}
}

// lookBack finds the header above the frame at r.at: the nearest line with a
// throwable's qualified name, or nearer still one of the default package.
func (r *javaReader) lookBack() bool {
	for k := r.at - 1; k >= 0 && k >= r.at-maxHeaderGap; k-- {
		l := r.lines[k]
		if _, ok := javaFrame(l); ok || strings.TrimSpace(l) == "Stacktrace:" {
			return false
		}
		typ, message, ok := javaWithin(l)
		if !ok {
			continue
		}
		r.head = k
		r.start(typ, joined(message, r.lines[k+1:r.at]))
		r.fatal = r.isFatal()
		return true
	}
	for k := r.at - 1; k >= 0; k-- { // only the very first stack may lack its header
		if l := strings.TrimSpace(r.lines[k]); l != "" && !strings.HasPrefix(l, "...") {
			return false
		}
	}
	r.head, r.cut = r.at, true
	r.start("", "")
	return true
}

// isFatal looks for words around the header that say the program ended.
func (r *javaReader) isFatal() bool {
	for k := max(0, r.head-4); k <= r.head; k++ {
		if spoken(r.lines[k], "Exception in thread", "FATAL EXCEPTION", "Exception is:", "Description: ", "Application run failed",
			"Uncaught exception", "uncaught exception", "Unhandled exception", "unhandled exception", "encountered an unexpected exception",
			"FATAL EXCEPTION IN SYSTEM PROCESS", "Crash Report", "a fatal exception") {
			return true
		}
	}
	return false
}

// body reads frames, causes and what is suppressed, up to what does not belong.
func (r *javaReader) body() {
	for r.at < len(r.lines) {
		l := r.lines[r.at]
		s := strings.TrimSpace(l)
		if f, n := unwrap(r.lines, r.at, javaFrame); n > 0 {
			r.chain[len(r.chain)-1].add(f)
			r.own++
			r.at += n
			continue
		}
		switch {
		case javaMore(s):
			// The frames left out are the enclosing exception's, which own
			// them: a paste may as well have lost this line.
			r.at++
		case strings.HasPrefix(s, "Suppressed: "):
			r.skipSuppressed(len(indentOf(l)))
		case strings.HasPrefix(s, "[CIRCULAR REFERENCE"), strings.HasPrefix(s, "Caused by: [CIRCULAR REFERENCE"):
			r.at++
		case strings.HasPrefix(s, "Caused by: "), strings.HasPrefix(s, "Wrapped by: "):
			if !r.cause(s) {
				return
			}
		default:
			if !r.goesOn() {
				return
			}
			r.at++
		}
	}
}

// cause begins the next exception.
func (r *javaReader) cause(s string) bool {
	rest, wrapped := strings.CutPrefix(s, "Wrapped by: ")
	if !wrapped {
		rest = strings.TrimPrefix(s, "Caused by: ")
	}
	typ, message, ok := javaHeader(rest)
	if !ok { // a class of an odd name: all up to the colon
		typ, message, _ = strings.Cut(rest, ": ")
		if typ == "" || strings.ContainsAny(typ, " \t") {
			return false
		}
	}
	if len(r.chain) >= maxChain {
		return false
	}
	r.first = r.first || wrapped
	r.start(typ, message)
	r.at++
	r.message()
	return true
}

// skipSuppressed passes over what was thrown while closing: it stands deeper
// than its marker, and its causes as deep.
func (r *javaReader) skipSuppressed(depth int) {
	for r.at++; r.at < len(r.lines); {
		l := r.lines[r.at]
		s := strings.TrimSpace(l)
		in := len(indentOf(l))
		_, n := unwrap(r.lines, r.at, javaFrame)
		switch {
		case n > 0 && in > depth, n > 0 && depth == 0:
			r.at += n
		case javaMore(s) && in >= depth:
			r.at++
		case strings.HasPrefix(s, "Caused by: ") && in >= depth && depth > 0, strings.HasPrefix(s, "Suppressed: ") && in >= depth:
			r.at++
		case s != "" && in > depth && depth > 0:
			r.at++
		default:
			return
		}
	}
}

// goesOn reports whether the line at r.at is noise within the trace: blank or
// another thread's, with more of the trace right behind it.
func (r *javaReader) goesOn() bool {
	if _, _, ok := javaWithin(r.lines[r.at]); ok || strings.TrimSpace(r.lines[r.at]) == "Stacktrace:" {
		return false
	}
	k := r.at + 1
	if k >= len(r.lines) {
		return false
	}
	if strings.TrimSpace(r.lines[r.at]) == "" && strings.TrimSpace(r.lines[k]) == "Driver stacktrace:" && k+1 < len(r.lines) { // Spark's
		k++
	}
	if _, n := unwrap(r.lines, k, javaFrame); n > 0 {
		return strings.TrimSpace(r.lines[r.at]) == "" || r.own > 0 && !strings.HasPrefix(r.lines[r.at], "-- ")
	}
	s := strings.TrimSpace(r.lines[k])
	return javaMore(s) || strings.HasPrefix(s, "Caused by: ")
}

// single reads a trace that was printed in one line.
func (r *javaReader) single(typ string, parts []string) bool {
	r.start(typ, parts[0])
	inner := javaReader{lines: parts, at: 1, chain: r.chain}
	inner.body()
	r.chain = inner.chain
	r.fatal = r.isFatal()
	r.at++
	return true
}

// finish puts the chain in order.
func (r *javaReader) finish() trace {
	chain := r.chain
	if !r.first {
		chain = reversed(chain)
	}
	for i := range chain {
		chain[i].wrapper = i > 0 && (javaWraps(chain[i].typ) || javaVague(chain[i].typ))
	}
	withoutRuntime(chain, javaLibrary, javaIgnore, javaRuntime)
	for i, e := range chain {
		if strings.HasSuffix(e.typ, "StackOverflowError") {
			chain[i].frames = mostFrequent(e.frames, javaLibrary)
		}
	}
	t := trace{chain: chain, fatal: r.fatal, cut: r.cut}
	return t
}

// javaMore reports "... 12 more" and "... 12 common frames omitted".
func javaMore(l string) bool {
	s, ok := strings.CutPrefix(l, "...")
	n, rest, _ := strings.Cut(strings.TrimLeft(s, " ."), " ")
	return ok && allDigits(n) && spoken(rest, "more", "frames")
}

// javaUnroll splits a message that holds its own stack in the same line into
// message, frames and causes; nil when it does not.
func javaUnroll(message string) []string {
	if !strings.Contains(message, "at ") {
		return nil
	}
	var out []string
	for _, l := range unroll(message, javaFrame) {
		before, cause, ok := strings.Cut(l, " Caused by: ")
		if more := strings.LastIndex(before, " ... "); more > 0 {
			out = append(out, before[:more], before[more+1:])
		} else {
			out = append(out, before)
		}
		if ok {
			out = append(out, "Caused by: "+cause)
		}
	}
	return out
}

// javaCode finds a status or an SQLSTATE that a message names.
func javaCode(message string) string {
	for _, mark := range []string{"SQLState: ", "SQLSTATE: ", "SQLSTATE(", "HTTP response code: ", "status code: ", "Status Code: ", "status code "} {
		if _, rest, ok := strings.Cut(message, mark); ok {
			n := 0
			for n < len(rest) && n < 5 && (rest[n] >= '0' && rest[n] <= '9' || rest[n] >= 'A' && rest[n] <= 'Z') {
				n++
			}
			if n == 3 || n == 5 {
				return rest[:n]
			}
		}
	}
	return ""
}
