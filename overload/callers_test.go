package overload

import (
	"testing"

	"pgregory.net/rapid"
)

// A caller counts up to its limit, and is gone when it has nothing here.
func TestCallersCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := callers{}
		want := map[uint64]int{}
		caller := rapid.Uint64Range(0, 300)
		for range rapid.IntRange(1, 600).Draw(t, "steps") {
			who := caller.Draw(t, "who")
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
			if len(c) != len(want) {
				t.Fatalf("%d callers, want %d", len(c), len(want))
			}
		}
		for who, n := range want {
			if c[who] != n {
				t.Fatalf("caller %d has %d, want %d", who, c[who], n)
			}
		}
	})
}
