package main

import (
	"cmp"
	"slices"
	"strings"
)

// longest names the packages whose tests take longest, the longest first. A run
// starts with them: one that starts last leaves a processor idle until it ends.
// The names are folders of the module.
var longest = []string{
	"internal/app", "internal/test/worktest", "internal/store/postgres", "worker", "internal/store/sqlite", "cmd/bezoar",
	"internal/process/supervise", "internal/cli", "internal/process/child", "internal/control/console", "examples/queue-worker", "internal/gateway",
	"internal/test/sim", "internal/process/rowfeed",
}

// longestFirst puts the longest packages at the beginning, and leaves the others
// in their order.
func longestFirst(packages []string) {
	slices.SortStableFunc(packages, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
}

// longOf counts the longest among packages, which are at the beginning.
func longOf(packages []string) int {
	n := slices.IndexFunc(packages, func(pkg string) bool { return rank(pkg) == len(longest) })
	if n < 0 {
		return len(packages)
	}
	return n
}

// rank is the place of a package in longest, or len(longest).
func rank(pkg string) int {
	at := slices.IndexFunc(longest, func(folder string) bool { return strings.HasSuffix(pkg, "/"+folder) })
	if at < 0 {
		return len(longest)
	}
	return at
}
