package backoff

import (
	"fmt"
	"slices"
	"strings"
)

// Strategy says how waits grow and how they are spread.
type Strategy string

// The strategies. c is min(Cap, Base·2^attempt).
const (
	Immediate    Strategy = "immediate"           // 0
	Fixed        Strategy = "fixed"               // Base
	Exponential  Strategy = "exponential"         // c
	FullJitter   Strategy = ""                    // uniform between 0 and c; written full-jitter
	EqualJitter  Strategy = "equal-jitter"        // c/2, and uniform between 0 and c/2 on top
	Decorrelated Strategy = "decorrelated-jitter" // min(Cap, uniform between Base and 3 × the wait before)
)

const fullJitter = "full-jitter"

// Strategies returns the names of all strategies, as in a settings file.
func Strategies() []string {
	return []string{
		string(Immediate), string(Fixed), string(Exponential), fullJitter, string(EqualJitter), string(Decorrelated),
	}
}

// String returns the name of s, as in a settings file.
func (s Strategy) String() string {
	if s == FullJitter {
		return fullJitter
	}
	return string(s)
}

// Valid returns an error if s is not a strategy.
func (s Strategy) Valid() error {
	names := Strategies()
	if slices.Contains(names, s.String()) {
		return nil
	}
	last := len(names) - 1
	return fmt.Errorf("strategy %.40q is unknown, want %s or %s", string(s), strings.Join(names[:last], ", "), names[last])
}

// MarshalText encodes the name.
func (s Strategy) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText decodes a name; an empty text is full-jitter.
func (s *Strategy) UnmarshalText(text []byte) error {
	named := Strategy(text)
	if err := named.Valid(); err != nil {
		return err
	}
	if named == fullJitter {
		named = FullJitter
	}
	*s = named
	return nil
}
