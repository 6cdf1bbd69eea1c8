package overload

import (
	"testing"

	"pgregory.net/rapid"
)

// The table is a map of counts, and no larger than what is in it calls for.
func TestCallersAreAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c callers
		want := map[uint64]int{}
		few := rapid.Uint64Range(1, 300)
		crowded := rapid.Map(few, func(x uint64) uint64 { return x << 58 >> 58 * 0x9e3779b97f4a7c15 }) // collide
		caller := rapid.OneOf(few, crowded)
		for range rapid.IntRange(1, 600).Draw(t, "steps") {
			who := max(caller.Draw(t, "who"), 1)
			if rapid.IntRange(0, 2).Draw(t, "drop") == 0 {
				c.drop(who)
				if want[who]--; want[who] <= 0 {
					delete(want, who)
				}
			} else {
				n, ok := c.take(who, 3)
				if ok != (want[who] < 3) {
					t.Fatalf("take of one who has %d: %v", want[who], ok)
				}
				if ok {
					want[who]++
				}
				if n != want[who] {
					t.Fatalf("a count of %d, want %d", n, want[who])
				}
			}
			if c.n != len(want) {
				t.Fatalf("%d callers, want %d", c.n, len(want))
			}
			if size := len(c.slots); size > fewCallers && size > 16*c.n {
				t.Fatalf("%d slots for %d callers", size, c.n)
			}
		}
		for who, n := range want {
			if got := int(c.slots[c.find(who)].count); got != n {
				t.Fatalf("caller %d has %d, want %d", who, got, n)
			}
		}
	})
}
