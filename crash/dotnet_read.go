package crash

import "strings"

// netReader reads one trace with all its inner exceptions.
type netReader struct {
	lines []string
	at    int
	head  int
	chain []exception // as printed: the outermost first
	open  []int       // exceptions whose frames are still to come, the current last
	fatal bool
	cut   bool
}

func netRead(lines []string, i int) (trace, int, bool) {
	r := netReader{lines: lines, at: i}
	if !r.begin() {
		return trace{}, 0, false
	}
	r.body()
	if r.at <= i {
		return trace{}, 0, false
	}
	t := r.finish()
	return t, r.at, len(t.chain) > 0
}

// begin finds the header: above r.at when that is a frame, else in it.
func (r *netReader) begin() bool {
	if _, n := netUnwrap(r.lines, r.at); n > 0 {
		return r.lookBack()
	}
	l := strings.TrimSpace(r.lines[r.at])
	if netAt(l) != "" && !strings.HasPrefix(l, "System.") {
		return false
	}
	typ, message, ok := netWithin(l)
	if !ok {
		return false
	}
	r.head = r.at
	if flat := r.flat(message); flat != nil {
		r.start(typ, flat[0])
		inner := netReader{lines: flat, at: 1, chain: r.chain, open: r.open}
		inner.body()
		r.chain, r.open = inner.chain, inner.open
		return true
	}
	r.start(typ, message)
	r.at++
	r.message()
	return true
}

// flat splits a trace that stands in one line, or that was broken behind each
// "at", and passes over its lines. nil when it is neither.
func (r *netReader) flat(message string) []string {
	next := r.at + 1
	if strings.HasSuffix(message, " at") || strings.HasSuffix(message, " at ") {
		for next < len(r.lines) && next < r.at+2*maxHeaderGap && strings.TrimSpace(r.lines[next]) != "" {
			message = strings.TrimRight(message, " ") + " " + strings.TrimSpace(r.lines[next])
			next++
		}
	}
	if !strings.Contains(message, " at ") {
		return nil
	}
	flat := unroll(message, netFrame)
	if flat != nil {
		r.at = next
	}
	return flat
}

// start opens an exception; on one line may stand the whole chain: A: m ---> B:
// m. Its frames come before those of what carries it.
func (r *netReader) start(typ, message string) {
	for len(r.chain) < maxChain {
		own, rest, inner := strings.Cut(message, "---> ")
		r.chain = append(r.chain, exception{typ: strings.ReplaceAll(typ, "+", "."), message: strings.TrimSpace(own)})
		r.open = append(r.open, len(r.chain)-1)
		if !inner {
			return
		}
		var ok bool
		rest = strings.TrimSpace(rest)
		if strings.HasPrefix(rest, "(Inner Exception #") {
			_, rest, _ = strings.Cut(rest, ") ")
		}
		if typ, message, ok = netHeader(rest); !ok {
			r.chain[len(r.chain)-1].message += " ---> " + rest
			return
		}
	}
}

// message takes the lines of the last header's message up to its first frame.
func (r *netReader) message() {
	for k := r.at; k < len(r.lines) && k < r.at+maxHeaderGap; k++ {
		s := strings.TrimSpace(r.lines[k])
		_, n := netUnwrap(r.lines, k)
		if n > 0 || strings.HasPrefix(s, "---> ") || strings.HasPrefix(s, "--- ") {
			e := &r.chain[len(r.chain)-1]
			e.message = joined(e.message, r.lines[r.at:k])
			r.at = k
			return
		}
		if _, _, ok := netWithin(s); ok {
			return
		}
	}
}

// lookBack finds the header above the frame at r.at, with all that carry it:
// "A: m" and lines of "---> B: m" stand above the frames of B.
func (r *netReader) lookBack() bool {
	first := r.at
	for k := r.at - 1; k >= 0 && k >= r.at-maxHeaderGap; k-- {
		l := strings.TrimSpace(r.lines[k])
		if _, ok := netFrame(r.lines[k]); ok {
			return false
		}
		if rest, ok := strings.CutPrefix(l, "---> "); ok {
			if _, _, ok := netWithin(rest); ok {
				first = k
			}
			continue
		}
		typ, message, ok := netWithin(l)
		if !ok {
			continue
		}
		r.head = k
		r.start(typ, joined(message, r.lines[k+1:first]))
		r.at = first
		return true
	}
	for k := r.at - 1; k >= 0; k-- { // only the very first stack may lack its header
		if strings.TrimSpace(r.lines[k]) != "" {
			return false
		}
	}
	r.head, r.cut = r.at, true
	r.start("", "")
	return true
}

