// Package overload keeps a service at full throughput under more load than it can
// serve. A [Pool] admits a bounded number of requests, lets some others wait, and
// refuses the rest early, cheaply, and in a stable order. Package shed makes the
// decisions; this package adds the lock, the clock and the waiting.
//
//	        Enter                                        Leave
//	──────────┬──── a slot is free ────► in flight ────────────►
//	          │                              ▲
//	          ├──── none ───► waiting ───────┘ its turn
//	          │                 │
//	          ▼                 ▼ pushed out, Wait over, deadline too near, caller gone
//	       refused ◄────────────┘
//
// Work whose answer is a stream returns its slot when the stream begins:
//
//	in flight ──── Stream, or Begun for Config.Long ────► a stream ── Leave ──►
//
// # Guarantees
//
// No request enters while the limit is in flight. When the limit falls, requests inside
// stay. A free slot goes at once to a waiting request: the highest priority first, and
// never to a lower one. The pool never starts a request whose caller has given up, or
// whose deadline is too near for the quickest quarter of all work. Pass every pass of
// Enter to Leave of the same pool exactly once: use defer.
//
// A stream is not in flight. At most Streams are open, and at most PerCaller of one
// caller if that is set; a stream above the bound keeps its slot. Return the pass of a
// stream with an Outcome that is Ignored.
//
// If a slot is free, Enter and Leave allocate nothing and hold a lock for a few
// nanoseconds each. A Pool has no goroutine.
//
// # Limits
//
// The pool does not stop work in flight: give it a deadline. It does not know rates,
// quotas, or the memory of requests. Its numbers are those of this process: if several
// processes share a downstream, each adaptive limit finds its own share.
//
// # Refusals
//
//	concurrency  every slot is taken, and work of this rank does not wait now
//	queue        the queue is full of more important work, or Wait is over
//	deadline     the request cannot end in time, or its caller has given up
//	per_caller   the caller already has PerCaller requests in flight and waiting,
//	             or PerCaller streams
//	streams      the request asks for a stream, and Streams are open
//
// # Bounds
//
// At most Queue wait, each for Wait. Callers are remembered while they have
// work here. There are Streams streams at most, 32 bytes each. The rest is about 5 KiB.
package overload
