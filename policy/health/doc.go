// Package health decides the state of a check: ok, degraded or failing. It is pure: the
// time is an argument, and the caller holds the lock.
//
// # A gauge
//
// A [Gauge] judges a number that is worse when it is higher. It has two bands, each with
// an upper and a lower threshold.
//
//	               Times samples in a row at or above Upper,
//	               the first of them For ago
//	┌──────────┐ ─────────────────────────────────────────────► ┌─────────┐
//	│ band off │                                                │ band on │
//	└──────────┘ ◄───────────────────────────────────────────── └─────────┘
//	               below Lower for Calm
//
// The state is failing while the failing band is on, and degraded while only the other
// one is. A number that stays between Lower and Upper changes nothing. A number that
// jumps over both changes the state at most twice in For + Calm, so the state does not
// flap (as in a Schmitt trigger).
//
// # Measured calls
//
// [Calls] judges real calls instead of artificial probes, since users feel real calls.
// Over a sliding window of ten buckets, gauges judge the share of errors, the share of
// timeouts, and a quantile of the latency. Latencies are counted in a fixed histogram
// with four cells for each doubling, so a quantile is at most a quarter too high and
// never too low (below 137 s). With fewer calls than a minimum the callee is ok, and an
// earlier bad state ends after Calm.
//
// # A whole
//
// [State.With] joins parts: the whole is as bad as its worst part, but an optional part
// only degrades it.
//
// # Limits
//
// The package does not know how a state is used. If readiness depends on something that
// all processes share, its failure takes all of them out of traffic. Make it optional, or
// use a balancer that ignores its checks when most processes look sick.
package health
