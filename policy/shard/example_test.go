package shard_test

import (
	"fmt"

	"github.com/bezoar-dev/bezoar/policy/shard"
)

func Example() {
	names := []string{"search-1", "search-2", "search-3", "search-4", "search-5", "search-6", "search-7", "search-8"}
	var workers []uint64
	for _, n := range names {
		workers = append(workers, shard.Name(n))
	}
	const alice, bob = 0x1f3a, 0x77c2 // keyed hashes of who calls
	for _, caller := range []uint64{alice, bob} {
		var members []string
		for _, i := range shard.Assign(caller, workers, shard.Default(len(workers)), nil) {
			members = append(members, names[i])
		}
		fmt.Println(members)
	}
	fmt.Printf("1 in %.0f shares a whole shard\n", 1/shard.Overlap(8, 2).Whole())
	// Output:
	// [search-1 search-6]
	// [search-1 search-3]
	// 1 in 28 shares a whole shard
}
