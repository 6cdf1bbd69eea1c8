package breaker

import "fmt"

// State is where a breaker stands.
type State uint8

// The states.
const (
	Closed   State = iota // calls pass
	HalfOpen              // a few calls pass, to see
	Open                  // calls are refused
)

// String returns the state's stable name.
func (s State) String() string {
	switch s {
	case Closed:
		return "closed"
	case HalfOpen:
		return "half-open"
	case Open:
		return "open"
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// MarshalText encodes the stable name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText decodes a stable name.
func (s *State) UnmarshalText(text []byte) error {
	for i := range Open + 1 {
		if i.String() == string(text) {
			*s = i
			return nil
		}
	}
	return fmt.Errorf("state %.40q of a circuit breaker is unknown, want closed, half-open or open", text)
}
