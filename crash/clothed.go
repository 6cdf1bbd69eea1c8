package crash

import (
	"slices"
	"strings"
)

// clothed reports the lines that a trace in Python's clothes begins with: some
// error trackers print the traces of all languages so.
func clothed(l string) bool {
	return strings.Contains(l, pyHead) || strings.HasPrefix(pyMargin(l), `File "`)
}

// readClothed reads such a trace when its files' names end in one of exts,
// which stand between spaces. The exception is the line behind the frames.
func readClothed(lines []string, i int, exts string) (e exception, line string, next int, ok bool) {
	if !strings.HasPrefix(pyMargin(lines[i]), `File "`) && (i+1 >= len(lines) || !strings.HasPrefix(pyMargin(lines[i+1]), `File "`)) {
		return e, "", i, false
	}
	r := pyReader{lines: lines, i: i, exts: exts}
	r.lookBack()
	r.block()
	if len(r.blocks) == 0 {
		return e, "", i, false
	}
	e = r.blocks[0].exception
	if len(e.frames) == 0 {
		return e, "", i, false
	}
	if r.first { // these are in their language's order
		slices.Reverse(e.frames)
	}
	next = max(r.i, i+1)
	if e.typ == "" {
		for k := next; k < len(lines) && k < next+3; k++ {
			if s := strings.TrimSpace(lines[k]); s != "" {
				return e, s, k + 1, true
			}
		}
	}
	return e, e.typ + ": " + e.message, next, true
}

// rubyClothed takes Rollbar's traces of Ruby.
func rubyClothed(lines []string, i int) (trace, int, bool) {
	e, line, next, ok := readClothed(lines, i, " .rb .erb .rake .haml ")
	if !ok {
		return trace{}, i, false
	}
	if title, is := rubyTitle(line); is {
		e.typ, e.message = title.typ, title.message
	}
	e = rubyFinish(e)
	return trace{chain: []exception{e}, fatal: true, cut: e.typ == "", class: rubyClass(e)}, next, true
}
