// Package circuit keeps the circuit breakers of a process, by name, in step with those
// of all other nodes: a trip on one node, or an operator's order there, holds on all.
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
// Package [breaker] describes the states and when they change. A downstream is anything
// with a name: "fleet/route", a group of queues, a sink.
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
// An answer that says that the request is wrong (4xx except 429) is a good result: the
// downstream works. A 5xx, a broken connection and a deadline of the route are failures.
// The route decides what 429 means. Call Done for every allowed call, however it ends: a
// lost ticket of a probe holds its place for ProbeFor and then counts as a failure.
//
// # Guarantees
//
//   - While a breaker is closed or open no call waits for the store. The first
//     one after a trip waits for Config.ClaimFor at most.
//   - While the store answers within that, the probes of a trip are one node's,
//     and Probes at most.
//   - A node writes a change at once. Every node that reaches the store has it after
//     its next read: within Poll and the time that the store takes.
//   - The newer of two changes wins on all nodes, and so does the newer of two orders.
//     Nodes that reach the store agree in the end, even if snapshots were lost, late,
//     repeated or in conflict.
//   - An order holds until it expires by each node's clock. It survives restarts if
//     processes call Sync before their first call. For a breaker that is made later it
//     holds after the next read, which follows at once.
//   - If the store fails, each node goes on alone. The node logs the failure once and its
//     end once; Stats counts failures meanwhile.
//
// Not guaranteed: that nodes see the same results, or trip at the same time before one
// has told the others; that only one node probes while the store is away; that a slow
// Observe sees every change, or sees two changes at the same time as two.
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
