// Package health decides how something is: ok, degraded or failing. It is pure:
// the time is an argument, and the caller holds the lock.
//
// # A gauge
//
// A [Gauge] judges a number of which more is worse, by two bands with an upper
// and a lower threshold each.
//
//	               Times samples in a row at or above Upper,
//	               the first of them For ago
//	┌──────────┐ ─────────────────────────────────────────────► ┌─────────┐
//	│ band off │                                                │ band on │
//	└──────────┘ ◄───────────────────────────────────────────── └─────────┘
//	               below Lower for Calm
//
// Failing while its band is on, degraded while only the other is. A number that
// stays between Lower and Upper changes nothing, and one that jumps over both
// changes the state no more than twice in For + Calm: that is what keeps a state
// from flapping (as in the Schmitt trigger).
//
// # Measured calls
//
// [Calls] judges real calls in place of made-up probes, since those are what
// users feel: over a sliding window of ten buckets the share of errors, the share
// of timeouts, and a quantile of the latency, each by a gauge. Latencies
// are counted in a fixed histogram, four cells to each doubling, so that
// a quantile is at most a quarter too high and never too low (below 137 s).
// Below a minimum of calls nothing is held against the callee, and what
// was held before is forgotten after Calm.
//
// # A whole
//
// [State.With] joins parts: the whole is as bad as its worst part, but what is
// optional only degrades it.
//
// # Limits
//
// It does not know what a state is for. Taking a process out of traffic
// because something that all processes share is failing takes them all out;
// make such a thing optional, or have a balancer that distrusts its checks when
// everybody looks sick.
package health
