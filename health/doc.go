// Package health answers whether a process is alive, may take traffic, and how it
// is: /livez, /readyz and /healthz for any server written in Go, and for Bezoar
// itself.
//
//	machine ──► memory, fds, cpu, disks ─┐  looked at by Run,
//	custom checks ───────────────────────┤  every Interval        ok │ degraded │ failing
//	calls ────► Observe, Track, Wrap ────┤  judged each second    ──►  Report ──► /healthz
//	                                     │                                  └───► /readyz
//	loops ────► Beat ────────────────────┴────────────────────────────────────► /livez
//
// # The three questions
//
// Livez: would a restart help? 503 only when a [Loop] is stuck; load, a full disk
// or a dead database change nothing.
//
//	          Run, and every        Drain, or
//	          check made once       the end of Run
//	starting ────────────────► ready ─────────────► not ready
//	                            │  ▲
//	        the whole fails     ▼  │  it does not any more
//	                          not ready
//
// Readyz: may traffic come? Degraded is ready. Healthz: the whole report. What
// something is, by thresholds with hysteresis, package policy/health decides.
//
// # Guarantees
//
// No request waits for a check: handlers read what is known. One look of a check
// is under way at a time, whatever it does; one that ignores its context is failing
// after its timeout, and again every interval until it returns. A panic in a
// check is that check's failure. [Dependency.Observe] and [Loop.Beat] allocate
// nothing and take no lock.
//
// What this system cannot tell (pressure, on some kernels) is left out and
// said so, and makes nothing worse. A check of the machine that fails by itself
// only degrades.
//
// Names, numbers, thresholds, states and times are for everybody who can reach
// the handlers. Errors, paths and addresses are shown only for ?verbose, and
// only if Config.Verbose is set. Every answer is bounded (256 checks and loops, 256 bytes of
// detail each), says Cache-Control: no-store and is given to GET and HEAD alone.
// ?exclude=a,b answers as if those checks were not there.
//
// # Limits
//
// Readiness is for the process's own faults. When every replica fails readiness
// for a dependency that all of them share, there is nowhere left to send traffic:
// make it Optional, or have a balancer that distrusts its checks then. Too few
// calls say nothing, so a dependency that is never called is ok. A wrapped
// HTTP call is measured up to the head of its answer; a body that breaks is not
// seen. Nothing here stops or restarts anything.
package health
