package redos

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzAnalyze(f *testing.F) {
	for _, seed := range []string{
		`^(?:x+)+y`, `(x*)*\1`, `(?=(?:x|y)*z)w`, `[^\w\s-\]]{2,9}?`, `(?<n>a)\k<n>|\x41\u{62}`, `(?i-s:a(?x) b #c`,
		`[a-z&&[^b]--[c]]`, `\p{L}\P{Greek}\pN`, `(((((((((())))))))))`, `a{2}{3}{4}`, `(?(1)a|b)`, `\Q*\E+`,
		`<1-9>@~"x"#&`, `(*ACCEPT)(?R)`, `[[:alpha:]`, `(?<=a+|b)(?<!c)\b\B`, `x**`, `{`, `\`, `[`, `(?`, "\xff\xfe",
		`(?:(?:(?:x?)*y?)*z?)*`, `(a{1,40}){1,40}$`, `(?>x+)++`, `\g{-1}\g<x>`, `(?P<a>.)(?P=a)`, `|||`, `()*`, `(|)*`,
	} {
		f.Add(seed, "i", uint8(0))
		f.Add(seed, "xsm", uint8(2))
	}
	f.Fuzz(func(t *testing.T, pattern, flags string, dialect uint8) {
		o := Options{Dialect: Dialect(dialect % uint8(Postgres+1)), Flags: flags, Budget: 150_000}
		r := Analyze(pattern, o)
		if r.Steps > o.Budget || r.Offset > len(pattern) {
			t.Errorf("%+v", r)
		}
		if again := Analyze(pattern, o); again != r {
			t.Errorf("%+v, then %+v", r, again)
		}
		if (r.Class == Polynomial || r.Class == Exponential) != (r.Witness.Pump != "") {
			t.Errorf("a witness without a finding, or the reverse: %+v", r)
		}
		if !utf8.ValidString(r.Witness.Text(2)) {
			t.Errorf("the witness is no text: %+v", r)
		}
	})
}

// TestHostile runs what is written to be expensive.
func TestHostile(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	noise := func(from string, n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte(from[rng.IntN(len(from))])
		}
		return b.String()
	}
	patterns := map[string]string{
		"deep":          strings.Repeat("(", 5000) + strings.Repeat(")", 5000),
		"deep loops":    strings.Repeat("(", 200) + "x" + strings.Repeat("+)", 200) + "y",
		"wide":          "(?:" + strings.Repeat("a|", 4000) + "b)*c",
		"words":         "(?:" + strings.Repeat("ab*c|", 1500) + "b)*d",
		"counts":        "(((x{1,999}){1,999}){1,999}){1,999}y",
		"exact counts":  "(((x{999}){999}){999}){999}y",
		"optional":      strings.Repeat("a?", 2500) + strings.Repeat("a", 2500) + "$",
		"stars":         strings.Repeat("a*", 5000) + "b",
		"empties":       strings.Repeat("(|", 120) + strings.Repeat(")*", 120),
		"classes":       classes(rng, 900),
		"properties":    strings.Repeat(`[\p{L}\p{Lu}\p{Greek}\P{Nd}]*`, 300),
		"lookaheads":    strings.Repeat("(?=.*a)(?!.*b)", 600) + "c",
		"lookbehinds":   strings.Repeat("(?<=a+)(?<!b*c)", 600) + "c",
		"backrefs":      strings.Repeat("(a*)", 90) + strings.Repeat(`\1\2\3`, 900) + "b",
		"nested refs":   "(a*)" + strings.Repeat(`(\1*)(\2*)(\3*)`, 200),
		"atomic":        strings.Repeat("(?>a*)", 1600) + "b",
		"quantifiers":   "a" + strings.Repeat("{0,9}", 1900),
		"noise":         noise(`ab*+?()[]{}|\^$.,19-`, MaxPattern),
		"loops of loop": strings.Repeat("(?:a*b*)*", 1100) + "c",
	}
	for name, pattern := range patterns {
		for _, d := range []Dialect{JS, PCRE, Lucene} {
			o := Options{Dialect: d, Budget: 200_000}
			r := Analyze(pattern[:min(len(pattern), MaxPattern)], o)
			if r.Steps > o.Budget {
				t.Errorf("%s %v: %d steps", name, d, r.Steps)
			}
		}
	}
}

// classes is n bracket expressions, no two alike.
func classes(rng *rand.Rand, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("[" + string(rune(0x4e00+i)) + string(rune('a'+rng.IntN(26))) + "]*")
	}
	return b.String()[:min(b.Len(), MaxPattern-1)]
}
