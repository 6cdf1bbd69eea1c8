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
// # Levels
//
// Work has an identity on several levels, from narrow to wide: the variant is what the
// caller sent; the fingerprint is its canonical form; a feature is one header, cookie,
// parameter or JSON member of it; then its caller, its shape, and its endpoint, which
// answers for shapes that have hardly ever run well. [Traits] tell them.
// Refused is only what is proven: a variant that killed alone; a fingerprint together
// with features that all its killers have and no remembered success has; a fingerprint
// as a whole when three variants of two callers killed alone and nobody has used it
// successfully. Everything wider decides where work runs first, and how fast.
//
// # The states of a variant
//
//	           share of a crash                 crash alone in the lane,
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
// succeeded wait for the first (single flight), or run on its worker, if that takes
// seconds. Suspects, probes and conditional work run in the lane. Only quarantined
// work is refused.
//
// A crash in the lane is alone when nothing else was in flight there and next to nothing
// speaks for what had been answered within the window. In company nobody is convicted:
// the likeliest run again first, and the likeliest of all on a clean worker.
//
// # Success is provisional
//
//	answered ──── its worker outlives the window (1 s) ───► counts as a success
//	    │
//	    └──── its worker dies within the window ──────────► has a share in that death
//
// For ten minutes after a death that nothing in flight explains, an answer of the fleet counts
// after five windows, and a worker of the lane is watched for eleven. What was answered before
// three deaths that nothing explains so far becomes suspect, unless a worker has outlived its
// first answer to it by eleven windows.
//
// Requests that kill late may be all different. So the deaths are also laid on what requests
// have in common, in two ways. One sums up by how soon after the last answer of a variant, of a
// feature, a shape or an endpoint the workers die: chance hardly explains that they do so at
// once. The other counts the deaths before which something was answered that has a feature that
// no worker is known to have outlived. To know which features workers outlive, it looks at a few
// requests a second while nothing dies. What explains the deaths runs in the lane, watched, at a
// pace, until a worker outlives it.
//
// # Blame
//
// The blame of one crash sums to 1 over the work in flight, in proportion to
// prior × hazard. The prior is 1/(s+2) with s the decayed count of the
// work's successes, so popular work starts near zero, unless its caller is unknown;
// the hazard is higher for very young and for overdue attempts. On a lane worker where
// attempts started one after the other, it halves every 25 ms of age. A success in the
// fleet halves the score, a success in the lane clears it.
//
// # Escalation
//
// A unique payload per pill makes exact identities useless, and new parameters make
// shapes useless. When a caller, a shape, or the new shapes of one endpoint have far
// more of the blame than their part of the traffic explains, their unproven work runs
// in the lane from its first attempt on, at a pace: one in two seconds, which a death
// divides by 8 for a caller and by 2 otherwise, and 8 successes double; from the third
// death on each doubles that number. What waits in the lane already keeps to the pace. A caller's
// work whose shape and endpoint have not killed has such a pace of its own, which the pills of
// others do not use up. Nothing is refused for that by itself; who does not wait for the pace is.
//
// When no conviction explains eight deaths within a minute so far, the caller who brought far
// more new work to these workers than others is escalated for an experiment, and let go when the
// deaths go on at half the rate or more. Whoever is escalated only for a part of the blame that
// chance explains, now that there are more deaths, is let go. While a worker answers nothing
// ([State.Silent]), unproven work of callers who have some there, and of whom little is known,
// runs in the lane. Of callers who may be many it is new variants that have something of which
// nothing was ever answered.
//
// # The fleet gate
//
// When a large part of the fleet crashes with disjoint suspects, it is not the
// work (a bad deploy, a shared outage, a power cut). While the gate is closed
// nobody is convicted, convictions of the last moments are taken back, and
// isolation goes on.
//
// # Recovery
//
// When half of the workers die within two seconds, unproven work goes back to the fleet
// by few at a time: one piece for four workers that are up, one more with each success,
// and anew after a gap with each death. Among all that had waited for the first worker a
// death would tell nothing. What has waited for too long says so ([Work].Waited) and is
// let through; nothing is refused.
//
// # Bezoar's own death
//
// [State.SelfCrash] judges what was in flight when Bezoar itself died, and only
// on evidence. Without evidence (a kill from outside, a power failure) nobody is
// suspected. A panic convicts work that was alone in flight; in company it makes
// suspects. Lack of memory convicts work that was in flight at two such deaths,
// if nothing else was at both. Work that has succeeded is never convicted here.
package blame
