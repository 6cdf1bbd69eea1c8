// Package scratch is for memory that the readers of package guard keep from one query to the next: never more than ordinary
// queries need.
package scratch

// Bounds of Names.
const (
	mostNames   = 4096
	longestName = 512 // longer names are not kept
)

// Names turns the bytes of names into strings for lookups of hints. A name that it keeps costs no allocation. The zero
// value is ready to use.
type Names struct{ known map[string]string }

// Of returns the name.
func (n *Names) Of(b []byte) string {
	if len(b) > longestName {
		return string(b)
	}
	if s, ok := n.known[string(b)]; ok {
		return s
	}
	if n.known == nil || len(n.known) >= mostNames {
		n.known = make(map[string]string)
	}
	s := string(b)
	n.known[s] = s
	return s
}

// Trim drops the memory of a list that has room for more than most elements.
func Trim[T any](list *[]T, most int) {
	if cap(*list) > most {
		*list = nil
	}
}
