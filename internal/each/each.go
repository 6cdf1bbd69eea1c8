// Package each makes one list out of another, where a loop would say no more than that.
package each

// Of returns f of each element, in the order of the list. The result is never nil.
func Of[T, U any](list []T, f func(T) U) []U {
	out := make([]U, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}
