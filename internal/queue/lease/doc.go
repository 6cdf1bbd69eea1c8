// Package lease has the rules of delivery that all queue stores share: how a receive, a
// change or the end of a lease changes one message. It is pure: the store's clock is an
// argument, and a [Ruling] tells the store what to write.
//
//	       Receive ─► Give, Only            MayDelete ─► deleted
//	┌───────┐ ────────────────────► ┌────────┐
//	│ Ready │                       │ Leased │ ◄─┐ Change: a new visibility
//	└───────┘ ◄──────────────────── └────────┘ ──┘
//	    ▲   Expire, visibility 0,    │     │
//	    │   Change with Release      │     │ Bury: convicted, refused, given up,
//	    │                            │     │ or the receives are used up
//	    │ its delay is over          ▼     ▼
//	    └─────────────────────── Held     Die ─► a dead letter
//
// Held exists in FIFO queues: the group of a message that was given back waits.
//
// # Guarantees
//
// Every delivery has a Generation of its own; a receipt of an older one changes nothing.
// A delivery that ends without a report is an attempt like any other, and its payload's
// case is judged before another copy is delivered.
package lease
