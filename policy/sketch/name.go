package sketch

import "unicode/utf8"

// MaxName bounds a [Name], in bytes.
const MaxName = 63

// A Name is the name of a key, stored in place so that taking a counter allocates nothing. Two keys may have the same name.
type Name struct {
	n    uint8
	text [MaxName]byte
}

// MakeName returns s as a name. Text beyond [MaxName] is cut between two characters, and ends in "…".
func MakeName(s string) (n Name) {
	const end = "…"
	if len(s) <= MaxName {
		n.n = uint8(copy(n.text[:], s))
		return n
	}
	cut := MaxName - len(end)
	for cut > MaxName-len(end)-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	copy(n.text[:], s[:cut])
	n.n = uint8(cut + copy(n.text[cut:], end))
	return n
}

// String returns the name. It comes from callers and may be hostile.
func (n *Name) String() string { return string(n.text[:n.n]) }
