package crash

import (
	"slices"
	"strings"
)

// generic is for what no entry of the table knows: a headline that tells of a
// failure, with a place in it, and else the places below or right above it.
// The words and the file make the group, for names of functions are written in
// too many ways to be compared.
func generic() language {
	return language{
		name:      "generic",
		read:      genericRead,
		library:   func(Frame) bool { return true },
		canonical: genericCanonical,
		vague:     func(typ string) bool { return !isFailureName(typ) || typ == "Error" },
	}
}

// genericCanonical keeps of a function its own name: modules are written in
// many ways, and compilers number what they make themselves.
func genericCanonical(f Frame) Frame {
	name, _, _ := strings.Cut(lastSegment(f.Function, "./:#"), "__anon")
	return Frame{File: f.File, Line: f.Line, Function: name}
}

const (
	genericBelow = 40  // lines below a headline in which its places are looked for
	genericAbove = 6   // and above it
	genericLines = 400 // at the end, that are looked through
	genericGap   = 24  // other lines between headlines of one run
)

// genericRead finds the last run of headlines with places; next is behind the one
// that counts, the first of the run: others follow from it.
func genericRead(lines []string, _ int) (t trace, next int, ok bool) {
	start := max(0, len(lines)-genericLines)
	if lines = lines[start:]; !slices.ContainsFunc(lines, mayPlace) {
		return t, 0, false
	}
	var e exception
	line := 0
	g := genericReader{lines: lines, places: make([]placed, len(lines)), heads: make([]uint8, len(lines))}
	for i := len(lines) - 1; i >= 0 && (!ok || line-i <= genericGap); i-- {
		if !g.headline(i) {
			continue
		}
		if found, is := g.at(i); is {
			e, line, ok = found, i, true
		}
	}
	for i := len(lines) - 1; i >= 0 && !ok; i-- { // nothing tells: the first words before the last place
		if f := g.place(i); f.File == "" || genericLibrary(f) || epilogue(lines[i]) {
			continue
		}
		for line = i; line > 0 && strings.TrimSpace(lines[line-1]) != "" && i-line < genericBelow && (g.place(line).File != "" || indentOf(lines[line]) != "" || !strings.Contains(lines[line], " ")); {
			line--
		}
		e, ok = g.at(line)
		break
	}
	return trace{chain: []exception{e}}, start + line + 1, ok
}

// genericReader reads each line once, however often it is asked about.
type genericReader struct {
	lines  []string
	places []placed
	heads  []uint8 // 1: no headline, 2: one
}

type placed struct {
	Frame
	from, end int
	known     bool
}

// place returns the first place in line i. Linters name the file once, in a line
// of its own above.
func (g *genericReader) place(i int) Frame {
	p := &g.places[i]
	if p.known {
		return p.Frame
	}
	p.known = true
	l := g.lines[i]
	if p.Frame, p.from, p.end = placeIn(l); p.File != "" {
		if app, _, ok := strings.Cut(strings.TrimLeft(l[:p.from], " ("), " "); ok && strings.HasSuffix(l[:p.from], ") ") { // Elixir's (app 1.2)
			p.Module = app
		}
		return p.Frame
	}
	s := strings.TrimLeft(l, " ")
	if n := countDigits(s); n > 0 && n < len(s) && s[n] == ':' && s != l {
		for j := i - 1; j >= 0 && j > i-genericBelow && g.lines[j] != ""; j-- {
			if file := g.lines[j]; file[0] != ' ' && !strings.Contains(file, " ") && isFile(file) {
				p.Frame = Frame{File: file, Line: atoi(s[:n])}
				break
			}
		}
	}
	return p.Frame
}

// headline reports a line that says what failed: it tells of it, or begins with
// a place. What only says that something else failed is none.
func (g *genericReader) headline(i int) bool {
	if g.heads[i] == 0 {
		g.heads[i] = 1
		if g.tells(i) && !epilogue(g.lines[i]) && !isPrompt(g.lines[i]) {
			g.heads[i] = 2
		}
	}
	return g.heads[i] == 2
}

