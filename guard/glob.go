package guard

import "strings"

// glob reports whether text matches pattern: * matches any text and ? any one byte. It
// backtracks to the last * only, so it takes at most len(pattern) × len(text) steps.
func glob[T string | []byte](pattern string, text T) bool {
	p, t, star, mark := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			mark++
			p, t = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// overlap reports whether some name may match both patterns. It compares only the literal
// text before the first and after the last wildcards, so it may report an overlap that does
// not exist, but never misses one.
func overlap(a, b string) bool {
	if !wild(a) {
		return glob(b, a)
	}
	if !wild(b) {
		return glob(a, b)
	}
	headA, headB := a[:strings.IndexAny(a, "*?")], b[:strings.IndexAny(b, "*?")]
	tailA, tailB := a[strings.LastIndexAny(a, "*?")+1:], b[strings.LastIndexAny(b, "*?")+1:]
	return (strings.HasPrefix(headA, headB) || strings.HasPrefix(headB, headA)) &&
		(strings.HasSuffix(tailA, tailB) || strings.HasSuffix(tailB, tailA))
}

func wild(s string) bool { return strings.IndexByte(s, '*') >= 0 || strings.IndexByte(s, '?') >= 0 }

// literal counts the characters of a pattern that are not wildcards.
func literal(pattern string) int {
	return len(pattern) - strings.Count(pattern, "*") - strings.Count(pattern, "?")
}

// target normalizes one name of a list of indices for rules and hints: it removes the
// cluster, and replaces _all, date math and an empty name by *.
func target(name string) string {
	switch {
	case name == "" || name == "_all" || strings.HasPrefix(name, "<"):
		return "*"
	}
	if i := strings.IndexByte(name, ':'); i >= 0 {
		name = name[i+1:]
	}
	return name
}
