// Package queue is a durable message queue that never forgets what was
// acknowledged and never believes a late worker. Its semantics are those of
// Amazon SQS, where that has any; a [Store] keeps everything.
//
// A message's life:
//
//	Send                        Receive (generation + 1)
//	  │      delay over ┌─────────┐ ────────────► ┌───────────┐
//	  ├──► delayed ────►│ visible │               │ in flight │──► Delete ──► done
//	  └────────────────►└─────────┘ ◄──────────── └───────────┘
//	         ▲            │           lease expires,     │  │
//	         │            │           visibility 0       │  └─ again, with its
//	         │            │ retention over               │     visibility changed
//	         │            ▼                              │
//	         │          gone          Release(delay)     │
//	         └───────────────────────────────────────────┤
//	                                                     │ MaxReceives received and not done,
//	                                                     ▼ or rejected
//	visible in the origin ◄──── move task ──── visible in the dead-letter queue, with its letter
//
// # Guarantees
//
// What Send has returned nil for survives kill -9 of this process (memory
// store: the process's life) and stays until it is deleted, purged or older
// than its queue's retention. Every delivery is counted before the message
// leaves. A [Receipt] names one delivery by its generation: once the message
// has been received again, released or moved, no write with the older receipt
// has any effect. Leases, delays and retention are judged by the store's clock
// alone. A message that used up its receives goes to the dead-letter queue
// when its last lease ends, by [Engine.Run], not when somebody happens to
// receive next.
//
// In a FIFO queue the messages of one group are delivered in the order they
// were sent; a group is locked while one of its messages is in flight, and only
// then. A copy with the same deduplication id within five minutes is
// acknowledged and dropped, even if the first one was deleted meanwhile.
//
// # Not guaranteed
//
// Delivery is at least once: a worker that outlives its lease and another one
// may both work on a message. Standard queues keep no strict order: higher
// priority first, then by the time at which messages became visible. Counts
// are exact at one moment that is over when they arrive.
//
// # Bounds
//
// See the Max constants. A queue holds as many messages as the store's disk.
// Each Receive that waits costs one goroutine of its caller; of all that wait
// on one queue only one asks the store. A message keeps its newest
// [MaxAttempts] attempts.
//
// All methods of [Engine] are safe for concurrent use.
package queue