// body reads frames and inner exceptions up to what does not belong.
func (r *netReader) body() {
	for r.at < len(r.lines) {
		if f, n := netUnwrap(r.lines, r.at); n > 0 {
			r.chain[r.open[len(r.open)-1]].add(f) // whose frames are being printed
			r.at += n
			continue
		}
		l := r.lines[r.at]
		s := strings.TrimSpace(l)
		switch {
		case strings.HasPrefix(s, "---> "):
			if !r.inner(s[len("---> "):]) {
				return
			}
		case strings.HasPrefix(s, "--- ") && strings.HasSuffix(s, "---"):
			if netEndsInner(l, s) && len(r.open) > 1 {
				r.open = r.open[:len(r.open)-1]
			}
			r.at++
		case s == "Exception data:":
			for r.at++; r.at < len(r.lines) && len(indentOf(r.lines[r.at])) > len(indentOf(l))+1; {
				r.at++
			}
		case s == "<---", strings.HasPrefix(s, "(Inner Exception #"):
			r.at++
		case strings.HasPrefix(s, "Rethrow as "):
			if typ, message, ok := netHeader(s[len("Rethrow as "):]); ok && len(r.chain) < maxChain {
				r.chain = append([]exception{{typ: typ, message: message}}, r.chain...)
				r.open = []int{0}
			}
			r.at++
		case r.goesOn():
			r.at++
		default:
			return
		}
	}
}

// inner begins the exception behind an arrow. In an AggregateException's list
// the members come behind its own frames, and the first once more.
func (r *netReader) inner(s string) bool {
	member := strings.HasPrefix(s, "(Inner Exception #")
	if member {
		_, s, _ = strings.Cut(s, ") ")
	}
	typ, message, ok := netHeader(s)
	if !ok {
		typ, message, ok = netWithin(s)
	}
	if !ok || len(r.chain) >= maxChain {
		return false
	}
	if member {
		r.open = r.open[:1]
	}
	r.start(typ, message)
	r.at++
	r.message()
	return true
}

// netEndsInner tells the end of an inner exception's frames from the seam where
// an async method went on. Only the first is indented, in every language.
func netEndsInner(l, s string) bool {
	switch {
	case spoken(s, "inner exception", "Inner Exception"):
		return true
	case spoken(s, "previous location", "exception was thrown"):
		return false
	}
	return indentOf(l) != ""
}

// goesOn reports whether the line at r.at is blank or noise with more of the
// trace right behind it.
func (r *netReader) goesOn() bool {
	if _, _, ok := netWithin(r.lines[r.at]); ok || r.at+1 >= len(r.lines) {
		return false
	}
	s := strings.TrimSpace(r.lines[r.at+1])
	_, n := netUnwrap(r.lines, r.at+1)
	blank := strings.TrimSpace(r.lines[r.at]) == ""
	return n > 0 && blank || strings.HasPrefix(s, "---> ") || strings.HasPrefix(s, "--- End of ")
}

// finish puts the chain in order.
func (r *netReader) finish() trace {
	chain := reversed(r.chain)
	for i := range chain {
		chain[i].wrapper = i > 0 && netWraps(chain[i].typ)
		chain[i].code = netCode(chain[i])
	}
	for k := max(0, r.head-6); k <= r.head; k++ {
		r.fatal = r.fatal || spoken(r.lines[k], "Unhandled exception. ", "Unhandled Exception: ", "unhandled exception", "Unhandled exception at", "FATAL UNHANDLED", "Exception Info:", "Process terminated")
	}
	withoutRuntime(chain, netLibrary, netIgnore, netRuntime)
	t := trace{chain: chain, fatal: r.fatal, cut: r.cut}
	return t
}

// netCode is the status or the error number that a message names.
func netCode(e exception) string {
	for _, mark := range []string{"status code does not indicate success: ", "returned an error: (", "HRESULT: ", "SqlState: "} {
		_, rest, ok := strings.Cut(e.message, mark)
		n := 0
		for ok && n < len(rest) && n < 10 && isWord(rest[n]) {
			n++
		}
		if n >= 3 {
			return rest[:n]
		}
	}
	if strings.HasSuffix(e.typ, "PostgresException") && len(e.message) > 6 && e.message[5] == ':' {
		return e.message[:5]
	}
	return ""
}

// netUnwrap parses the frame at lines[i], which a terminal may have broken.
func netUnwrap(lines []string, i int) (Frame, int) {
	l := lines[i]
	if f, ok := netFrame(l); ok {
		return netJoinPlace(lines, i, f)
	}
	if s, ok := afterAt(l); !ok || !strings.Contains(s, ".") || strings.Contains(s, ")") {
		return Frame{}, 0
	}
	return unwrap(lines, i, netFrame)
}

// netJoinPlace finds the file of a frame that was broken behind its arguments.
func netJoinPlace(lines []string, i int, f Frame) (Frame, int) {
	l := strings.TrimRight(lines[i], " ")
	if f.File == "" && strings.HasSuffix(l, " in") && i+1 < len(lines) {
		if file, line := netFile(" in " + strings.TrimSpace(lines[i+1])); line > 0 {
			f.File, f.Line = file, line
			return f, 2
		}
	}
	return f, 1
}
