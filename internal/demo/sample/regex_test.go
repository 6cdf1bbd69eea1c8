package sample

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPatternMatches(t *testing.T) {
	tests := []struct {
		expr, text string
		want       bool
	}{
		{"", "", true},
		{"lamp", "blue lamp 0042", true},
		{"^lamp", "blue lamp", false},
		{"lamp$", "blue lamp", true},
		{"^blue.*lamp$", "blue desk lamp", true},
		{"colou?r", "color", true},
		{"(ab)*c", "ababc", true},
		{"a|b|", "zzz", true},
		{"^(red|blue) ", "blue mug", true},
		{"[0-9]+$", "mug 0042", true},
		{"^[^a-z]+$", "mug", false},
		{`^\(a\)$`, "(a)", true},
		{"(a*)*b", "aaac", false}, // a round that matches nothing must end
		{"(a+)+$", "aaaa!", false},
		{"^(a?)+$", "aaa", true},
	}
	for _, tt := range tests {
		p, err := compile(tt.expr)
		if err != nil {
			t.Errorf("compile(%q): %v", tt.expr, err)
			continue
		}
		if got := p.matches(tt.text); got != tt.want {
			t.Errorf("%q matches %q: %v, want %v", tt.expr, tt.text, got, tt.want)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	for _, expr := range []string{"*a", "(a", "a)", "[]", "[a", `\`, "(?", strings.Repeat("a", maxPattern+1)} {
		if _, err := compile(expr); !errors.Is(err, errPattern) {
			t.Errorf("compile(%q) = %v, want errPattern", expr, err)
		}
	}
}

// The matcher says what Go's own engine says, on patterns over a tiny alphabet.
func TestPatternAgreesWithRegexp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		expr := rapid.StringMatching(`(\^)?([ab.]|\([ab]+\|[ab]?\)|\([ab]\+b?\))([*+?])?([ab][*?]?)?(\$)?`).Draw(t, "expr")
		text := rapid.StringMatching(`[abc]{0,8}`).Draw(t, "text")
		want := regexp.MustCompile(expr)
		p, err := compile(expr)
		if err != nil {
			t.Fatalf("compile(%q): %v", expr, err)
		}
		if got := p.matches(text); got != want.MatchString(text) {
			t.Fatalf("%q on %q: %v, regexp says %v", expr, text, got, !got)
		}
	})
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{"", "(a+)+$", "[a-z]*", `\`, "((((", "a|b", "[^]]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		p, err := compile(expr)
		if (p == nil) == (err == nil) {
			t.Fatalf("compile(%q) = %v, %v", expr, p, err)
		}
	})
}

// steps counts how often an expression looks at a byte before it gives up.
func steps(t *testing.T, expr, text string) int {
	t.Helper()
	p, err := compile(expr)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	p.root.match(text, 0, func(int) bool { n++; return false })
	return n
}

// The hanging pill must hang: each further "a" doubles the work.
func TestBacktrackingIsExponential(t *testing.T) {
	short := steps(t, "(a+)+", strings.Repeat("a", 10))
	long := steps(t, "(a+)+", strings.Repeat("a", 14))
	if long < 15*short {
		t.Errorf("4 more bytes took %d steps after %d, want 16 times as many", long, short)
	}
	if !strings.HasSuffix(screamer, "a!") || len(screamer) < 32 {
		t.Errorf("the catalogue's screamer %q hangs nobody", screamer)
	}
}
