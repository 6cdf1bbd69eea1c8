package fleet

import "fmt"

// Spill says when a caller may use workers outside its hand and cell.
type Spill int

// The rules, from the strictest.
const (
	SpillNever Spill = iota // the bulkhead holds: it waits, or goes without
	SpillDown               // when none of its workers takes work: down, draining, the lane, held out
	SpillBusy               // also when all of them that do are full
)

// String returns the rule's name: never, down, busy.
func (s Spill) String() string {
	switch s {
	case SpillNever:
		return "never"
	case SpillDown:
		return "down"
	case SpillBusy:
		return "busy"
	}
	return "unknown"
}

// ParseSpill reads what String writes; "" is SpillNever.
func ParseSpill(s string) (Spill, error) {
	switch s {
	case "", "never":
		return SpillNever, nil
	case "down":
		return SpillDown, nil
	case "busy":
		return SpillBusy, nil
	}
	return 0, fmt.Errorf("spill is %.20q, want never, down or busy", s)
}
