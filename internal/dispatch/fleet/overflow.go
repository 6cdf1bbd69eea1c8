package fleet

import "fmt"

// Overflow says when a caller may use workers outside its shard and cell.
type Overflow int

// The rules, from the strictest.
const (
	OverflowNever Overflow = iota // never: the caller waits, or goes without a worker
	OverflowDown                  // if none of its workers takes work: down, draining, the lane, held out
	OverflowBusy                  // also if all that take work are full
)

// String returns the rule's name: never, down, busy.
func (s Overflow) String() string {
	return [...]string{"never", "down", "busy", "unknown"}[min(uint(s), 3)]
}

// ParseOverflow reads what String writes; "" is OverflowNever.
func ParseOverflow(s string) (Overflow, error) {
	switch s {
	case "", "never":
		return OverflowNever, nil
	case "down":
		return OverflowDown, nil
	case "busy":
		return OverflowBusy, nil
	}
	return 0, fmt.Errorf("overflow is %.20q, want never, down or busy", s)
}
