// Package queue is a durable message queue. It never loses an acknowledged message,
// ignores workers that are too late, and isolates poisonous messages. It behaves like
// Amazon SQS wherever SQS defines a behaviour. A [Store] keeps all data.
//
// A message's life:
//
//	Send                        Receive (generation + 1)
//	  │      delay over ┌─────────┐ ────────────► ┌───────────┐
//	  ├──► delayed ────►│ visible │               │ in flight │──► Delete ──► done
//	  └────────────────►└─────────┘ ◄──────────── └───────────┘
//	         ▲            │     │     lease expires,     │  │
//	         │            │     │     visibility 0       │  └─ again, with its
//	         │            │     │                        │     visibility changed
//	         │  retention │     │ payload quarantined,   │
//	         │       over │     │ schema violated        │
//	         │            ▼     └───────────────┐        │
//	         │          gone  Release (backoff) │        │
//	         └──────────────────────────────────┼────────┤
//	                                            │        │ rejected, convicted, given up, or
//	                                            ▼        ▼ MaxReceives received and not done
//	visible in the origin ◄── move task, ── visible in the dead-letter queue, with its letter
//	with its lineage          Resend            │    ▲
//	                                    discard ▼    │ restore
//	                                        trash, for TrashFor
//
// # Guarantees
//
// If Send returns nil, the message survives kill -9 of this process (except in the
// memory store) and stays until it is deleted, purged or older than its queue's
// retention. Every delivery is counted before the message
// leaves. A [Receipt] names one delivery by its generation: once the message
// has been received again, released or moved, no write with the older receipt
// has any effect. Only the store's clock decides about leases, delays and
// retention. A message that used up its receives goes to the dead-letter queue
// when its last lease ends, by [Engine.Run], and not at the next receive.
//
// In a FIFO queue the messages of one group are delivered in the order they
// were sent: none is delivered while an earlier one is in flight. If a message is made
// visible, or its lease ends, it comes again although later ones are in flight,
// as on SQS. A copy with the same deduplication id within five minutes is
// acknowledged and dropped, even if the first one was deleted meanwhile.
//
// # Causes of a failure
//
// A failed delivery has one of three causes. The engine checks them in this order.
//
// Everything: an interruption costs nothing. If many different payloads fail in the same
// way (see package outage), all processes pause the queue until one message, the canary,
// has worked; the receives do not count. If half of all workers vanish within a second,
// no message is convicted.
//
// The downstream: its failures count for the breaker of Settings.Downstream (see package
// breaker). While it is open, the queues of the group deliver nothing; after that they
// deliver a few messages as a test. Retries beyond the budget of queue or group wait for
// Retry.Cap.
//
// The message: the engine judges its payload, the keyed hash of its body in canonical
// form, for all messages with that payload (see package poison). A copy of an unproven
// payload waits while another copy is in flight. Messages that were in flight at a
// vanished worker run again alone, on a worker that holds nothing else, and only that run
// can convict them. Convicted payloads are refused for a time that grows, and then
// probed.
//
// This holds for reported outcomes: [Engine.Release] with an outcome, and
// [Engine.Vanished]. A lease that ends without a report counts as on SQS.
//
// A verdict never drops a message. It moves the message to the dead-letter queue that
// is named, else to the implicit one. A [Letter] gives the reason.
//
// Delivery is at least once: a worker that outlives its lease and another worker may both
// work on a message. Standard queues keep no strict order: higher priority first, then by
// the time at which messages became visible. Counts may be out of date when the caller
// gets them.
//
// Other processes learn of pauses and breakers within a second. Without the store's
// marks each process uses its own knowledge. Only the process that delivered a message
// notices that its worker has vanished; if this process crashes itself, no message is
// blamed. Also, only this process repeats a receive with the same Attempt, and
// counts its messages for [MaxInFlight].
//
// See the Max constants. The store's disk bounds the number of messages. Each Receive
// that waits costs one goroutine of its caller; only one of all that wait on one queue
// asks the store. A message keeps its newest [MaxAttempts] attempts. An engine remembers
// 2^18 deliveries to workers with names, 10,000 queues and 10,000 groups that had
// failures, the compiled settings of 512 queues, and 64 MiB of answers to receives that
// may be repeated.
//
// All methods of [Engine] are safe for concurrent use. Call Run once.
//
// # The life of one poisonous message
//
//  1. sqs.(*Handler) checks, verifies and decodes the call. queue.(*Engine).SendBatch makes the
//     payload's fingerprint, checks the body against the schema, and answers once the store has
//     committed.
//  2. (*Engine).Receive asks judge.(*Judge).Gate whether the queue is paused or its breaker
//     open. Store.Receive picks candidates; for each of them lease.(*Lease).Receive asks
//     poison.Config.Admit. The delivery is counted in the same transaction, before the answer
//     leaves.
//  3. The worker dies with three messages in flight. Its connection closes:
//     sqs.(*Server).state → (*Engine).Vanished. After a second (*Engine).vanish checks whether
//     half of all workers vanished, and notes on the leases how many messages were held.
//  4. The leases end. lease.(*Lease).Expire has poison.Config.Fail judge each payload: it died
//     in company, so it becomes suspect and is not convicted.
//  5. Suspects come back alone: nothing is picked beside one, and holdings give its worker
//     nothing else. The two innocents succeed and are deleted: poison.Config.Work proves them.
//  6. The pill kills the second worker, alone. After two deaths Fail convicts it. In one
//     transaction the message moves with its Letter into the dead-letter queue, which is made
//     now if nobody has named one.
//  7. Copies with new ids are refused at step 2 and set aside undelivered. When the term is
//     over, one copy probes alone.
//  8. An operator reads triage.(*Service).Groups, and uses Plan and Execute: a canary first, at
//     a bounded rate, with an automatic halt. Each letter moves in a transaction with the
//     task's cursor, as a new message with its lineage.
package queue
