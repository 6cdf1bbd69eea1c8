package shed

import (
	"fmt"
	"strings"
)

// Priority says how bad it is to refuse work. Higher is more important. The zero value is Critical, the default.
type Priority int8

// The criticalities of Google's "Site Reliability Engineering", chapter 21.
const (
	CriticalPlus  Priority = 1  // users notice at once: refuse it last
	Critical      Priority = 0  // users notice
	SheddablePlus Priority = -1 // may wait minutes or hours: batches
	Sheddable     Priority = -2 // may fail, often
)

// Tiers is the number of priorities.
const Tiers = 4

// Priorities returns all of them, the most important first.
func Priorities() [Tiers]Priority {
	return [Tiers]Priority{CriticalPlus, Critical, SheddablePlus, Sheddable}
}

// Tier returns 0 for CriticalPlus to 3 for Sheddable. Other values count as the nearest priority.
func (p Priority) Tier() int { return int(CriticalPlus - min(max(p, Sheddable), CriticalPlus)) }

// String returns the name that headers and settings use.
func (p Priority) String() string {
	switch p {
	case CriticalPlus:
		return "critical-plus"
	case Critical:
		return "critical"
	case SheddablePlus:
		return "sheddable-plus"
	case Sheddable:
		return "sheddable"
	}
	return fmt.Sprintf("priority(%d)", int8(p))
}

// MarshalText encodes the name.
func (p Priority) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText decodes a name, as [ParsePriority] does.
func (p *Priority) UnmarshalText(text []byte) error {
	got, err := ParsePriority(string(text))
	if err == nil {
		*p = got
	}
	return err
}

// ParsePriority reads a name in any case; CRITICAL_PLUS, critical-plus and
// critical+ are the same. It allocates only for its error.
func ParsePriority(s string) (Priority, error) {
	base, plus := s, false
	switch n := len(s); {
	case n > 0 && s[n-1] == '+':
		base, plus = s[:n-1], true
	case n > 5 && (s[n-5] == '-' || s[n-5] == '_') && strings.EqualFold(s[n-4:], "plus"):
		base, plus = s[:n-5], true
	}
	switch {
	case strings.EqualFold(base, "critical") && plus:
		return CriticalPlus, nil
	case strings.EqualFold(base, "critical"):
		return Critical, nil
	case strings.EqualFold(base, "sheddable") && plus:
		return SheddablePlus, nil
	case strings.EqualFold(base, "sheddable"):
		return Sheddable, nil
	}
	if len(s) > 40 {
		s = s[:40] + "…"
	}
	return Critical, fmt.Errorf("priority %q is unknown, want critical-plus, critical, sheddable-plus or sheddable", s)
}
