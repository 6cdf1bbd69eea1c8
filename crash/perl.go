package crash

import "strings"

// perlSigns are made once: the table is made for each output.
var perlSigns = []string{" line "}

// perl reads what die and Carp print: "message at x.pl line 3.", with the
// calls below when somebody confessed.
func perl() language {
	return language{
		name:      "perl",
		begins:    func(l string) bool { return strings.Contains(l, " line ") && perlPlace(l).ok },
		signs:     perlSigns,
		read:      perlRead,
		library:   perlLibrary,
		canonical: perlCanonical,
		vague:     func(string) bool { return true },
	}
}

// perlAt is a line that ends with a place.
type perlAt struct {
	Frame
	ok   bool
	call bool   // Carp's: main::f(1) called at x.pl line 3
	said string // before the place
}

func perlPlace(l string) (p perlAt) {
	if i := strings.LastIndex(l, ", <"); i > 0 && strings.Contains(l[i:], "> line ") { // which handle was read last, and how far
		l = l[:i] + "."
	}
	at := strings.LastIndex(l, " line ")
	if at < 0 {
		return p
	}
	n, rest, ok := leadingNumber(l[at+len(" line "):])
	if !ok || rest != "" && rest[0] != '.' && rest[0] != ',' && rest[0] != ')' {
		return p
	}
	from := strings.LastIndex(l[:at], " at ")
	if from < 0 {
		return p
	}
	p.File, p.Line, p.said = strings.TrimLeft(l[from+len(" at "):at], "(\"' "), n, l[:from]
	p.File = strings.TrimRight(p.File, "\"'")
	if i := strings.LastIndexByte(p.File, '.'); (i < 0 || !listed(" .pl .pm .t .cgi .PL .pod .psgi ", p.File[i:])) && (rest != "." || !strings.Contains(p.File, "/") || strings.Contains(p.File, " ")) {
		return p // a script has any name, but then Perl's own full stop has to follow
	}
	if s, is := strings.CutSuffix(p.said, " called"); is && (l[0] == '\t' || l[0] == ' ') {
		fn, _, _ := strings.Cut(strings.TrimSpace(s), "(")
		p.Function, p.call = fn, true
	}
	p.ok = true
	return p
}

func perlRead(lines []string, i int) (trace, int, bool) {
	head := perlPlace(lines[i])
	if !head.ok || head.call {
		return trace{}, i, false
	}
	e := exception{typ: "die", message: strings.TrimSpace(head.said), frames: []Frame{head.Frame}}
	next := i + 1
	if next+1 < len(lines) { // a handler confessed: its own place and call are below the message
		at, call := perlPlace(lines[next]), perlPlace(lines[next+1])
		if at.ok && at.said == "" && call.call && call.File == head.File && call.Line == head.Line {
			next += 2
		}
	}
	for ; next < len(lines); next++ {
		c := perlPlace(lines[next])
		if !c.ok || !c.call {
			break
		}
		// a call names its own place and the function that the frame above is in
		e.frames[len(e.frames)-1].Function = c.Function
		c.Frame.Function = ""
		e.frames = append(e.frames, c.Frame)
	}
	e.code = discriminator(e.message)
	warned := strings.HasPrefix(e.message, "Use of uninitialized") || strings.HasPrefix(e.message, "Argument \"")
	return trace{chain: []exception{e}, fatal: !warned}, next, true
}

func perlLibrary(f Frame) bool {
	return spoken(slashed(f.File), "/perl5/", "/perl/", "/lib/perl", "/site_perl/", "/vendor_perl/", "/perlbrew/", "(eval", "/strawberry/")
}

// perlCanonical keeps the file: only Carp names functions.
func perlCanonical(f Frame) Frame {
	_, f.File = splitBase(strings.ReplaceAll(f.File, `\`, "/"))
	f.Function = "<file>"
	return f
}
