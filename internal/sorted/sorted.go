// Package sorted sorts as package slices does, with less code: slices compiles its whole algorithm, about 15 kB, again for
// every type of elements. It takes up to twice as long, so that it is for lists that people read, not for paths that every
// request takes.
package sorted

import (
	"iter"
	"slices"
	"sort"
)

// Func sorts a list as [slices.SortFunc] does.
func Func[T any](list []T, cmp func(a, b T) int) {
	sort.Slice(list, func(i, j int) bool { return cmp(list[i], list[j]) < 0 })
}

// StableFunc sorts a list as [slices.SortStableFunc] does.
func StableFunc[T any](list []T, cmp func(a, b T) int) {
	sort.SliceStable(list, func(i, j int) bool { return cmp(list[i], list[j]) < 0 })
}

// Collect returns the values in their order, as [slices.SortedFunc] does.
func Collect[T any](values iter.Seq[T], cmp func(a, b T) int) []T {
	list := slices.Collect(values)
	Func(list, cmp)
	return list
}
