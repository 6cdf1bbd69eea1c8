package shard_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/policy/shard"
)

func names(format string, n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = shard.Name(fmt.Sprintf(format, i))
	}
	return out
}

// With 10 workers and shards of 2 there are 45 pairs, and none is favoured. The
// bound of chi-square with 44 degrees of freedom is that of one run in 10⁹.
func TestPairsAreUsedEvenly(t *testing.T) {
	const callers, pairs, bound = 45_000, 45, 123.0
	for _, format := range []string{"search-%d", "10.0.0.%d:9101", "%d", "w%d"} {
		workers := names(format, 10)
		for _, first := range []uint64{1, 1 << 32, math.MaxUint64 - callers, 0x9e3779b97f4a7c15} {
			count := map[[2]int]int{}
			var members []int
			for i := range uint64(callers) {
				members = shard.Assign(first+i, workers, 2, members[:0])
				slices.Sort(members)
				count[[2]int(members)]++
			}
			if len(count) != pairs {
				t.Errorf("%s from %d: %d of %d pairs are used", format, first, len(count), pairs)
			}
			chi := 0.0
			for _, n := range count {
				d := float64(n) - callers/pairs
				chi += d * d / (callers / pairs)
			}
			if chi > bound {
				t.Errorf("%s from %d: chi-square is %.1f, want at most %v", format, first, chi, bound)
			}
		}
	}
}

// A caller that kills all it touches takes everything from those alone who share
// its whole shard, and these are as few as the closed form says.
func TestKillerDegradesOnlyWhoSharesItsShard(t *testing.T) {
	const callers = 20_000
	for _, c := range []struct{ n, k int }{{10, 2}, {8, 2}, {12, 3}, {16, 4}, {64, 4}} {
		workers := names("search-%d", c.n)
		table := shard.Overlap(c.n, c.k)
		rng := rand.New(rand.NewPCG(uint64(c.n), 7))
		for range 5 {
			killer := shard.Assign(rng.Uint64(), workers, c.k, nil)
			dead := map[int]bool{}
			for _, w := range killer {
				dead[w] = true
			}
			count := make([]int, c.k+1)
			var members []int
			for range callers {
				members = shard.Assign(rng.Uint64(), workers, c.k, members[:0])
				lost := 0
				for _, w := range members {
					if dead[w] {
						lost++
					}
				}
				count[lost]++
				slices.Sort(members)
				if whole := slices.Equal(members, slices.Sorted(slices.Values(killer))); whole != (lost == c.k) {
					t.Fatalf("shard %v lost %d to the killer's %v", members, lost, killer)
				}
			}
			for j, p := range table.Shared {
				want, sigma := p*callers, math.Sqrt(p*(1-p)*callers)
				if math.Abs(float64(count[j])-want) > 6*sigma+1 {
					t.Errorf("%d of %d: %d callers share %d workers, want %.0f ± %.0f", c.k, c.n, count[j], j, want, sigma)
				}
			}
		}
	}
}

func TestOnlyHandsOfAChangedWorkerChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 40).Draw(t, "workers")
		k := rapid.IntRange(1, n).Draw(t, "shard")
		gone := rapid.IntRange(0, n-1).Draw(t, "gone")
		all := names("w-%d", n)
		rest := slices.Delete(slices.Clone(all), gone, gone+1)
		caller := rapid.Uint64().Draw(t, "caller")
		before := assign(caller, all, k)
		after := assign(caller, rest, k)
		i := slices.Index(before, all[gone])
		if i < 0 {
			if !slices.Equal(before, after) {
				t.Fatalf("%x is not in the shard %x, which became %x", all[gone], before, after)
			}
			return
		}
		kept := slices.Delete(slices.Clone(before), i, i+1)
		if len(after) != min(k, n-1) || !slices.Equal(kept, after[:len(kept)]) {
			t.Fatalf("without %x the shard %x became %x", all[gone], before, after)
		}
	})
}

// assign returns a shard as names.
func assign(caller uint64, workers []uint64, k int) []uint64 {
	var out []uint64
	for _, i := range shard.Assign(caller, workers, k, nil) {
		out = append(out, workers[i])
	}
	return out
}

func TestHandDependsOnNamesAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 30).Draw(t, "workers")
		k := rapid.IntRange(-1, 40).Draw(t, "shard")
		caller := rapid.Uint64().Draw(t, "caller")
		workers := names("w-%d", n)
		shuffled := rapid.Permutation(workers).Draw(t, "order")
		members := assign(caller, workers, k)
		if other := assign(caller, shuffled, k); !slices.Equal(members, other) {
			t.Fatalf("%x in another order is %x", members, other)
		}
		if len(members) != min(max(k, 0), n) {
			t.Fatalf("%d of %d: %d workers", k, n, len(members))
		}
		if distinct := slices.Compact(slices.Sorted(slices.Values(members))); len(distinct) != len(members) {
			t.Fatalf("%x has one twice", members)
		}
		if k > 0 && n > 0 && !slices.Equal(assign(caller, workers, k-1), members[:min(k-1, n)]) {
			t.Fatalf("a smaller shard is not the beginning of %x", members)
		}
		prefix := []int{-7}
		if got := shard.Assign(caller, workers, k, prefix); got[0] != -7 || len(got) != 1+len(members) {
			t.Fatalf("what was in dst is lost: %v", got)
		}
	})
}

// What may not be assigned is as if it were not there.
func TestHandOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "workers")
		k := rapid.IntRange(1, n).Draw(t, "shard")
		caller := rapid.Uint64().Draw(t, "caller")
		may := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "may")
		all := names("w-%d", n)
		var some []uint64
		for i, w := range all {
			if may[i] {
				some = append(some, w)
			}
		}
		var got []uint64
		for _, i := range shard.AssignAmong(caller, all, k, nil, func(i int) bool { return may[i] }) {
			got = append(got, all[i])
		}
		if want := assign(caller, some, k); !slices.Equal(got, want) {
			t.Fatalf("got %x, want %x", got, want)
		}
	})
}

func TestDefault(t *testing.T) {
	for n, want := range map[int]int{-1: 0, 0: 0, 1: 1, 2: 2, 3: 2, 8: 2, 9: 3, 15: 3, 16: 4, 1000: 4} {
		if got := shard.Default(n); got != want {
			t.Errorf("Default(%d) = %d, want %d", n, got, want)
		}
	}
}

func BenchmarkAssign(b *testing.B) {
	for _, bc := range []struct{ n, k int }{{8, 2}, {64, 4}, {1024, 4}} {
		b.Run(fmt.Sprintf("%d of %d", bc.k, bc.n), func(b *testing.B) {
			workers := names("w-%d", bc.n)
			dst := make([]int, 0, bc.k)
			b.ReportAllocs()
			for caller := uint64(0); b.Loop(); caller++ {
				dst = shard.Assign(caller, workers, bc.k, dst[:0])
			}
		})
	}
}
