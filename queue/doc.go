// Package queue is a durable message queue that never forgets what was
// acknowledged, never believes a late worker, and keeps poison out of the way.
// Its semantics are those of Amazon SQS, where that has any; a [Store] keeps
// everything.
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
// were sent: none is delivered while one before it is in flight. One that is made
// visible, or whose lease is over, comes again although later ones are in flight,
// as on SQS. A copy with the same deduplication id within five minutes is
// acknowledged and dropped, even if the first one was deleted meanwhile.
//
// # Who is to blame
//
// Three things may be wrong when a delivery fails, and they are asked for in
// this order: everything, the downstream, the message.
//
// Everything: an interruption costs nothing. When one failure comes from many
// different payloads (see package outage) the queue is paused, for all
// processes, until one message, the canary, has worked; the receives do not
// count. When half of all workers vanish within a second, nothing is convicted.
//
// The downstream: failures that are its own count for the breaker of
// Settings.Downstream (see package breaker). While it is open the queues of the
// group deliver nothing, then a few messages to try. Retries beyond the budget of
// queue or group wait for Retry.Cap.
//
// The message: its payload, the keyed hash of its body in canonical form, is
// judged whatever message it comes in (see package poison). A copy of an
// unproven payload waits while another receive has one. What was in flight at a worker
// that vanished is tried alone, by a worker that has nothing else, and is
// convicted by what it does there. Convicted payloads are refused for a time
// that grows, and probed.
//
// Only what is reported is judged so: [Engine.Release] with an outcome, and
// [Engine.Vanished]. A lease that just ends counts as on SQS.
//
// Every verdict sets aside and never drops: into the dead-letter queue that is
// named, else the implicit one. A [Letter] says why.
//
// # Not guaranteed
//
// Delivery is at least once: a worker that outlives its lease and another one
// may both work on a message. Standard queues keep no strict order: higher
// priority first, then by the time at which messages became visible. Counts
// are exact at one moment that is over when they arrive.
//
// What one process learns of pauses and breakers the others learn within a
// second. Without the store's marks each goes on with what it knows. Workers
// are missed by the process that delivered to them; if that one crashes itself,
// nobody is blamed. Likewise only it repeats a receive with the same Attempt, and
// counts what is in flight for [MaxInFlight].
//
// # Bounds
//
// See the Max constants. A queue holds as many messages as the store's disk.
// Each Receive that waits costs one goroutine of its caller; of all that wait
// on one queue only one asks the store. A message keeps its newest
// [MaxAttempts] attempts. An engine remembers 2^18 deliveries to workers with
// names, 10,000 queues and 10,000 groups that had failures, the compiled settings
// of 512 queues, and 64 MiB of answers to receives that may be repeated.
//
// All methods of [Engine] are safe for concurrent use. Run is to be called once.
//
// # The life of one poisonous message
//
//  1. sqs.(*Handler) guards, verifies and decodes the call; queue.(*Engine).SendBatch
//     makes the payload's fingerprint, holds the body to the schema, and answers once the
//     store has committed.
//  2. (*Engine).Receive asks judge.(*Judge).Gate whether the queue is paused or its
//     breaker open. Store.Receive picks candidates; for each lease.(*Lease).Receive asks
//     poison.Config.Admit. The delivery is counted in the same transaction, before the
//     answer leaves.
//  3. The worker dies with three messages in flight. Its connection closes:
//     sqs.(*Server).state → (*Engine).Vanished. After a second (*Engine).vanish looks
//     whether half of all workers went, and notes on the leases how many messages were
//     held.
//  4. The leases end. lease.(*Lease).Expire has poison.Config.Fail judge each payload:
//     in company, so suspect and not convicted.
//  5. Suspects come back alone: nothing is picked beside one, and holdings give its
//     worker nothing else. The two innocents are deleted, which is poison.Config.Work:
//     proven.
//  6. The pill kills the second worker, alone. Two deaths: Fail convicts. The message
//     moves with its Letter into the dead-letter queue, made now if nobody has named one,
//     in one transaction.
//  7. Copies under new ids are refused at step 2 and set aside undelivered. When the
//     term is over one copy probes alone.
//  8. Somebody looks at triage.(*Service).Groups, plans, and Executes: a canary first,
//     at a bounded rate, halting by itself. Each letter moves in a transaction with the
//     task's cursor, as a new message with its lineage.
package queue
