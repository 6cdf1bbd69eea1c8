package breaker

import (
	"fmt"
	"time"
)

// State is the state of a breaker.
type State uint8

// The states.
const (
	Closed   State = iota // calls pass
	HalfOpen              // a few calls pass as a test
	Open                  // calls are refused
)

// String returns the state's stable name.
func (s State) String() string {
	if names := [...]string{"closed", "half-open", "open"}; int(s) < len(names) {
		return names[s]
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

// Counts are the results in the window of this process.
type Counts struct {
	Calls  int `json:"calls"`
	Failed int `json:"failed"`
	Slow   int `json:"slow"`
	InARow int `json:"in_a_row"` // failures since the last success
}

// Counts returns the content of the window at now. The end of a state clears the window.
func (b *Breaker) Counts(now time.Time) Counts {
	c := b.Config.WithDefaults()
	at := now.UnixNano()
	sum := b.window.sum(at / int64(c.Window/buckets))
	row := b.window.row
	if at-b.window.last > int64(c.Window) || at < b.window.last {
		row = 0
	}
	return Counts{Calls: int(sum.calls), Failed: int(sum.failed), Slow: int(sum.slow), InARow: row}
}
