// Package outbox delivers events if and only if the rows they tell of were
// written.
//
// An application writes an [Event] in the transaction that changes its own tables.
// A relay finds the events that are not sent yet and hands them to a [Sink]. An
// event is delivered at least once; its ID tells a consumer what it has seen.
// Events of one topic and key are delivered in the order in which they were written.
//
// # An event's way
//
//	         the producer's transaction commits
//	                        │
//	                        ▼              claimed, with others            ┌───────────┐
//	┌──────────┐       ┌─────────┐ ──────────────────────────────────────► │ in flight │
//	│  behind  │ ────► │  ready  │ ◄────────────────────────────────────── └───────────┘
//	└──────────┘ the   └─────────┘   not sent: the place is away, or an      │ │     │
//	     ▲      earlier  │     ▲     earlier event of its key failed         │ │     │ acknowledged
//	     │    event went │     │                                             │ │     ▼
//	     └───────────────┘     │ its wait is over  ┌──────────┐    it failed │ │  delivered
//	  an earlier event of      └────────────────── │ retrying │ ◄────────────┘ │  (its row is gone)
//	  its key is retrying,                         └──────────┘               │
//	  parked or behind         ▲                                              │
//	                           │ retry             ┌──────────┐  the last of  │
//	                           └────────────────── │  parked  │ ◄─────────────┘
//	                                               └──────────┘  ParkAfter
//	                                                 │  skip
//	                                                 ▼
//	                                              discarded
//
// The state is a row beside the event: the rows are the set of events that are not
// delivered, and nothing is found by an ID or a transaction's number that only
// grows. So an event whose transaction commits late is found late, and not lost.
//
// # Whose fault it is
//
// An attempt counts against an event if the sink refused the event itself (a
// [Failure] with class Invalid or Bug), or if the relay died while it was in
// flight. After ParkAfter of these it is parked, and waits for a person. Only its
// key is held up. Any other error is the place's and never parks an event: if most
// of a batch failed so, the sink pauses; if few did, these are retried later.
//
// A batch becomes a flight, a row that is committed before the batch is sent. A
// relay that takes over finds what its predecessor had in flight: each of these
// events counts one attempt more, and is sent alone.
//
// # One relay
//
// A lease in the same database says which relay works. Each of its changes checks,
// in the same transaction, that the lease still has its epoch: a relay that was
// stopped and comes back changes nothing. It may send once more what its successor
// sends too; consumers drop that by the ID.
package outbox
