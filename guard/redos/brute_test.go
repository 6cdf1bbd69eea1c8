package redos

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// looping draws a pattern over a and b with loops in it.
func looping(depth int) *rapid.Generator[string] {
	leaf := rapid.SampledFrom([]string{"a", "b", "[ab]", "a", "ab"})
	if depth == 0 {
		return leaf
	}
	sub := looping(depth - 1)
	return rapid.OneOf(
		leaf,
		rapid.Custom(func(t *rapid.T) string { return sub.Draw(t, "l") + sub.Draw(t, "r") }),
		rapid.Custom(func(t *rapid.T) string { return fmt.Sprintf("(?:%s|%s)", sub.Draw(t, "l"), sub.Draw(t, "r")) }),
		rapid.Custom(func(t *rapid.T) string {
			return "(?:" + sub.Draw(t, "body") + ")" + rapid.SampledFrom([]string{"*", "+", "?", "*?"}).Draw(t, "times")
		}),
	)
}

// TestBrute tries every short attack on random patterns. Whatever makes the
// matcher's steps grow, the automata must have found.
func TestBrute(t *testing.T) {
	words := []string{"", "a", "b", "aa", "ab", "ba", "bb", "aab", "abb"}
	rapid.Check(t, func(t *rapid.T) {
		end := rapid.SampledFrom([]string{"$", "c", "", `\b`}).Draw(t, "end")
		pattern := "^" + looping(3).Draw(t, "pattern") + end
		dialect := rapid.SampledFrom([]Dialect{JS, Python}).Draw(t, "dialect")
		o := Options{Dialect: dialect, Anchored: true, Budget: DefaultBudget}
		got := Analyze(pattern, o)
		if got.Class == Exponential {
			return
		}
		tr, bad := parse(pattern+"|[a][b][!]", o)
		if bad != nil {
			t.Fatal(bad.what)
		}
		a := &analysis{options: o, tree: tr, left: &budget{1 << 40}}
		if !a.prepare(some) {
			t.Fatal("over the bounds")
		}
		atoms := func(s string) (word []int) {
			for _, r := range s {
				for atom, stands := range a.alpha.runes {
					if stands == r {
						word = append(word, atom)
					}
				}
			}
			return word
		}
		for _, prefix := range words[:5] {
			for _, pump := range words[1:] {
				for _, suffix := range []string{"", "!", "a!"} {
					w := attack{prefix: atoms(prefix), pump: atoms(pump), suffix: atoms(suffix)}
					switch {
					case a.growth.doubles(w, a.growth.attempt):
						t.Fatalf("%v %q is %v, but exponential with %q %q %q", dialect, pattern, got.Class, prefix, pump, suffix)
					case got.Class == Safe && a.growth.power(w, a.growth.attempt) > 1.8:
						t.Fatalf("%v %q is safe, but polynomial with %q %q %q", dialect, pattern, prefix, pump, suffix)
					}
				}
			}
		}
	})
}
