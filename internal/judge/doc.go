// Package judge tells whose fault a failed message is, for Bezoar's queue and for
// workers of other queues. Flows ask it about downstreams alone. It asks in this order:
//
//	is it everything?      package outage: many payloads fail alike, so the queue pauses
//	is it the downstream?  package breaker: its group fails, so the group's queues pause
//	is it the message?     package poison: who keeps the message asks, with its lease
//
// A Judge answers the first two, for any number of queues and groups, and keeps
// the retry budgets:
//
//	Gate ──► receive ──► First ──► run ──► Worked, or Failed ──► Ruling
//	  │                                                            │
//	  │ paused, or the breaker is open:                            │ excused: an outage's, or nobody's
//	  │ refused, or leave for one Trial ──► Waste, if it finds     │ else the message is to be judged
//	  │                                     no message             │
//
// What it finds out it keeps in marks, small documents of a store that all
// processes share. A trial is claimed in the store before it is delivered: one
// process at a time tries whether something works again. What others found out
// is known after Config.Trust. A store that fails makes each process go on with
// what it knows. The windows in which failures are counted are each process's own.
//
// A [Local] judges one queue that does not judge itself: any queue but
// Bezoar's. It adds the third question, with cases of payloads in the fact
// store that all workers of a folder share, and says what becomes of the message:
// again after a delay, or dead. The queue's own count of receives goes on: an
// attempt that is excused here still counts there.
//
// # Bounds
//
// Config.Max queues and groups; of others nothing is known, and they are never
// paused. A Local keeps at most MaxCases cases: what was touched longest ago goes
// first, watched before suspects, convicts last.
package judge
