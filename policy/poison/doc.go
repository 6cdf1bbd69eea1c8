// Package poison decides what becomes of a queue's payloads: which copies wait,
// which are tried alone and which are refused, whatever message they come in.
// It is pure: the time is an argument, a store keeps the [Case].
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
// Strikes are counted in halves: a crash or an out-of-memory death alone is one,
// a timeout is half of one, since a slow downstream looks like one. Work that
// was held together with others when their worker vanished has a strike too, but
// no such death convicts: it runs alone from then on, and either works, which
// clears it, or is convicted by what it does there. Where there are one or two
// workers, somebody may just have stopped the one that vanished: the first time
// counts nothing then. Bugs and invalid messages are
// no danger to their worker; they only end early when they repeat themselves.
package poison
