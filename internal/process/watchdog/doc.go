// Package watchdog restarts workers that are about to fail, before they do: one
// at a time, not too often, and not for ever.
//
//	Target.Workers ─► sample: memory, descriptors, threads, every Interval
//	                                      │
//	                                      ▼
//	                        policy/watchdog: is a limit exceeded, for how long, which one first?
//	                             │ wait: why, until when   │ restart one       │ gave up: alarm
//	                             ▼                         ▼                   ▼
//	                          Status                 Target.Restart     until Clear or Calm
//
// The states of a worker, the rules and what counts as growth are described in
// package policy/watchdog.
//
// # Guarantees
//
//   - One restart is under way at a time, and none while Held says why not.
//   - No more than PerHour restarts begin in any hour, and after Strikes in a row
//     that did not help none of that worker: then the state is gave-up, with an
//     alarm, until Clear is called or Calm passes without a breach.
//   - Everything that waits says in [Watchdog.Status] for which limit, value and
//     reason, and until when if that is known.
//   - A process that got the id of a worker's dead one is not taken for it.
//   - Observe is called by Run, one event at a time, and holds it up when slow.
//
// Not guaranteed: that a worker is restarted before it fails; it may be faster
// than For. What the system does not tell is not watched, and [Status] names it.
//
// # Cost
//
// On Linux a sample takes 30 to 40 µs per worker, so that 100 workers with the
// default Interval cost 0.1 % of one processor. Run owns one goroutine, and one
// during a restart.
package watchdog
