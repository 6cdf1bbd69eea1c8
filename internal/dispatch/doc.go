// Package dispatch takes one piece of work from its arrival to its answer: admit,
// attempt, judge, and then an answer, another attempt, the lane, or a refusal. It joins
// fleet (which worker) and ledger (whose fault). It does not know the wire: a [Job]
// connects and sends.
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
// A copy of work that has never succeeded waits for the first one. If that takes long and its
// worker is well, copies join it on that worker, and on no other ([blame.Decision].Beside).
//
// # The lane
//
// Up to a quarter of the fleet's workers, and at least one, are set apart while suspects
// wait. Few suspects run one after the other, each alone. If they would wait for more
// than two seconds, they start shortly after each other and run in company.
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
// Every Send is an attempt that the ledger recorded before (law 1). After the first byte
// has left, work runs again only if all of this holds (law 5): the work permits it;
// nothing of an answer has reached the caller; and the next run is in the lane, or in the
// fleet if its worker was taken down on purpose.
//
// Retries are bounded (law 8). Work is delivered to at most as many workers as its
// caller's shard has, and at most [RetryConfig].Attempts times. If a worker ended with
// the work, its next life counts as another worker. Work also tries to connect to at most
// that many live workers. Every further attempt is paid from the fleet's budget and the
// caller's budget when it is decided on. An attempt beyond a budget waits at most two
// seconds for it. Attempts are free after a worker that had ended before it was reached,
// and where law 6 gives them back. [RetryBoundOf] is the arithmetic.
//
// No wait or attempt starts or continues past [Work].Deadline. The caller gets the answer
// then, or as soon after it as the dispatcher knows what became of a worker whose
// connection broke. Callers choose their deadlines. So an attempt that is given up at a
// deadline is no strike against the work or its worker. In the lane, the dispatcher
// watches a silent attempt even after its caller has the answer.
//
// The fleet learns the result of every attempt in it. Only the first failure of a request
// counts.
//
// [Dispatcher.Run] owns the goroutines: one for each worker that is the lane.
package dispatch
