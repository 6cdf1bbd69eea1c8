package redos

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		d              Dialect
		pattern, flags string
		yes, no        string // texts, by spaces
	}{
		{JS, `^a(?=b)`, "", "ab", "a ac"},
		{JS, `^a(?!b)`, "", "a ac", "ab"},
		{JS, `(?<=\$)\d`, "", "$1", "1 x1"},
		{JS, `(?<!ab)c`, "", "c bc", "abc"},
		{JS, `^(a+)\1$`, "", "aa aaaa", "a aaa"},
		{JS, `^(?<x>a|b)\k<x>$`, "", "aa bb", "ab ba"},
		{JS, `^(a)?\1b$`, "", "b aab", "ab"},
		{PCRE, `^(a)?\1b$`, "", "aab", "b ab"},
		{PCRE, `^(?>a+)b`, "", "aab", "b"},
		{PCRE, `^(?>a+)ab`, "", "", "aab"},
		{PCRE, `^a++b`, "", "aab", "b"},
		{PCRE, `^a*+a`, "", "", "aa"},
		{PCRE, `^(?i:a)b$`, "", "ab Ab", "aB"},
		{PCRE, `^a(?i)b$`, "", "ab aB", "AB"},
		{PCRE, `^(<)?a(?(1)>|!)$`, "", "<a> a!", "<a! a>"},
		{PCRE, `^\Qa.b\E+$`, "", "a.b a.bb", "axb"},
		{PCRE, `^\x{41}\101\cA?$`, "", "AA", "A"},
		{PCRE, `^[]a]+$`, "", "]a", "b"},
		{PCRE, `^[[:digit:]-]+$`, "", "1-2", "a"},
		{PCRE, `^\h+x\R$`, "", "", "x"},
		{PCRE, `^(a)(b)\g{-1}\g1$`, "", "abba", "abab"},
		{JS, `^[^]$`, "", "a", "ab"},
		{JS, `^[]`, "", "", "a"},
		{JS, `^a{2,3}$`, "", "aa aaa", "a aaaa"},
		{JS, `^a{,3}$`, "", "a{,3}", "aa"},
		{Python, `^a{,3}$`, "", "a aaa", "aaaa"},
		{JS, `^x{a}$`, "", "x{a}", "x"},
		{JS, `^\u{61}$`, "u", "a", "u"},
		{JS, `^\p$`, "", "p", "a"},
		{JS, `^\p{Script=Greek}$`, "u", "α", "a"},
		{JS, `^[\w--[a-f]]$`, "v", "g", "a"},
		{Java, `^[a-z&&[^c]]$`, "", "a", "c"},
		{Java, `^[a-c[x-z]]$`, "", "b y", "d"},
		{Java, `^\p{Lower}$`, "", "a", "A"},
		{DotNet, `^[a-z-[aeiou]]$`, "", "b", "a"},
		{Ruby, `^\h$`, "", "f", "g"},
		{Ruby, `\Aa\z`, "", "a", "ab"},
		{Python, `\Aa\Z`, "", "a", "ab"},
		{Python, `(?P<q>'|")x(?P=q)`, "", `'x' "x"`, `'x"`},
		{Python, "^ a b # c\n $", "x", "ab", "a"},
		{Postgres, `\mab\M`, "", "ab", "xab abx"},
		{MySQL, `[[:<:]]ab[[:>:]]`, "", "ab AB", "xab abx"},
		{Lucene, `^a$`, "", "^a$", "a"},
		{JS, `\bab\b`, "", "ab ,ab,", "xab abx"},
		{JS, `^(?:a|\B)+$`, "", "a", "b"},
		{JS, `^[\b]$`, "", "\b", "b"},
		{JS, `^\0$`, "", "\x00", "0"},
		{JS, `^(?:(a)|b)*\1$`, "", "aa", "c"},
	} {
		for want, texts := range map[bool]string{true: c.yes, false: c.no} {
			for text := range strings.FieldsSeq(texts) {
				if got := run(t, c.pattern, Options{Dialect: c.d, Flags: c.flags}, text, 10_000); got.matched != want {
					t.Errorf("%v %q %q matches %q: %v, want %v", c.d, c.pattern, c.flags, text, got.matched, want)
				}
			}
		}
	}
}

// expression draws a pattern that all dialects read in the same way.
func expression(depth int) *rapid.Generator[string] {
	leaf := rapid.SampledFrom([]string{"a", "b", "c", "[ab]", "[^a]", ".", `\b`, "^", "$", `\w`, "x"})
	if depth == 0 {
		return leaf
	}
	sub := expression(depth - 1)
	return rapid.OneOf(
		leaf, leaf,
		rapid.Custom(func(t *rapid.T) string { return sub.Draw(t, "l") + sub.Draw(t, "r") }),
		rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf("(?:%s|%s)", sub.Draw(t, "l"), rapid.OneOf(sub, rapid.Just("")).Draw(t, "r"))
		}),
		rapid.Custom(func(t *rapid.T) string {
			times := rapid.SampledFrom([]string{"*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "+?"}).Draw(t, "times")
			return "(" + sub.Draw(t, "body") + ")" + times
		}),
	)
}

// TestMatchAgrees holds the matcher against package regexp.
func TestMatchAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := expression(3).Draw(t, "pattern")
		text := rapid.StringMatching(`[abcx,]{0,8}`).Draw(t, "text")
		got := quick(pattern, Options{Dialect: PCRE}, text, 1_000_000)
		if got.over {
			return
		}
		// Without newlines the two agree about $.
		if want := regexp.MustCompile(pattern).MatchString(text); got.matched != want {
			t.Fatalf("%q matches %q: %v, want %v", pattern, text, got.matched, want)
		}
	})
}

// quick is run without a test.
func quick(pattern string, o Options, text string, limit int) effort {
	tr, bad := parse(pattern, o)
	if bad != nil {
		panic(bad.what)
	}
	a := &alphabet{}
	a.words, a.lines = a.class(tr.words), a.class(tr.lines)
	a.number(tr.root)
	own := map[rune]int{} // every rune of the text is an atom of its own
	for _, r := range text {
		own[r] = a.class(one(r))
	}
	a.cut()
	var atoms []int
	for _, r := range text {
		for atom := range a.runes {
			if a.in(own[r], atom) {
				atoms = append(atoms, atom)
			}
		}
	}
	return newMachine(compile(tr, o.Dialect), a).search(atoms, o.Anchored, limit)
}
