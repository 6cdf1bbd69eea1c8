package bodies

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"
)

func TestBodiesAreJSONOfTheirSize(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[string]bool{}
	for _, size := range []int{700, 1 << 10, 4 << 10, 64 << 10} {
		sum := 0
		for range 200 {
			b := Make(r, size)
			if !json.Valid(b) {
				t.Fatalf("not JSON: %s", b)
			}
			if len(b) > size {
				t.Errorf("%d bytes, at most %d: %.200s", len(b), size, b)
			}
			if bytes.Count(b, []byte(Mark)) != 2 {
				t.Errorf("the mark is not there twice: %.200s", b)
			}
			if seen[string(b)] {
				t.Error("a body comes twice")
			}
			seen[string(b)] = true
			sum += len(b)
		}
		if mean := sum / 200; mean < size*2/3 {
			t.Errorf("of %d bytes they have %d on average", size, mean)
		}
	}
}
