// Package blame decides whose fault a crash was, and what follows for the work
// that was in flight. It is pure: a [State] is plain data with step functions
// that take the time as an argument and draw randomness from the generator in
// its [Config], so that the same code runs in production, under a virtual clock
// and in simulations. It is not safe for concurrent use; package ledger holds
// the lock.
//
// # One request
//
// A piece of work holds a [Ticket] from [State.Admit] to [State.Close]. Each
// delivery to a worker is one [State.Begin] … [State.End] pair on that ticket.
// [State.Crash] ends an epoch and leaves a [Finding] on every ticket that was in
// flight there.
//
// # The states of a fingerprint
//
//	           share of a crash                 crash in the lane,
//	(unknown) ───────────────────► suspect ──────────────────────────► quarantined ◄─┐
//	    ▲                            │  │        or score ≥ N over          │ TTL     │ crash:
//	    │      clean in the lane     │  │        two or more epochs         ▼ over    │ TTL × 2
//	    ├────────── pardon ──────────┘  │                                probing ─────┘
//	    │                               │ suspected twice more              │ clean
//	    │                               ▼ after a pardon                    │
//	    ├──── 8 clean lane runs ─── conditional (pinned to the lane)        │
//	    └───────────────────────────── release ─────────────────────────────┘
//
// Unknown work runs in the fleet; identical copies of work that has never
// succeeded wait for the first (single flight). Suspects, probes and
// conditional work run in the lane, alone. Only quarantined work is refused.
//
// # Blame
//
// The blame of one crash sums to 1 over the work in flight, in proportion to
// prior × hazard. The prior is 1/(s+2) with s the decayed count of the
// fingerprint's successes, so popular work starts near zero; the hazard is
// higher for very young and for overdue attempts. A success in the fleet halves
// the score, a success in the lane clears it.
//
// # Escalation
//
// A unique payload per pill makes exact fingerprints useless. When three works
// of one shape stand convicted and the shape crashes at ten times the rate of
// everything else, its unproven work runs in the lane; when it goes on killing
// the lane, the shape is quarantined as a whole, unless more than 99 % of it
// succeeds. The same holds for clients, which are laned but never quarantined.
//
// # The fleet gate
//
// When a large part of the fleet crashes with disjoint suspects, it is not the
// work (a bad deploy, a shared outage, a power cut). While the gate is closed
// nobody is convicted, convictions of the last moments are taken back, and
// isolation goes on.
//
// # Bezoar's own death
//
// [State.SelfCrash] judges what was in flight when Bezoar itself died, and only
// on evidence. Without evidence (a kill from outside, a power failure) nobody is
// suspected. A panic convicts work that was alone in flight; in company it makes
// suspects. Lack of memory convicts work that was in flight at two such deaths,
// if nothing else was at both. Work that has succeeded is never convicted here.
package blame
