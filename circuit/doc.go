// Package circuit keeps the circuit breakers of a process, by name, and keeps
// those of all nodes alike: what one node has found out, and what an operator
// has ordered on one, holds on all.
//
//	            Allow ──► closed? ──yes──► go                   0 allocations, no lock
//	                         │no
//	                         ▼
//	                  policy/breaker ──► refused, with why and how long
//	                         │ the first call after a trip
//	                         ▼
//	     ClaimFor at most: claim the lease in the store
//	       │ have it          │ another node has it      │ no answer
//	       ▼                  ▼                          ▼
//	     probe              refused                    probe, alone
//
//	every change ──► unwritten ──► Run ──► the store ──► each Poll ──► the other nodes
//
// What the states are and when they change is said in [breaker]. A downstream is
// whatever has a name: "fleet/route", a group of queues, a sink.
//
// # What to ignore
//
// A breaker is about a downstream, and only about results that say something
// about it. Done gets breaker.Result{Ignored: true}, which also gives a probe's
// place back, for
//
//   - every failure of a request but its first: what fails again on another
//     worker is evidence against the request. Otherwise one poisonous request
//     opens the breaker for all;
//   - what never reached the downstream: refused by a quarantine, a limit, a
//     queue that is full, another breaker;
//   - what ran in the lane, which is there to fail;
//   - callers who hang up, and deadlines of theirs that were shorter than the
//     route's;
//   - workers that were stopped on purpose.
//
// An answer that says that the request is wrong, 4xx but for 429, is a good
// result: the downstream works. Failed are 5xx, connections that break, and
// deadlines of the route; 429 says what the route wants it to say. Every allowed
// call is Done, whatever becomes of it: a lost ticket of a probe holds its place
// for ProbeFor and counts as a failure.
//
// # Guarantees
//
//   - While a breaker is closed or open no call waits for the store. The first
//     one after a trip waits for Config.ClaimFor at most.
//   - While the store answers within that, the probes of a trip are one node's,
//     and Probes at most.
//   - A change is told at once, and known on every node that reaches the store
//     after its next read: within Poll and what the store takes.
//   - Of two changes the newer wins on all nodes, of two orders the newer, and
//     nodes that reach the store agree in the end, whatever was lost, late,
//     repeated or in conflict.
//   - An order holds until it expires by each node's clock. It outlives
//     processes, if they call Sync before their first call; of a breaker that is
//     made later it holds from the next read on, which follows at once.
//   - A store that fails makes each node go on by itself. That is logged once,
//     and once more when it is over; meanwhile Stats counts.
//
// Not guaranteed: that nodes see the same results, or trip together before one
// has told the others; that a probe is the only one while the store is away;
// that Observe sees every change, if it is slow, or two that come at once apart.
//
// # Bounds
//
// Config.Max breakers, about 1 KiB each; names that take 247 bytes in a URL; a
// mark below 4 KiB for each breaker that ever changed, which goes when the
// breaker is removed, or a week after the last node that had it; one read for
// all per Poll; 4 writes at a time; 1,024 events.
//
// Time and randomness are the process's; a caller's now should be time.Now.
// [Circuits.Run] owns all goroutines.
package circuit
