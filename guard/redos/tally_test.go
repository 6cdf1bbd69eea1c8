package redos

import (
	"testing"

	"pgregory.net/rapid"
)

// TestTally counts the same attacks on the tally and on the machine.
func TestTally(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.SampledFrom([]string{"^", "", `\b`, "(?<=a)", "^aaaaa[ab]b"}).Draw(t, "begin") + anything(3).Draw(t, "pattern") +
			rapid.SampledFrom([]string{"$", "c", "", `\b`, "(?!a)"}).Draw(t, "end")
		o := Options{Dialect: rapid.SampledFrom([]Dialect{JS, Python, PCRE}).Draw(t, "dialect")}
		tr, bad := parse(pattern+"|[a][b][!]", o)
		if bad != nil {
			t.Fatal(bad.what)
		}
		alpha := newAlphabet(tr, &budget{1 << 40})
		prog := compile(tr, o.Dialect)
		m, c := newMachine(prog, alpha), newTally(prog, alpha)
		if c == nil {
			t.Fatal("no tally")
		}
		atoms := func(text string) (w []int) {
			for _, r := range text {
				w = append(w, alpha.atom(r))
			}
			return w
		}
		word := func(name string, from int) []int {
			return atoms(rapid.StringOfN(rapid.SampledFrom([]rune("ab!")), from, 3, -1).Draw(t, name))
		}
		w := attack{prefix: append(atoms(rapid.SampledFrom([]string{"", "aaaaaab"}).Draw(t, "lead")), word("prefix", 0)...), pump: word("pump", 1), suffix: word("suffix", 0)}
		w.start = rapid.IntRange(0, len(w.prefix)).Draw(t, "start")
		const limit = 20_000
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 12), 1, 6).Draw(t, "pumps") {
			same(t, "attempt", pattern, w, n, m.attempt(w.text(n), w.start, limit), c.attempt(w, n, limit))
			same(t, "search", pattern, w, n, m.search(w.text(n), false, limit), c.search(w, n, false, limit))
		}
	})
}

func same(t *rapid.T, what, pattern string, w attack, n int, want, got effort) {
	t.Helper()
	if got.over && !want.over || !want.over && (got.total != want.total || got.matched != want.matched) {
		t.Fatalf("%s of %q with %d of %v: %+v, want %+v", what, pattern, n, w, got, want)
	}
}

// anything draws a pattern over a and b with all that the tally can do.
func anything(depth int) *rapid.Generator[string] {
	leaf := rapid.SampledFrom([]string{"a", "b", "[ab]", "a", "ab", "", `\b`, "^", "$", "(?<!a)", "(?<=ab)", "(?<=a+)"})
	if depth == 0 {
		return leaf
	}
	sub := anything(depth - 1)
	around := func(before, after string) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string { return before + sub.Draw(t, "body") + after })
	}
	return rapid.OneOf(
		leaf,
		rapid.Custom(func(t *rapid.T) string { return sub.Draw(t, "l") + sub.Draw(t, "r") }),
		rapid.Custom(func(t *rapid.T) string { return "(?:" + sub.Draw(t, "l") + "|" + sub.Draw(t, "r") + ")" }),
		rapid.Custom(func(t *rapid.T) string {
			times := rapid.SampledFrom([]string{"*", "+", "?", "*?", "{2}", "{1,3}", "{0,2}?", "{2,}", "{3,}?"}).Draw(t, "times")
			return "(" + sub.Draw(t, "body") + ")" + times
		}),
		around("(?>", ")"), around("(?=", ")"), around("(?!", ")"), around("(?:", "|)*"),
	)
}
