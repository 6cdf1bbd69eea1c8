package redos

import (
	"strings"
	"testing"
)

const (
	safe = "safe"
	srch = "polynomial (search)"
	poly = "polynomial"
	expo = "exponential"
	huh  = "unknown"
)

func kind(r Result) string {
	if r.SearchOnly {
		return r.Class.String() + " (search)"
	}
	return r.Class.String()
}

func TestAnalyze(t *testing.T) {
	for _, c := range []struct {
		want, pattern, flags string
		dialects             []Dialect
	}{
		// Loops in loops.
		{expo, `^(?:x+)+y`, "", nil},
		{expo, `^(?:x*)*y`, "", nil},
		{expo, `^(?:x*)+y`, "", nil},
		{expo, `^(?:x+)*$`, "", nil},
		{expo, `^(?:x|y|z+)+$`, "", nil},
		{expo, `^(?:x+?)+?y`, "", nil},
		{expo, `^(?:x{2,})*y`, "", nil},
		{expo, `^(?:x{1,30}){1,30}y`, "", nil},
		{expo, `^(?:(?:x?y?)*z?)*!`, "", nil},
		{safe, `^(?:x+y)+z`, "", nil},
		{safe, `^(?:x+,)*x+$`, "", nil},
		{safe, `(?:x+)+`, "", nil},    // cannot fail
		{safe, `^(?:x+)+y?`, "", nil}, // neither
		{safe, `^(?:x{1,2}){1,3}$`, "", nil},
		{safe, `^(?:\d{1,3}\.){3}\d{1,3}$`, "", nil},
		// A repeat with a bound, before a loop, costs its bound at most for each rune.
		{safe, `^[\w.-]{1,256}\.\w{1,6}\b[\w.-]*$`, "", nil},
		{safe, `^[-.]{1,300}\.[-.]*$`, "", nil},
		{poly, `^[-.]{1,300}-\.*-?\.*$`, "", nil},
		{poly, `^z{1,300}|^x*x*$`, "", nil},
		// Alternatives that overlap.
		{expo, `^(?:x|x)*y`, "", nil},
		{expo, `^(?:x|xx)*y`, "", nil},
		{expo, `^(?:x|[w-z])*!`, "", []Dialect{JS, PCRE, Java}},
		{expo, `^(?:\w|\d)*!`, "", []Dialect{JS, PCRE, Java}},
		{expo, `^(?:\w|\d+)*!`, "", nil},
		{expo, `^(?:.|\n)*!`, "s", []Dialect{JS, Python, PCRE, Java, DotNet}},
		{safe, `^(?:.|\n)*!`, "", nil},
		{expo, `^(?:x|X)*!`, "i", nil},
		{safe, `^(?:x|X)*!`, "", []Dialect{JS, Python, PCRE, Ruby, Java, DotNet}},
		// The failing way out matters, not the whole expression.
		{expo, `^(?:(?:x+)+y|x*)`, "", nil},
		{expo, `^(?:x+)+y|z`, "", nil},
		// An end that fails must fail after many pumps, not after a few.
		{expo, `^(?:x+)+xxxxx$`, "", nil},
		{poly, `^\s*#?.*$`, "", nil},
		{expo, `^(?:.+,)+$`, "", []Dialect{JS, Python, PCRE, Java}},
		{expo, `^(?:x+|y+|z+)*z`, "", nil},
		// A match may be found in the end, after all else.
		{poly, `^(.*?)(\d*)$`, "m", []Dialect{JS, Python, PCRE, Java, DotNet}},
		{poly, `^([^x]*?)(?:y*|z)$`, "m", []Dialect{JS, Python, PCRE, Java, DotNet}},
		{expo, `^(?:(?:x|x)*y)*`, "", nil},
		{expo, `^(?:[bc]*?(?:\W*)+)+?.+?$`, "m", []Dialect{JS}}, // behind a line end
		{expo, `(?:(?:x|xx)*y)*`, "", nil},
		{safe, `^(?:x*y)*`, "", nil},
		// The pump that comes first ends a match, another does not.
		{expo, `^(?:(?:x|z)x*)*z`, "", nil},
		{srch, `(?:x|y|yx)*y`, "", []Dialect{Ruby}},
		{expo, `^(?:(?:y|z){3,6}|\b|y)*y`, "", []Dialect{JS}},
		{poly, `^\s*(\S*)\s*(\S*)\s*$`, "", nil},
		// Counted rounds.
		{expo, `^(?:x?){40}x{40}$`, "", nil},
		{safe, `^(?:x|x|y){1,8}z`, "", nil},
		{safe, `^(?:x{1,2},){1,4}$`, "", nil},
		{expo, `^(?:x|y)(?:x{1,3})+$`, "", nil},
		// One after the other.
		{poly, `^x*x*y`, "", nil},
		{poly, `^\s*\w*\s*\w*$`, "", nil},
		{poly, `^x+.*x+$`, "", nil},
		{poly, `^\w+\d+$`, "", nil},
		{poly, `^.{0,900}x{0,900}y`, "", nil},
		{safe, `^[a-z]{0,20}[a-z0-9]{0,20}$`, "", nil},
		{safe, `^x*y*z*!`, "", nil},
		{safe, `x*x*`, "", nil},
		// Searching.
		{srch, `x+y`, "", nil},
		{srch, `\s+$`, "", nil},
		{srch, `[^x]*x!`, "", nil},
		{srch, `<!--.*?-->`, "", nil},
		{srch, `^\s+|\s+$`, "", nil},
		{safe, `x+y?`, "", nil},
		{safe, `\bx+\b`, "", nil},
		{safe, `\bword\b`, "", nil},
		{safe, `(?<!x)x+y`, "", nil},                                // begins once a run
		{poly, `=(\{(?:\{(?:\{[^}]*\}|[^}])*\}|[^}])+\})`, "", nil}, // one attempt is cubic
		{srch, `=\{[^}]*\}`, "", nil},
		// Assertions.
		{poly, `\b\w+\w+$`, "", nil},
		{srch, `^\s+!`, "m", []Dialect{JS, Python, PCRE, Java, DotNet}},
		{srch, `^\s+!`, "", []Dialect{Ruby}},
		{safe, `^\s+$`, "m", nil}, // the first line end will do
		{safe, `^\s+$`, "", []Dialect{JS, Python, PCRE, Java, DotNet}},
		{safe, `^(?:x$|x)*z`, "", nil},
		{safe, `^(?:\bx|,)*z`, "", nil},
		{expo, `^(?:\bx|\b.|,)*z`, "", nil},
		{expo, `^(?=(?:x+)+y)`, "", nil},
		{expo, `^(?!(?:x+)+y)`, "", nil},
		{expo, `^(?=.*[A-Z])(?=.*\d)(?:[A-Za-z\d]+)+$`, "", nil},
		{safe, `^(?=.*[A-Z])(?=.*\d)[A-Za-z\d]+$`, "", nil},
		{safe, `^(?:(?=x)x|(?!x)\w)*!`, "", nil},
		{srch, `(?>(?:xx)*)*$`, "", []Dialect{PCRE}}, // whatever begins later is tried later
		{huh, `(?<=x+)y`, "", []Dialect{JS, DotNet}},
		// Backreferences.
		{poly, `^(x*)\1y`, "", nil},
		{poly, "^(`+)([^~]*[^`])\\1$", "", nil},
		{safe, `^(x)\1*y`, "", nil},
		{expo, `^(["'])(?:\\?.)*?\1`, "", nil},
		// Ways that are not tried again.
		{safe, `^(?>x+)+y`, "", []Dialect{PCRE, Ruby, Java, DotNet, Python}},
		{safe, `^(?:x++)+y`, "", []Dialect{PCRE, Java, Python, MySQL}},
		{safe, `^x*+x*y`, "", []Dialect{PCRE, Java}},
		{expo, `^(?>x*)(?:y+)+z`, "", []Dialect{PCRE, Java}},
		// Spelling.
		{expo, `^ ( x + ) + y # no comment`, "x", []Dialect{Python, PCRE, Ruby, Java, DotNet}},
		{expo, `(?i)^(?:x|X)+y`, "", []Dialect{PCRE, Java, Ruby}},
		{expo, `^(?:\x78|\u0078)+!`, "", []Dialect{JS, Java}},
		{expo, `^(?:\170|x)+!`, "", []Dialect{JS, Python, PCRE}},
		{expo, `^(?:\p{L}|\p{Lu})+!`, "u", []Dialect{JS, PCRE, Java}},
		{safe, `^(?:\p{Ll}|\p{Lu})+!`, "u", []Dialect{JS, PCRE, Java}},
		{expo, `^(?:[[:alpha:]]|[[:upper:]])+!`, "", []Dialect{PCRE, Ruby, MySQL}},
		{safe, `^(?:[a-z&&[^x]]|x)+!`, "", []Dialect{Java, Ruby}},
		{safe, `^(?:[a-z-[x]]|x)+!`, "", []Dialect{DotNet}},
		{safe, `^(?:[a-z--x]|x)+!`, "v", []Dialect{JS}},
		{safe, `^[\q{xy}]*[\q{xy}]*$`, "v", []Dialect{JS}},
		{poly, `^[\q{x|y}]*[\q{x}]*$`, "v", []Dialect{JS}},
		{safe, `^(?:[^]|[])*!`, "", []Dialect{JS}},
		{expo, `^(?<n>x+)+\k<n>y`, "", []Dialect{JS, PCRE, Java, DotNet, Ruby}},
		{expo, `^(?P<n>x+)+(?P=n)y`, "", []Dialect{Python, PCRE}},
		{expo, `^\Q(x\E+(?:y+)+z`, "", []Dialect{PCRE, Java, MySQL}},
		// Rounds without a rune: JavaScript refuses them, the others leave after one.
		{safe, `^(?:(?:x?)*y)*$`, "", []Dialect{JS}},
		{expo, `^(?:(?:x?)*y)*$`, "", []Dialect{Python, PCRE, DotNet}},
		{expo, `^(?:(?:x?){0,9}y)*$`, "", []Dialect{Python, PCRE, Java}},
		// Automata.
		{safe, `(x+)+y`, "", []Dialect{RE2, Lucene, Postgres}},
		{expo, `^(x+)+\1y`, "", []Dialect{Postgres}},
		// Beyond.
		{huh, `^(x(?R)?y)$`, "", []Dialect{PCRE}},
		{huh, `(x`, "", nil},
		{huh, `[x`, "", nil},
		{huh, strings.Repeat("x", MaxPattern+1), "", nil},
	} {
		judge(t, c.want, c.pattern, c.flags, c.dialects)
	}
}

