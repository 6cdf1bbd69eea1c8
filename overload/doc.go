// Package overload keeps a service at its best while more work comes than it
// can do: a [Pool] lets so much in at once, lets some of the rest wait, and
// refuses the others early, cheaply, and always the same ones first. What it
// decides is in package shed; this is the lock, the clock and the waiting.
//
//	        Enter                                        Leave
//	──────────┬──── a slot is free ────► in flight ────────────►
//	          │                              ▲
//	          ├──── none ───► waiting ───────┘ its turn
//	          │                 │
//	          ▼                 ▼ pushed out, Wait over, deadline too near, caller gone
//	       refused ◄────────────┘
//
// Work whose answer is a stream gives its slot back while it goes on:
//
//	in flight ──── Stream, or Begun for Config.Long ────► a stream ── Leave ──►
//
// # Guarantees
//
// Nobody enters while as many as the limit are in flight; when the limit falls,
// those inside stay. A slot that is free while somebody waits goes to who waits,
// at once: the highest priority first, and a waiting one is never passed over by
// a lower one. Work whose caller has given up, or whose deadline is too near for
// the quickest quarter of all work, is never started. Every pass that Enter
// returned must be given to Leave of the same pool, once, whatever happened in
// between: defer it.
//
// A stream is not in flight. There are at most Streams, and with PerCaller set at
// most so many of one caller; what would be one more keeps its slot. Nobody learns
// from a stream: give its pass back with an Outcome that is Ignored.
//
// With a slot free Enter and Leave allocate nothing and take a lock each for a
// few nanoseconds. A Pool has no goroutine.
//
// # What it does not do
//
// It does not stop what is in flight: give that a deadline. It knows nothing of
// rates and quotas, nor of the memory that work holds. Its numbers are this
// process's: beside other processes in front of the same downstream, an
// adaptive limit finds its own share.
//
// # Refusals
//
//	concurrency  every slot is taken, and work of this rank does not wait now
//	queue        the queue is full of better work, or Wait is over
//	deadline     it cannot be done in time, or its caller has given up
//	per_caller   the caller has PerCaller in flight and waiting already, or as
//	             many streams
//	streams      the work is to be a stream, and there are Streams
//
// # Bounds
//
// At most Queue wait, each for Wait. Callers are remembered while they have
// work here. There are Streams streams at most, 32 bytes each. The rest is about 5 KiB.
package overload
