package shard

import (
	"fmt"
	"math"
	"strings"
)

// Table describes how many workers the shards of two callers share.
type Table struct {
	Workers, Size int
	// Shared is, for each j from 0 to Size, the probability that two callers
	// share exactly j workers: C(k,j)·C(n-k,k-j) / C(n,k).
	Shared []float64
}

// Overlap returns the table for shards of k out of n workers. k is limited to 0 to n.
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

// choose returns the logarithm of the binomial coefficient. The coefficient itself exceeds a float64 at 1,030 workers.
func choose(n, k int) float64 {
	f := func(x int) float64 { l, _ := math.Lgamma(float64(x) + 1); return l }
	return f(n) - f(k) - f(n-k)
}

// Shards returns the number of different shards.
func (t Table) Shards() float64 { return math.Round(math.Exp(choose(t.Workers, t.Size))) }

// Whole returns the probability that another caller shares the complete shard: the share of callers that lose all workers
// when one caller kills all of its own.
func (t Table) Whole() float64 { return t.Shared[t.Size] }

// String formats the table for people.
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
