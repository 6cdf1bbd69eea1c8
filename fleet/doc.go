// Package fleet knows which workers of one fleet may take work now, hands them
// out, and keeps one apart as the lane when asked. It knows neither the wire
// nor who starts the workers: a [Keeper] reports their lives.
//
// # The life of a worker
//
//	       Up                Reserve
//	down ──────► serving ◄──────────► lane
//	  ▲             │ Drain             │
//	  │             ▼                   │
//	  │         draining                │
//	  │ Down        │ Down         Down │
//	  └─────────────┴───────────────────┘
//
// Every Up begins a new epoch with a new [Worker] value; a Worker never comes
// back to life. When Down ends an epoch, [Config.Ended] is called once, before
// anybody who waits in [Fleet.Settle] learns of it: the ledger has shared out
// the blame by then.
//
// # Guarantees
//
// At most one worker is the lane. A reserved worker gets no other work, and
// Reserve returns only when nothing is in flight on it. Acquire picks the
// least loaded worker (of two at random in fleets above 16), waits in a bounded
// queue, first come first served, when there is none, and never returns a
// worker that was down, draining or the lane at that moment.
//
// All methods are safe for concurrent use. No lock is held during callbacks.
package fleet