func judge(t *testing.T, want, pattern, flags string, dialects []Dialect) {
	t.Helper()
	if dialects == nil {
		dialects = []Dialect{JS, Python, Java}
	}
	for i, d := range dialects {
		r := Analyze(pattern, Options{Dialect: d, Flags: flags})
		if got := kind(r); got != want {
			t.Errorf("%v %.60q %q: %s, want %s: %+v", d, pattern, flags, got, want, r)
		}
		if i == 0 { // the others' matchers differ in empty rounds only
			grows(t, pattern, Options{Dialect: d, Flags: flags}, r)
		}
	}
}

// grows runs a witness by itself: twice the pumps must be more than twice the
// steps.
func grows(t *testing.T, pattern string, o Options, r Result) {
	t.Helper()
	if r.Class != Polynomial && r.Class != Exponential {
		return
	}
	if !r.Confirmed || r.Witness.Pump == "" || r.Reason == "" || r.Offset < 0 || r.Offset > len(pattern) {
		t.Errorf("%v %q: incomplete: %+v", o.Dialect, pattern, r)
	}
	const limit = 100_000
	steps := func(n int) number { return run(t, pattern, o, r.Witness.Text(n), limit).total }
	if r.Class == Exponential {
		if few, many := steps(5), steps(12); many < 8*few && many < limit {
			t.Errorf("%v %q: %.0f and %.0f steps with 5 and 12 pumps of %+v", o.Dialect, pattern, few, many, r.Witness)
		}
		return
	}
	if few, many := steps(100), steps(200); many < 3*few && many < limit {
		t.Errorf("%v %q: %.0f and %.0f steps with 100 and 200 pumps of %+v", o.Dialect, pattern, few, many, r.Witness)
	}
}

// run searches text with the matcher.
func run(t *testing.T, pattern string, o Options, text string, limit int) effort {
	t.Helper()
	if _, bad := parse(pattern, o); bad != nil {
		t.Fatalf("%v %q: %+v", o.Dialect, pattern, bad)
	}
	return quick(pattern, o, text, limit)
}
