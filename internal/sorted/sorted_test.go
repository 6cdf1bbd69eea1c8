package sorted_test

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/internal/sorted"
)

type item struct{ key, place int }

func byKey(a, b item) int { return cmp.Compare(a.key, b.key) }

// The results are those of package slices.
func TestSortedAsSlices(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		keys := rapid.SliceOf(rapid.IntRange(0, 9)).Draw(r, "keys")
		var list []item
		for i, key := range keys {
			list = append(list, item{key, i})
		}
		want := slices.Clone(list)
		slices.SortStableFunc(want, byKey)
		stable := slices.Clone(list)
		sorted.StableFunc(stable, byKey)
		if !slices.Equal(stable, want) {
			t.Fatalf("stable: %v, want %v", stable, want)
		}
		both := func(a, b item) int { return cmp.Or(byKey(a, b), cmp.Compare(a.place, b.place)) }
		if got := sorted.Collect(slices.Values(list), both); !slices.Equal(got, want) {
			t.Fatalf("collected: %v, want %v", got, want)
		}
	})
}
