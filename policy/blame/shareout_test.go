package blame

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Law 2: the shares of one crash sum to 1, whatever mix of work was in flight, abandoned
// or answered before, and however little of its weight each has left. Only a worker that
// may have died idle leaves a part to nobody.
func TestLaw2SharesSumToOneWhateverIsAccused(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		acc := make([]accused, rapid.IntRange(1, 100).Draw(rt, "accused"))
		flight := false
		for i := range acc {
			acc[i].weight = rapid.Float64Range(leastWeight/1000, 100).Draw(rt, "weight")
			acc[i].late = rapid.Bool().Draw(rt, "answered")
			acc[i].lane = rapid.Bool().Draw(rt, "in the lane")
			if acc[i].ticket = none; !acc[i].late && rapid.Bool().Draw(rt, "in flight") {
				acc[i].ticket = uint32(i)
			}
			flight = flight || acc[i].ticket != none || acc[i].late && acc[i].lane
		}
		shareOut(acc)
		sum := 0.0
		for i := range acc {
			sum += acc[i].share
		}
		if flight && math.Abs(sum-1) > 1e-9 || sum > 1 && sum-1 > 1e-9 || sum <= 0 {
			rt.Fatalf("the shares of %d sum to %.12f", len(acc), sum)
		}
	})
}
