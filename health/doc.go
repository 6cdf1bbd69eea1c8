// Package health serves /livez, /readyz and /healthz for any server written in Go,
// and for Bezoar itself. They say whether the process is alive, whether it may take
// traffic, and what state its parts are in.
//
//	machine ──► memory, fds, cpu, disks ─┐  looked at by Run,
//	custom checks ───────────────────────┤  every Interval        ok │ degraded │ failing
//	calls ────► Observe, Track, Wrap ────┤  judged each second    ──►  Report ──► /healthz
//	                                     │                                  └───► /readyz
//	loops ────► Beat ────────────────────┴────────────────────────────────────► /livez
//
// # The three questions
//
// Livez: would a restart help? The answer is 503 only when a [Loop] is stuck. Load, a
// full disk or a dead database do not change it.
//
//	          Run, and every        Drain, or
//	          check made once       the end of Run
//	starting ────────────────► ready ─────────────► not ready
//	                            │  ▲
//	        the whole fails     ▼  │  it does not any more
//	                          not ready
//
// Readyz: may traffic come? A degraded process is ready. Healthz: the whole report.
// Package policy/health decides the state of each check, by thresholds with hysteresis.
//
// # Guarantees
//
// No request waits for a check: handlers return the last results. Each check runs at
// most once at a time. A check that ignores its context counts as failing after its
// timeout, and again every interval until it returns. A panic in a check counts as
// that check's failure. [Dependency.Observe] and [Loop.Beat] allocate nothing and take
// no lock.
//
// If the system cannot measure something (pressure, on some kernels), the report says
// so and the state does not change. If only a check of the machine fails, the process
// is degraded, not failing.
//
// Everybody who can reach the handlers sees names, numbers, thresholds, states and
// times. Errors, paths and addresses appear only for ?verbose, and only if
// Config.Verbose is set. Every answer is bounded (256 checks and loops, 256 bytes of
// detail each) and has Cache-Control: no-store. Only GET and HEAD are answered.
// ?exclude=a,b answers as if those checks did not exist.
//
// # Limits
//
// Readiness is for the process's own faults. If every replica fails readiness because
// of a dependency that all of them share, the balancer has no replica left. Make such a
// dependency Optional, or use a balancer that ignores its checks when most of them fail.
// A dependency with too few calls is ok, and so is one that is never called. A wrapped
// HTTP call is measured up to the head of its answer; a body that breaks is not
// noticed. This package never stops or restarts anything.
package health