func (g *genericReader) tells(i int) bool {
	l := g.lines[i]
	f := g.place(i)
	if f.File == "" || g.places[i].end == 0 {
		return l != "" && (tells(l) || strings.HasPrefix(l, "FAILED ") || i+1 < len(g.lines) && introduces(g.lines[i+1]) && strings.TrimSpace(l) != "")
	}
	end := g.places[i].end
	before, rest := strings.TrimSpace(l[:g.places[i].from]), strings.TrimLeft(l[end:], ": -")
	said := rest != "" && (l[end-1] == ':' || l[end] == ':' || strings.Contains(rest, " "))
	if begins := before == "" || before == "e:" || before == "w:"; begins && said && !strings.HasPrefix(rest, "0x") && !strings.HasPrefix(rest, "in ") {
		return true
	}
	return tells(before) || tells(l) && !genericLibrary(f)
}

// introduces reports a line that begins a list of places.
func introduces(l string) bool {
	l = strings.ToLower(strings.TrimSpace(l))
	return strings.HasSuffix(l, ":") && (strings.Contains(l, "stack") || strings.Contains(l, "backtrace"))
}

// at reads the failure that line i is the headline of.
func (g *genericReader) at(i int) (exception, bool) {
	e := exception{}
	e.typ, e.message = genericHead(g.lines[i])
	if next := i + 1; strings.HasSuffix(e.message, ":") && e.typ == "" && next < len(g.lines) && g.place(next).File == "" && !introduces(g.lines[i]) {
		if e.typ, _ = genericHead(g.lines[next]); strings.TrimSpace(g.lines[next]) != "" {
			e.message += " " + strings.TrimSpace(g.lines[next])
		}
	}
	if f := g.place(i); f.File != "" && !genericLibrary(f) {
		e.frames = []Frame{f}
		return e, true
	}
	if f, ok := g.own(g.below(i)); ok {
		e.frames = []Frame{f}
		return e, true
	}
	if f, ok := g.own(g.above(i)); ok {
		e.frames = []Frame{f}
		return e, true
	}
	if f := g.place(i); f.File != "" {
		e.frames = []Frame{f}
	}
	return e, len(e.frames) > 0
}

// below lists the places behind a headline, above those right before it, the
// nearest first.
func (g *genericReader) below(i int) (out []Frame) {
	for j := i + 1; j < len(g.lines) && j <= i+genericBelow; j++ {
		if outer := indentOf(g.lines[j]) == ""; outer && g.headline(j) && !introduces(g.lines[j]) {
			break
		}
		if f := g.place(j); f.File != "" && !epilogue(g.lines[j]) && !(epilogue(g.lines[j-1]) && strings.HasSuffix(strings.TrimSpace(g.lines[j-1]), ":")) {
			out = append(out, f)
		}
	}
	return out
}

func (g *genericReader) above(i int) (out []Frame) {
	for j := i - 1; j >= 0 && strings.TrimSpace(g.lines[j]) != "" && (g.place(j).File != "" || len(out) == 0 && i-j < genericAbove); j-- {
		if f := g.place(j); f.File != "" {
			out = append(out, f)
		}
	}
	return out
}

