// Package dispatch takes one piece of work from its arrival to its answer:
// admit, attempt, judge, and then an answer, another attempt, the lane, or a
// refusal. It joins fleet (which worker) and ledger (whose fault), and knows
// nothing of the wire: a [Job] connects and sends.
//
//	          Admit
//	            │
//	  ┌─────────┼──────────┬───────────────┐
//	  ▼         ▼          ▼               ▼
//	fleet     lane       twin           refused
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
// # Guarantees
//
// Every Send is an attempt in the ledger, recorded before it (law 1). After the
// first byte has left, work runs again only if it says so, only when nothing of
// an answer has reached the caller, and only in the lane, or in the fleet when
// its worker was taken down on purpose (law 5). Attempts, waiting time and the
// extra load of retries are bounded (law 8).
//
// [Dispatcher.Run] owns the one goroutine: the lane's.
package dispatch
