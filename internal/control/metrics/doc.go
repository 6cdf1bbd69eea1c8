// Package metrics counts requests, exports these counts and those of the engines to
// Prometheus, and finds the callers with the highest usage.
//
// The method Observe of [Requests] is meant for gateway.Config. It counts in one of several
// shards, each with its own lock, and allocates nothing: it looks up the route once, and
// all counts of a route are adjacent in memory. Callers are counted in a table of the
// shard. When the table is full, and once a second by Run, it is added to the windows of
// package sketch:
//
//	Record ─► a shard ─┬─► the route's counters and histograms ─► Collect
//	                   └─► the caller's row ─► windows of 1 and 10 minutes ─► Top
//
// Labels are bounded: routes and fleets are those of the settings ([Requests.Update]);
// rules and classes are fixed sets. Callers, paths and fingerprints are never labels. A
// request of a route that is no longer in the settings counts for the route "".
//
// [Engines] is a second collector, which reads the engines' own numbers on demand.
// docs/metrics.md lists all metrics.
//
// # Not guaranteed
//
// Counters start at zero with the process, and those of a route when the settings first
// name it. Top callers are those of this process; package sketch states the accuracy. A
// caller whose row waits in a shard is counted up to a second late, at most in the next
// slot of ten seconds.
package metrics
