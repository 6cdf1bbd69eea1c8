package guard

import "strings"

// Caller describes the sender of a query.
type Caller struct {
	OpaqueID string
	APIKey   string // ID of the key
	User     string
	Header   func(name string) string // may be nil
}

// Classify returns the name of the caller's class, or "". Among the classes whose
// conditions all match, it prefers the one with the most conditions, then the one with the
// longest matching patterns, then the first by name. The order of the classes in the limits
// does not matter.
func (g *Guard) Classify(c Caller) string {
	best, most, longest := "", 0, 0
	for _, class := range g.policy.Load().order { // sorted by conditions, then by name
		n := class.match.conditions()
		if n == 0 || n < most {
			break
		}
		if length, ok := class.match.matches(c); ok && (n > most || length > longest) {
			best, most, longest = class.name, n, length
		}
	}
	return best
}

func (m Match) conditions() int {
	n := len(m.Header)
	for _, list := range [][]string{m.OpaqueID, m.APIKey, m.User} {
		if len(list) > 0 {
			n++
		}
	}
	return n
}

// matches reports whether all conditions match, and the number of literal characters in the
// matching patterns.
func (m Match) matches(c Caller) (length int, ok bool) {
	for _, h := range m.Header {
		name, pattern, _ := strings.Cut(h, ":")
		pattern = strings.TrimSpace(pattern)
		if c.Header == nil {
			return 0, false
		}
		if text := c.Header(strings.TrimSpace(name)); text == "" || !glob(pattern, text) {
			return 0, false
		}
		length += literal(pattern)
	}
	for _, of := range [...]struct {
		patterns []string
		text     string
	}{{m.OpaqueID, c.OpaqueID}, {m.APIKey, c.APIKey}, {m.User, c.User}} {
		n, ok := anyOf(of.patterns, of.text)
		if !ok {
			return 0, false
		}
		length += n
	}
	return length, true
}

// anyOf reports whether text matches one of the patterns or the list is empty, and the
// number of literal characters in the longest match. An empty text matches no pattern, not
// even *.
func anyOf(patterns []string, text string) (length int, ok bool) {
	for _, p := range patterns {
		if text != "" && glob(p, text) {
			length, ok = max(length, literal(p)), true
		}
	}
	return length, ok || len(patterns) == 0
}
