// Package judge judges how runs of messages ended, for queues that do not judge
// themselves: any SQS-compatible queue but Bezoar's.
//
//	Gate ──► receive ──► Admit ──► run ──► Done, or Failed ──► Ruling
//	  │                    │                                     │
//	  │ paused or          │ convicted:                          │ again after a delay, or
//	  │ breaker open       │ refuse                              │ dead
//
// The questions are those of package queue and are asked in its order: is it
// everything (package outage), is it the downstream (package breaker), is it the
// message (package poison)? And how long to wait: package backoff, within what
// package budget allows.
//
// Cases, pauses and breakers are in a [facts.Store], which all workers with the same
// folder share. The windows in which failures are counted are each process's own.
//
// # Not guaranteed
//
// The queue's own count of receives goes on: an attempt that is excused here
// still counts there.
//
// # Bounds
//
// At most MaxCases cases in all; what was touched longest ago goes first, watched
// before suspects, convicts last. At most 1,000 downstream groups.
package judge
