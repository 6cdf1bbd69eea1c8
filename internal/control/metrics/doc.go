// Package metrics counts what requests do, shows it and what the engines count to
// Prometheus, and knows who causes most of it.
//
// The Observe method of [Requests] is for gateway.Config. It counts in one of several
// shards, each behind a lock of its own, and allocates nothing: the route is
// looked up once, and everything that is counted of it lies together. Callers
// are counted in a table of the shard, which is added to the windows of package
// sketch when it is full, and once a second by Run:
//
//	Record ─► a shard ─┬─► the route's counters and histograms ─► Collect
//	                   └─► the caller's row ─► windows of 1 and 10 minutes ─► Top
//
// What becomes a label is bounded: routes and fleets are those that the settings
// name ([Requests.Update]), rules and classes are fixed sets. Callers, paths and
// fingerprints never do. A request of a route that the settings no longer name
// counts for the route "".
//
// [Engines] is a second collector, which reads the engines' own numbers when it
// is asked. docs/metrics.md lists every metric of both.
//
// # Not guaranteed
//
// Counters begin at zero when the process does, and those of a route when it is
// first named. Top callers are those of this process; package sketch says how
// exact they are. A caller whose row waits in a shard counts up to a second late,
// at most into the next slot of ten seconds.
package metrics
