// Package dispatch takes one piece of work from its arrival to its answer:
// admit, attempt, judge, and then an answer, another attempt, the lane, or a
// refusal. It joins fleet (which worker) and ledger (whose fault), and knows
// nothing of the wire: a [Job] connects and sends.
//
//	          Admit ◄──────────── pace: waits for its turn, or Refused
//	            │
//	  ┌─────────┼──────────┬───────────────┐
//	  ▼         ▼          ▼               ▼
//	fleet     lane       duplicate      refused
//	  │         │          └─► waits for its copy, then Admit
//	  ▼         ▼
//	Connect ─► Begin ─► Send ─► answer ─────────────────► Answered
//	  │                   │
//	  │ no byte left      │ broke after its first byte
//	  ▼                   ▼
//	another worker      Settle: what became of the worker?
//	                      │ died ─► share of the blame ─► Admit (lane) or Refused
//	                      │ lives ─► a strike ─► the lane, alone
//	                      │ overdue and mute ─► killed, then as died
//	                      └ may not run again ─► Failed
//
// # The lane
//
// Up to a quarter of the fleet's workers, at least one, are set apart while suspects
// wait. Few suspects run one after the other, each alone. When they would wait for more
// than two seconds, they start one shortly after the other and run beside each other.
//
//	waits ─► runs alone ──── died ───► convicted, or again on a clean worker
//	  │
//	  └────► runs in company ─ died ─► the likeliest (3 at most) first, holding the
//	              ▲                    others up for a moment each;
//	              └── the killer is ── the others again; in company of half the size
//	                  found            when the killer was none of the likeliest
//
// A worker whose answers all stream for longer than 300 ms goes back to the fleet
// with them. A fleet in which every worker has streams lends one that has nothing else.
//
// # Guarantees
//
// Every Send is an attempt in the ledger, recorded before it (law 1). After the
// first byte has left, work runs again only if it says so, only when nothing of
// an answer has reached the caller, and only in the lane, or in the fleet when
// its worker was taken down on purpose (law 5).
//
// Retries are bounded (law 8). No work is delivered to more workers than there are
// within its caller's shard, where the next life of one that ended with it counts
// as another, nor more often than [RetryConfig].Attempts; nor does it knock at
// more workers that live. Every further attempt comes out of the fleet's budget
// and the caller's, from when it is decided on: one that is beyond them waits at
// most two seconds to be within them. Free are attempts after a worker that had
// ended before it was reached, and the few that law 6 gives back. [RetryBoundOf] is the
// arithmetic.
//
// No wait or attempt starts or continues past [Work].Deadline. The caller gets the
// answer then, or as soon after it as the dispatcher knows what became of a worker
// whose connection broke. Deadlines are the callers' to choose, so that an attempt which is given up for
// one is no strike against the work, nor against its worker. In the lane, what does
// not answer is watched after its caller has been told.
//
// The fleet hears of every attempt in it. Of a request's failures only the first
// counts.
//
// [Dispatcher.Run] owns the goroutines: one for each worker that is the lane.
package dispatch
