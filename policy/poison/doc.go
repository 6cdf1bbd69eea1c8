// Package poison decides what happens to payloads of a queue: which copies wait, which
// are tried alone and which are refused, in any message. It is pure: the time is an
// argument, and a store keeps the [Case].
//
// A payload's life, in one queue:
//
//	            a copy waits for another          a failure, or its worker vanished
//	(no case) ────────────────────────► watched ─────────────► suspect ◄──────┐
//	    ▲                                  │                      │ delivered  │ not the last
//	    │ forgotten after Config.Forget    │ worked               │ alone      │ strike
//	    └──────────────────────────────────┴──── worked ──────────┤────────────┘
//	    ▲                                                         │ strikes ≥ After, or
//	    │ the probe worked                                        ▼ the same failure again
//	    └───────────────────────── one copy, alone ◄────── quarantined (refused until Until)
//
// Strikes are counted in halves. A crash or an out-of-memory death of a payload that ran
// alone is one strike. A timeout is half a strike, since a slow downstream causes
// timeouts as well. If a worker vanishes with several payloads, each gets a strike, but
// such a death convicts none: they run alone from then on, and are cleared or convicted by
// what happens there. If there are only one or two workers, somebody may have stopped the
// worker that vanished, so the first time does not count. Bugs and invalid messages do not
// endanger their worker; they only end early if they repeat.
package poison
