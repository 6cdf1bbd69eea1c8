package shard_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/policy/shard"
)

func TestOverlapIsTheClosedForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "workers")
		k := rapid.IntRange(0, n).Draw(t, "shard")
		table := shard.Overlap(n, k)
		sum := 0.0
		for j, got := range table.Shared {
			ways := new(big.Int).Mul(binomial(k, j), binomial(n-k, k-j))
			want, _ := new(big.Rat).SetFrac(ways, binomial(n, k)).Float64()
			if math.Abs(got-want) > 1e-9*want+1e-300 {
				t.Fatalf("%d of %d share %d with probability %g, want %g", k, n, j, got, want)
			}
			sum += got
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Fatalf("the probabilities sum to %v", sum)
		}
	})
}

func binomial(n, k int) *big.Int {
	if k < 0 || k > n {
		return new(big.Int)
	}
	return new(big.Int).Binomial(int64(n), int64(k))
}

func TestOverlapForPeople(t *testing.T) {
	for _, c := range []struct {
		n, k int
		want string
	}{
		{10, 2, `10 workers, shards of 2: 45 different ones
shared  callers
  0 of 2  62.2222 %
  1 of 2  35.5556 %  1 in 3
  2 of 2   2.2222 %  1 in 45
`},
		{3, 2, `3 workers, shards of 2: 3 different ones
shared  callers
  0 of 2   0.0000 %
  1 of 2  66.6667 %
  2 of 2  33.3333 %  1 in 3
`},
		{0, 4, `0 workers, shards of 0: 1 different ones
shared  callers
  0 of 0 100.0000 %
`},
	} {
		if got := shard.Overlap(c.n, c.k).String(); got != c.want {
			t.Errorf("Overlap(%d, %d):\n%s\nwant\n%s", c.n, c.k, got, c.want)
		}
	}
	if got := shard.Overlap(4096, 4).Whole(); got > 1e-13 || got <= 0 {
		t.Errorf("of 4,096 workers, shards of 4 are whole with probability %g", got)
	}
}
