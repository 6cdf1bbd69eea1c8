// Package judge tells whose fault a failed message is, for Bezoar's queue and for
// workers of other queues. Flows ask it about downstreams alone. It asks in this order:
//
//	is it everything?      package outage: many payloads fail alike, so the queue pauses
//	is it the downstream?  package breaker: its group fails, so the group's queues pause
//	is it the message?     package poison: the queue's store decides, with the lease
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
// It keeps its findings in marks, small documents of a store that all processes share. A
// trial is claimed in the store before it is delivered: one process at a time tries
// whether something works again. Findings of other processes are known after
// Config.Trust. If the store fails, each process goes on with what it knows. Each process
// counts failures in its own windows.
//
// A [Local] judges a queue that does not judge itself: any queue but Bezoar's. It adds
// the third question. The cases of payloads are in the fact store that all workers of a
// folder share. It decides what becomes of the message: again after a delay, or dead. The
// queue's own count of receives goes on: an attempt that is excused here still counts
// there.
//
// # Bounds
//
// At most Config.Max queues and groups are known; others are never paused. A Local keeps
// at most MaxCases cases. When there are more, it drops the ones that were touched
// longest ago: watched ones first, then suspects, then convicts.
package judge
