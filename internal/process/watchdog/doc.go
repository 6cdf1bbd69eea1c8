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
//   - One restart is under way at a time, and none while Held gives a reason against it.
//   - At most PerHour restarts begin in any hour. After Strikes restarts in a row that
//     did not help, that worker is not restarted any more: its state is gave-up, with an
//     alarm, until Clear is called or Calm passes without a breach.
//   - For every worker that waits, [Watchdog.Status] gives limit, value and reason, and
//     the end of the wait if it is known.
//   - A process that got the id of a worker's dead process is not taken for it.
//   - Run calls Observe with one event at a time. A slow Observe delays Run.
//
// Not guaranteed: that a worker is restarted before it fails; it may fail faster than
// For. A quantity that the system does not report is not watched, and [Status] names it.
//
// # Cost
//
// On Linux a sample takes 30 to 40 µs per worker, so that 100 workers with the
// default Interval cost 0.1 % of one processor. Run owns one goroutine, and one
// during a restart.
package watchdog
