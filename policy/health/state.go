package health

import "fmt"

// State is the state of a check.
type State uint8

// The states, from good to bad.
const (
	OK       State = iota
	Degraded       // works, but a person should look at it
	Failing        // does not work
)

// String returns the state's stable name.
func (s State) String() string {
	if names := [...]string{"ok", "degraded", "failing"}; int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// MarshalText encodes the stable name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText decodes a stable name.
func (s *State) UnmarshalText(text []byte) error {
	for i := range Failing + 1 {
		if i.String() == string(text) {
			*s = i
			return nil
		}
	}
	return fmt.Errorf("state %.40q of health is unknown, want ok, degraded or failing", text)
}

// With returns the state of a whole after adding a part: as bad as the worst part, but an optional part only degrades it.
func (s State) With(part State, optional bool) State {
	if optional {
		part = min(part, Degraded)
	}
	return max(s, part)
}