// own returns the first place of the program's own: in no folder of an
// installation, and in a folder where others are in one.
func (g *genericReader) own(list []Frame) (Frame, bool) {
	for _, foldered := range [...]bool{true, false} {
		for _, f := range list {
			if !genericLibrary(f) && (!foldered || strings.ContainsAny(strings.TrimPrefix(f.File, "./"), `/\`)) {
				return f, true
			}
		}
	}
	if len(list) > 0 {
		return list[0], true
	}
	return Frame{}, false
}

// genericLibrary knows the folders that languages install their own code in, and
// the files of Erlang's, which are named without one.
func genericLibrary(f Frame) bool {
	if strings.HasPrefix(f.Function, "Stdlib") || listed(" elixir stdlib kernel logger ex_unit mix phoenix phoenix_live_view plug plug_cowboy cowboy bandit ecto ecto_sql db_connection postgrex oban telemetry absinthe ", f.Module) {
		return true
	}
	if listed(" gen_server.erl gen_statem.erl gen_event.erl gen.erl proc_lib.erl supervisor.erl application_master.erl erl_eval.erl lists.erl maps.erl timer.erl vg_replace_strmem.c vg_replace_malloc.c ", f.File) {
		return true
	}
	return spoken(slashed("/"+f.File),
		"/usr/lib", "/usr/share/", "/usr/include/", "/lib/std/", "/lib/pure/", "/toolchains/", "/libraries/", "/crystal/src/", "/collects/", "/ice-9/",
		"/.cache/", "/.cargo/", "/.stack/", "/.cabal/", "/.julia/", "/.opam/", "/node_modules/", "/site-packages/", "/buildbot/", "/buildworker/", "/cache/build/", "/dist-packages/", "/vendor/", "/deps/", "/PackageCache/", "/go/src/runtime/", "/go/src/net/", "/pkg/mod/", "/sysdeps/", "/csu/",
	)
}

// genericHead takes a headline apart: the type that it names and the words,
// without the place.
func genericHead(l string) (typ, message string) {
	l = strings.TrimSpace(l)
	if f, from, end := placeIn(l); f.File != "" {
		if before := strings.TrimRight(l[:from], " "); strings.HasSuffix(before, ":") && !strings.Contains(before, " ") && !endsAsFailure(before[:len(before)-1]) {
			from = 0 // who wrote the line
		}
		l = strings.TrimSpace(strings.TrimRight(l[:from], " ('\"") + " " + strings.TrimLeft(l[end:], ":), '\"-"))
	}
	return strings.TrimSpace(genericType(l)), l
}

// genericType finds what a headline calls its failure: exception Not_found,
// raised CONSTRAINT_ERROR, (IndexError), [IndexDefect], error TS2322, KeyError,
// thread 1 panic.
func genericType(l string) string {
	for _, before := range [...]string{"exception ", "raised ", "invoked on a ", "Unhandled "} {
		if _, rest, ok := strings.Cut(l, before); ok {
			name := rest[:identLen(rest)]
			if name != "" && name != "exception" && (strings.ToLower(name) != name || before == "raised ") {
				return name
			}
		}
	}
	for _, pair := range [...]string{"()", "[]"} {
		for rest := l; ; {
			open := strings.IndexByte(rest, pair[0])
			if open < 0 {
				break
			}
			rest = rest[open+1:]
			if n := identLen(rest); n > 3 && n < len(rest) && rest[n] == pair[1] && isFailureName(rest[:n]) {
				return rest[:n]
			}
		}
	}
	if name := erlangReason(l); name != "" {
		return name
	}
	typ := ""
	if word, _, ok := strings.Cut(l, ": "); ok && isScopedType(word) {
		return word
	}
	for {
		word, rest, ok := strings.Cut(l, ": ")
		if !ok || len(word) > 40 || !endsAsFailure(word) {
			return typ
		}
		typ, l = word, rest
		if typ == "error" && identLen(l) == len(l) && l != strings.ToLower(l) { // Zig's
			return l
		}
		if strings.Contains(word, " ") && strings.HasSuffix(word, "panic") {
			typ = "panic"
		}
	}
}

// erlangReason finds the name of the reason in "** {function_clause,[…".
func erlangReason(l string) string {
	_, rest, ok := strings.Cut(l, "{")
	if !ok {
		return ""
	}
	name := rest[:identLen(rest)]
	if !strings.HasPrefix(rest[len(name):], ",") {
		return ""
	}
	if strings.HasSuffix(name, "_clause") || listed(" badmatch undef badarg badarith badfun badarity badkey badmap noproc nocatch system_limit timeout_value ", name) {
		return name
	}
	return ""
}

// isScopedType reports Ruby's and Perl's types: Shop::Missing.
func isScopedType(s string) bool {
	if !strings.Contains(s, "::") || s[0] < 'A' || s[0] > 'Z' {
		return false
	}
	for part := range strings.SplitSeq(s, "::") {
		if part == "" || identLen(part) != len(part) || part[0] < 'A' || part[0] > 'Z' {
			return false
		}
	}
	return true
}

// identLen is the length of the name that s begins with.
func identLen(s string) int {
	i := 0
	for i < len(s) && (isWord(s[i]) || (s[i] == '.' || s[i] == '-') && i > 0 && i+1 < len(s) && isWord(s[i+1])) {
		i++
	}
	return i
}

// isFailureName reports a name that languages give to what is thrown.
func isFailureName(s string) bool {
	return endsWith(s, "Error", "Exception", "Defect", "ERROR", "Failure", "Fault")
}

// endsAsFailure reports the word before a colon that names the kind: error,
// error TS2322, Fortran runtime error, KeyError, panic.
func endsAsFailure(s string) bool {
	low := strings.ToLower(s)
	if at := strings.LastIndex(low, "error"); at >= 0 {
		rest := strings.TrimLeft(low[at+len("error"):], " [")
		return rest == "" || len(rest) < 10 && strings.ContainsAny(rest, "0123456789") && !strings.Contains(rest, " ")
	}
	return strings.HasSuffix(low, "panic") || strings.HasSuffix(low, "exception") || strings.HasSuffix(low, "defect") || low == "fatal"
}
