package crash

import "strings"

// rSigns are made once: the table is made for each output.
var rSigns = []string{"Error in "}

// rlang reads what R ends with: "Error in f(x) : message", and the calls.
func rlang() language {
	return language{
		name:      "r",
		begins:    func(l string) bool { return strings.HasPrefix(l, "Error in ") && strings.Contains(l, " : ") },
		signs:     rSigns,
		read:      rRead,
		library:   func(Frame) bool { return false },
		canonical: nil,
		vague:     func(string) bool { return true },
	}
}

func rRead(lines []string, i int) (trace, int, bool) {
	call, msg, _ := strings.Cut(strings.TrimPrefix(lines[i], "Error in "), " : ")
	fn, _, ok := strings.Cut(call, "(")
	if !ok || fn == "" || strings.Contains(fn, " ") {
		return trace{}, i, false
	}
	next := i + 1
	if msg = strings.TrimSpace(msg); msg == "" && next < len(lines) {
		msg = strings.TrimSpace(lines[next])
		next++
	}
	e := exception{typ: "Error", message: msg, code: discriminator(msg), frames: []Frame{{Function: fn}}}
	t := trace{chain: []exception{e}}
	for k := next; k < len(lines) && k < next+4; k++ {
		if strings.HasPrefix(lines[k], "Execution halted") {
			t.fatal = true
		}
	}
	if strings.Contains(msg, "cannot allocate vector") {
		t.class = "oom"
	}
	return t, next, true
}
