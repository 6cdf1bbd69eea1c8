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
	"internal/process/supervise", "internal/cli", "internal/process/child", "internal/test/sim", "internal/process/rowfeed",
}

// waiting names the packages whose tests take long because they wait. The short
// packages run beside them.
var waiting = []string{
	"examples/queue-worker", "internal/control/console", "internal/outbox/outboxdb/postgres", "internal/outbox/cdc", "internal/gateway",
	"internal/outbox/outboxdb/mysql", "internal/brokers/amqp", "internal/demo",
}

// longestFirst puts the longest packages at the beginning, then those that wait, and
// leaves the others in their order.
func longestFirst(packages []string) {
	all := slices.Concat(longest, waiting)
	slices.SortStableFunc(packages, func(a, b string) int { return cmp.Compare(rank(all, a), rank(all, b)) })
}

// longOf counts the longest among packages, which are at the beginning.
func longOf(packages []string) int {
	n := slices.IndexFunc(packages, func(pkg string) bool { return rank(longest, pkg) == len(longest) })
	if n < 0 {
		return len(packages)
	}
	return n
}

// rank is the place of a package in folders, or their number.
func rank(folders []string, pkg string) int {
	at := slices.IndexFunc(folders, func(folder string) bool { return strings.HasSuffix(pkg, "/"+folder) })
	if at < 0 {
		return len(folders)
	}
	return at
}
