package redos

import (
	"strings"
	"testing"
)

// TestFixes: a fix names the parts of that very pattern, and where they begin.
func TestFixes(t *testing.T) {
	for _, c := range []struct {
		d       Dialect
		pattern string
		offset  int
		says    []string
	}{
		{JS, `^k(?:m+)+z`, 2, []string{"m+", "(?:m+)+"}},
		{PCRE, `^k(?:m+)+z`, 2, []string{"possessive", "m++"}},
		{Python, `^k(?:m+)+z`, 2, []string{"3.11", "m++"}},
		{DotNet, `^k(?:m+)+z`, 2, []string{"(?>m+)"}},
		{JS, `^k(?:m|[l-n])*z`, 2, []string{"alternatives", "(?:m|[l-n])*"}},
		{JS, `^k(?:m?n?)*z`, 2, []string{"absent", "(?:m?n?)*"}},
		{JS, `^k[lm]*[mn]*z`, 7, []string{"[lm]*", "[mn]*", "{0,100}"}},
		{Java, `^k[lm]*[mn]*z`, 7, []string{"[lm]*+"}},
		{JS, `k\w*!$`, 1, []string{"^", `\w*`}},
		{JS, `([`, 2, []string{"missing ]"}},
		{JS, `a(b`, 3, []string{"missing )"}},
		{PCRE, `^(m(?R)?n)$`, -1, []string{"recursion"}},
		{JS, strings.Repeat("m", MaxPattern+1), MaxPattern, []string{"65536"}},
	} {
		r := Analyze(c.pattern, Options{Dialect: c.d})
		if r.Offset != c.offset {
			t.Errorf("%v %.40q: at %d, want %d: %+v", c.d, c.pattern, r.Offset, c.offset, r)
		}
		for _, s := range c.says {
			if !strings.Contains(r.Fix, s) {
				t.Errorf("%v %.40q: %q does not say %q", c.d, c.pattern, r.Fix, s)
			}
		}
	}
	if r := Analyze(`^m+n`, Options{}); r.Fix != "" {
		t.Errorf("a safe expression is to be mended: %+v", r)
	}
}
