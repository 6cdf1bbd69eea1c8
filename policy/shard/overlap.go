package shard

import (
	"fmt"
	"math"
	"strings"
)

// Table says how much the shards of two callers have in common.
type Table struct {
	Workers, Size int
	// Shared is, for each j from 0 to Size, the probability that two callers
	// share exactly j workers: C(k,j)·C(n-k,k-j) / C(n,k).
	Shared []float64
}

// Overlap returns the table of shards of k out of n workers. k is brought
// between 0 and n.
func Overlap(n, k int) Table {
	n = max(n, 0)
	k = min(max(k, 0), n)
	t := Table{Workers: n, Size: k, Shared: make([]float64, k+1)}
	all := choose(n, k)
	for j := max(0, 2*k-n); j <= k; j++ {
		t.Shared[j] = math.Exp(choose(k, j) + choose(n-k, k-j) - all)
	}
	return t
}

// choose returns the logarithm of the binomial coefficient: the coefficient
// itself leaves the range of a float64 at 1,030 workers.
func choose(n, k int) float64 {
	f := func(x int) float64 { l, _ := math.Lgamma(float64(x) + 1); return l }
	return f(n) - f(k) - f(n-k)
}

// Shards returns how many different shards there are.
func (t Table) Shards() float64 { return math.Round(math.Exp(choose(t.Workers, t.Size))) }

// Whole returns the probability that another caller shares the whole shard: the
// share of callers that lose everything when one caller kills all it touches.
func (t Table) Whole() float64 { return t.Shared[t.Size] }

// String draws the table for people.
func (t Table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d workers, shards of %d: %.0f different ones\n", t.Workers, t.Size, t.Shards())
	fmt.Fprintf(&b, "shared  callers\n")
	for j, p := range t.Shared {
		one := ""
		if p > 0 && p < 0.5 {
			one = fmt.Sprintf("  1 in %.0f", 1/p)
		}
		fmt.Fprintf(&b, "%3d of %d %8.4f %%%s\n", j, t.Size, 100*p, one)
	}
	return b.String()
}
