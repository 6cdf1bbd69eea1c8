package redos

import (
	"strings"
	"testing"
)

// TestBehind: lookbehinds over short texts are safe, others unknown, since they are
// read from right to left.
func TestBehind(t *testing.T) {
	for _, c := range []struct{ want, pattern string }{
		{huh, `(?<=^(?:x+y?)+)z`},
		{huh, `(?<!^(?:x+y?)+)z`},
		{huh, `(?<=-(?:\w+ ?)+)z`},
		{huh, `(?<=a(?:(?:xy|x|y)+)b)z`},
		{huh, `(?<=^(?<n>(?:\w|\d+)+)!)z`},
		{huh, `\w(?<=^(?:x+)+y)`},
		{expo, `\d+(?<!\.(?:\d+\d?)+)$`},
		{huh, `(?<=(?=(?:x+)+y).)z`},
		{huh, `(?<=^.*,.*,.*)z`},
		{huh, `(?<!^x*x*y)z`},
		{huh, `(?<=x+)y`},
		{huh, `(?<=^x+)y`},
		{huh, `(?<=x{1,500}x{1,500})y`},
		{huh, `(?<=(?:x{1,8}){1,8})y`},
		{expo, `(?<=x+)(?:y+)+z`}, // what is outside is judged
		{expo, `(?<=ab)(?:y+)+z`},
		{expo, `(?<!ab)(?:y+)+z`},
		{expo, `(?<=[$] ?)x(?:y+)+z`},
		{poly, `(?<=ab)\w*x\w*z`},
		{safe, `(?<=xy)z`},
		{safe, `(?<=^x{1,3})y`},
		{safe, `(?<=\$\d{1,9})z`},
		{safe, `(?<!\b(?:Mr|Mrs|Dr))\. `},
	} {
		for _, d := range []Dialect{JS, DotNet} {
			r := Analyze(c.pattern, Options{Dialect: d})
			if got := kind(r); got != c.want {
				t.Errorf("%v %q: %s, want %s: %+v", d, c.pattern, got, c.want, r)
			}
			grows(t, c.pattern, Options{Dialect: d}, r)
		}
	}
}

// Looking back over one length costs that length.
func TestBehindOneLength(t *testing.T) {
	for _, d := range []Dialect{Python, PCRE, Ruby, JS} {
		if r := Analyze(`(a)b(?<=\1)a`, Options{Dialect: d}); r.Class != Safe {
			t.Errorf("%v: %+v", d, r)
		}
	}
}

// TestShown has loops begin only where a lookaround over several runes matches.
func TestShown(t *testing.T) {
	for _, c := range []struct{ want, pattern string }{
		{srch, `(?=<!)[^"]*?>`},
		{srch, `(?<=<!)[^"]*?(?=>)`},
		{srch, `(?<=<td>).*(?=</td>)`},
		{srch, `(?=ab)\w+;`},
		{srch, `(?<=key: ).*(?=\.)`},
		{expo, `^(?:(?=xyz)\w+)+;`},
		{expo, `(?:(?<=ab)\w+)+;`},
		{expo, `^(c*)*?(?![^,]{2})`},
		{poly, `[^.;]+(?![^:]*;)`},
		{poly, `^(.*),(.*)(?!--)[^,]$`},
		{safe, `^\w*(?!;;)`},
		{safe, `(?=<!)[^<]*?>`},
		{safe, `(?<="key":")[^"]*(?=")`},
	} {
		for _, d := range []Dialect{JS, Java} {
			r := Analyze(c.pattern, Options{Dialect: d})
			if got := kind(r); got != c.want {
				t.Errorf("%v %q: %s, want %s: %+v", d, c.pattern, got, c.want, r)
			}
			grows(t, c.pattern, Options{Dialect: d}, r)
		}
	}
}

// TestElsewhere has loops that are judged by themselves refer to groups outside
// of them.
func TestElsewhere(t *testing.T) {
	var b strings.Builder
	for c := 'a'; c <= 't'; c++ {
		b.WriteString("([" + string(c) + string(c+1) + "])")
	}
	after := strings.Repeat(`[a-f]{2}z?y`, 400)
	for want, loop := range map[string]string{
		expo: `(?:(?:\20|x|x)+y?)+`, // \20 is one of t and u
		safe: `(?:\20x|x)+`,
	} {
		if r := Analyze(`^`+b.String()+loop+after+`$`, Options{Dialect: PCRE}); kind(r) != want {
			t.Errorf("%s: %+v", loop, r)
		}
	}
}
