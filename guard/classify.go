package guard

import "strings"

// Caller is what is known of who sends a query.
type Caller struct {
	OpaqueID string
	APIKey   string // the key's id
	User     string
	Header   func(name string) string // may be nil
}

// Classify is the name of the class that the caller belongs to, or "".
func (g *Guard) Classify(c Caller) string {
	for _, class := range g.policy.Load().order {
		if class.match.conditions() > 0 && class.match.matches(c) {
			return class.name
		}
	}
	return ""
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

// literal is how much plain text must match, at least.
func (m Match) literal() int {
	total := 0
	for _, list := range [][]string{m.OpaqueID, m.APIKey, m.User} {
		least := -1
		for _, p := range list {
			if n := literal(p); least < 0 || n < least {
				least = n
			}
		}
		total += max(least, 0)
	}
	for _, h := range m.Header {
		total += literal(h)
	}
	return total
}

func (m Match) matches(c Caller) bool {
	for _, h := range m.Header {
		name, pattern, _ := strings.Cut(h, ":")
		if c.Header == nil || !anyOf([]string{strings.TrimSpace(pattern)}, c.Header(strings.TrimSpace(name))) {
			return false
		}
	}
	return anyOf(m.OpaqueID, c.OpaqueID) && anyOf(m.APIKey, c.APIKey) && anyOf(m.User, c.User)
}

// anyOf reports whether text matches one of the patterns, or there are none.
// A caller who says nothing matches no pattern, not even *.
func anyOf(patterns []string, text string) bool {
	for _, p := range patterns {
		if text != "" && glob(p, text) {
			return true
		}
	}
	return len(patterns) == 0
}
